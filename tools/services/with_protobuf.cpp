// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "load/carrier_options.hpp"
#include "load/stop_signal.hpp"
#include "load/token.hpp"
#include "services/ask.hpp"
#include "services/input_lines.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/protobuf/remote_services.hpp"
#include "weft/weft.hpp"

namespace weft::services {

namespace {

Task<Result<std::string>> list(protobuf::RemoteServices* services) {
  const Result<std::vector<std::string>> names = co_await services->list();
  if (!names.ok()) co_return names.status();
  std::string text;
  for (const std::string& name : *names) {
    text += name + "\n";
    const Result<std::vector<std::string>> streams = co_await services->streams_of(name);
    if (!streams.ok()) co_return streams.status();
    for (const std::string& method : *streams) text += "  " + method + "\n";
  }
  co_return text;
}

/// Prints each response as it comes. Says what went wrong here; how the stream ended is another matter.
Task<Status> print_all(protobuf::RemoteStream* stream, InputLines* lines) {
  Status outcome;
  for (;;) {
    const Result<std::optional<std::string>> text = co_await stream->next();
    if (!text.ok()) outcome = text.status();
    if (!text.ok() || !text->has_value()) break;
    std::fputs((**text + "\n").c_str(), stdout);
    std::fflush(stdout);
  }
  // Nobody takes lines any more.
  if (lines != nullptr) lines->stop();
  co_return outcome;
}

/// Sends each line of standard input. A line that is no request ends the stream.
Task<Status> send_all(protobuf::RemoteStream* stream, InputLines* lines) {
  std::size_t number = 0;
  while (const std::optional<std::string> line = co_await lines->next()) {
    const Result<bool> written = co_await stream->write(*line);
    ++number;
    if (!written.ok()) {
      stream->cancel();
      co_return Status{written.status()}.with_context("request " + std::to_string(number) +
                                                      " of standard input");
    }
    if (!*written) break;
  }
  stream->end_writing();
  co_return Status{};
}

/// Runs `work` on the loop when Ctrl-C comes, or SIGTERM.
class OnStop {
 public:
  /// `loop` outlives it.
  template <typename Work>
  OnStop(Loop& loop, Work work)
      : thread_([this, &loop, work] {
          signal_.blocking_wait();
          loop.post([ended = ended_, work] {
            if (!*ended) work();
          });
        }) {}
  ~OnStop() {
    *ended_ = true;
    // The thread waits for it, and it is blocked elsewhere.
    ::pthread_kill(thread_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
    thread_.join();
  }
  OnStop(const OnStop&) = delete;
  OnStop& operator=(const OnStop&) = delete;

 private:
  load::StopSignal signal_;
  /// The loop's, and of what was posted to it.
  const std::shared_ptr<bool> ended_ = std::make_shared<bool>(false);
  std::thread thread_;
};

Task<Result<std::string>> run(protobuf::RemoteStream* stream) {
  std::optional<InputLines> lines;
  const auto stop = [stream, &lines] {
    stream->cancel();
    if (lines) lines->stop();
  };
  const OnStop on_stop{*Loop::current(), stop};
  if (stream->writes()) lines.emplace(*Loop::current());
  Status wrong;
  if (stream->writes() && stream->reads()) {
    const auto [printed, sent] = co_await when_all(print_all(stream, &*lines), send_all(stream, &*lines));
    wrong = sent.ok() ? printed : sent;
  } else if (stream->writes()) {
    wrong = co_await send_all(stream, &*lines);
  } else {
    wrong = co_await print_all(stream, nullptr);
  }
  Result<std::string> end = co_await stream->finish();
  if (!wrong.ok()) co_return wrong;
  co_return end;
}

/// Returns the request that was given, or standard input for "-".
std::string request_of(const Options& options) {
  if (!options.json) return "{}";
  if (*options.json != "-") return *options.json;
  return {std::istreambuf_iterator<char>{std::cin}, {}};
}

Duration duration_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>{seconds});
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
  const Result<protobuf::Streams> streams = co_await services->streams(options->name, call_options);
  if (!streams.ok()) co_return streams.status();
  if (*streams == protobuf::Streams::kNone) {
    co_return co_await services->call(options->name, request_of(*options), call_options);
  }
  if (options->seconds) call_options.timeout = duration_of(*options->seconds);
  const bool has_request = *streams == protobuf::Streams::kResponses;
  if (!has_request && options->json && *options->json != "-") {
    co_return Status{StatusCode::kInvalidArgument, Layer::kUser,
                     options->name + " streams its requests: give them on standard input, one in each line"};
  }
  const std::string request = has_request ? request_of(*options) : "{}";
  Result<protobuf::RemoteStream> stream = co_await services->open(options->name, request, call_options);
  if (!stream.ok()) co_return stream.status();
  co_return co_await run(&*stream);
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
  const Duration timeout = duration_of(options.seconds.value_or(10));
  ClientOptions client_options;
  client_options.connect = options.url;
  client_options.connect_timeout = timeout;
  client_options.call_timeout = timeout;
  if (Result<void> added = load::add_token(client_options, options.token); !added.ok()) return added.status();
  TransportOptions transports;
  transports.tls = load::tls_options(options.tls);
  transports.beside_tls = load::carriers_beside_tls(options.tls);
  Client client{**loop, std::move(client_options), std::move(transports)};
  protobuf::RemoteServices services{client};
  return (*loop)->block_on(ask(&services, question, &options));
}

}  // namespace weft::services
