// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <utility>

#include "load/carrier_options.hpp"
#include "load/token.hpp"
#include "services/ask.hpp"
#include "weft/protobuf/remote_services.hpp"
#include "weft/weft.hpp"

namespace weft::services {

namespace {

Task<Result<std::string>> list(protobuf::RemoteServices* services) {
  const Result<std::vector<std::string>> names = co_await services->list();
  if (!names.ok()) co_return names.status();
  std::string text;
  for (const std::string& name : *names) text += name + "\n";
  co_return text;
}

Task<Result<std::string>> call(protobuf::RemoteServices* services, const Options* options) {
  Metadata metadata;
  for (const std::string& pair : options->metadata) {
    const std::size_t equals = pair.find('=');
    const std::string_view text{pair};
    const Result<void> set = metadata.set(text.substr(0, equals), text.substr(equals + 1));
    if (!set.ok()) co_return set.status();
  }
  CallOptions call_options;
  call_options.metadata = metadata;
  co_return co_await services->call(options->name, options->json, call_options);
}

Task<Result<std::string>> ask(protobuf::RemoteServices* services, Question question, const Options* options) {
  switch (question) {
    case Question::kList:
      return list(services);
    case Question::kDescribe:
      return services->describe(options->name);
    case Question::kCall:
      break;
  }
  return call(services, options);
}

}  // namespace

Result<std::string> blocking_ask(Question question, const Options& options) {
  auto loop = Loop::create();
  if (!loop.ok()) return std::move(loop).status();
  const auto timeout = std::chrono::duration_cast<Duration>(std::chrono::duration<double>{options.seconds});
  ClientOptions client_options;
  client_options.connect = options.url;
  client_options.connect_timeout = timeout;
  client_options.call_timeout = timeout;
  if (Result<void> added = load::add_token(client_options, options.token); !added.ok()) return added.status();
  TransportOptions transports;
  transports.tls = load::tls_options(options.tls);
  Client client{**loop, std::move(client_options), std::move(transports)};
  protobuf::RemoteServices services{client};
  return (*loop)->block_on(ask(&services, question, &options));
}

}  // namespace weft::services
