// SPDX-License-Identifier: Apache-2.0
#include "services/ask.hpp"

#include <chrono>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>

#include "load/carrier_options.hpp"
#include "load/token.hpp"
#include "services/close_name.hpp"
#include "services/ping.hpp"
#include "services/protobuf_services.hpp"
#include "services/remote_functions.hpp"
#include "services/run_stream.hpp"
#include "weft/detail/describe/json.hpp"
#include "weft/weft.hpp"

namespace weft::services {

namespace {

using detail::append_json_string;

/// A failure to describe: the server can be reached, but tells nothing.
bool tells_nothing(const Status& status) {
  return status.code() == StatusCode::kUnimplemented || status.code() == StatusCode::kPermissionDenied ||
         status.code() == StatusCode::kUnauthenticated;
}

/// Returns the failure that tells the user more.
Status stronger(const Status& of_functions, const Status& of_services) {
  return of_functions.code() == StatusCode::kUnimplemented ? of_services : of_functions;
}

Status describes_nothing() {
  return {
      StatusCode::kUnimplemented, Layer::kRpc,
      "the server does not describe what it serves: ServerOptions::describe_functions is off there, or its "
      "build is older, and it has no services of protobuf with reflection (ServicesOptions::reflection)"};
}

/// "demo.Echo.Say" as "demo.Echo/Say".
std::string with_slash(std::string name) {
  if (name.find('/') != std::string::npos) return name;
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos) name[dot] = '/';
  return name;
}

std::string signature(const UntypedMethod& function) {
  return function.name() + (function.streams() ? ": " : "") + function.types();
}

std::string function_json(const UntypedMethod& function) {
  std::string json = "{\"name\":";
  append_json_string(json, function.name());
  json += ",\"types\":";
  append_json_string(json, function.types());
  json += function.takes_stream() ? ",\"takes_stream\":true" : ",\"takes_stream\":false";
  json += function.gives_stream() ? ",\"gives_stream\":true}" : ",\"gives_stream\":false}";
  return json;
}

template <typename Items, typename Append>
void append_array(std::string& json, const Items& items, Append append) {
  json += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!std::exchange(first, false)) json += ',';
    append(json, item);
  }
  json += ']';
}

Result<Metadata> metadata_of(const Options& options) {
  Metadata metadata;
  for (const std::string& pair : options.metadata) {
    const std::size_t equals = pair.find('=');
    const std::string_view text{pair};
    const Result<void> set = metadata.set(text.substr(0, equals), text.substr(equals + 1));
    if (!set.ok()) return set.status();
  }
  return metadata;
}

/// One server, asked by one command. Thread: the client's loop.
class Asker {
 public:
  Asker(Client& client, const Options& options)
      : client_(client), options_(options), functions_(client), services_(protobuf_services(client)) {}

  Task<Result<std::string>> ask(Question question);

 private:
  using Functions = std::vector<UntypedMethod>;
  using Services = std::vector<ProtobufServices::Service>;

  Task<Result<std::string>> list();
  Task<Result<std::string>> describe();
  Task<Result<std::string>> call();
  Task<Result<std::string>> call_function(const UntypedMethod* function, const CallOptions* call_options);
  Task<Result<Services>> list_services();
  /// Returns kNotFound with a name that is close to the one that was asked for; `why`, unless the server
  /// could be asked.
  Task<Status> unknown(Status why);
  std::string list_text(const Functions& functions, const Services& services) const;
  std::string list_json(const Functions& functions, const Services& services) const;
  std::string functions_text(const Functions& functions) const;

  Client& client_;
  const Options& options_;
  RemoteFunctions functions_;
  const std::unique_ptr<ProtobufServices> services_;
};

Task<Result<std::string>> Asker::ask(Question question) {
  switch (question) {
    case Question::kList:
      return list();
    case Question::kDescribe:
      return describe();
    case Question::kCall:
      return call();
    case Question::kPing:
      return ping(&client_, options_.count, options_.as_json);
    case Question::kHealth:
      break;
  }
  return health(&client_, options_.as_json);
}

Task<Result<Asker::Services>> Asker::list_services() {
  if (services_ == nullptr) co_return describes_nothing();
  co_return co_await services_->list();
}

Task<Result<std::string>> Asker::list() {
  Result<Functions> functions = co_await functions_.list({});
  if (!functions.ok() && !tells_nothing(functions.status())) co_return functions.status();
  const Result<Services> services = co_await list_services();
  if (!services.ok() && !tells_nothing(services.status())) co_return services.status();
  if (!functions.ok() && !services.ok()) {
    const Status status = stronger(functions.status(), services.status());
    if (status.code() == StatusCode::kUnimplemented) co_return describes_nothing();
    co_return status;
  }
  const Functions none;
  const Services no_services;
  const Functions& listed = functions.ok() ? *functions : none;
  const Services& others = services.ok() ? *services : no_services;
  co_return options_.as_json ? list_json(listed, others) : list_text(listed, others);
}

std::string Asker::list_text(const Functions& functions, const Services& services) const {
  std::string text;
  for (const UntypedMethod& each : functions) {
    text += (options_.names_only ? each.name() : signature(each)) + "\n";
  }
  for (const ProtobufServices::Service& each : services) {
    text += each.name + "\n";
    if (options_.names_only) continue;
    for (const std::string& method : each.streams) text += "  " + method + "\n";
  }
  return text;
}

std::string Asker::list_json(const Functions& functions, const Services& services) const {
  std::string json = "{\"functions\":";
  append_array(json, functions,
               [](std::string& out, const UntypedMethod& each) { out += function_json(each); });
  json += ",\"services\":";
  append_array(json, services, [](std::string& out, const ProtobufServices::Service& each) {
    out += "{\"name\":";
    append_json_string(out, each.name);
    out += ",\"streams\":";
    append_array(out, each.streams,
                 [](std::string& to, const std::string& stream) { append_json_string(to, stream); });
    out += '}';
  });
  return json + "}";
}

std::string Asker::functions_text(const Functions& functions) const {
  if (options_.as_json) {
    std::string json;
    append_array(json, functions,
                 [](std::string& out, const UntypedMethod& each) { out += function_json(each); });
    return json;
  }
  std::string text;
  for (const UntypedMethod& each : functions) {
    text += signature(each) + "\n";
    if (each.takes_stream())
      text += "  reads a stream: give its items on standard input, one JSON in each line\n";
    if (each.gives_stream()) text += "  gives a stream: each item is printed as one JSON in a line\n";
  }
  return text;
}

Task<Result<std::string>> Asker::describe() {
  if (options_.name.empty()) co_return co_await list();
  const Result<Functions> functions = co_await functions_.list(options_.name);
  if (functions.ok() && !functions->empty()) co_return functions_text(*functions);
  if (!functions.ok() && !tells_nothing(functions.status())) co_return functions.status();
  Status why = functions.ok() ? describes_nothing() : functions.status();
  if (why.code() == StatusCode::kUnimplemented) why = describes_nothing();
  if (services_ != nullptr) {
    Result<std::string> text = co_await services_->describe(options_.name);
    const std::string method = with_slash(options_.name);
    if (!text.ok() && text.status().code() == StatusCode::kNotFound && method != options_.name) {
      Result<std::string> of_method = co_await services_->describe(method);
      if (of_method.ok()) text = std::move(of_method);
    }
    if (text.ok()) {
      if (!options_.as_json) co_return text;
      std::string json = "{\"name\":";
      append_json_string(json, options_.name);
      json += ",\"definition\":";
      append_json_string(json, *text);
      co_return json + "}";
    }
    if (!functions.ok()) why = stronger(why, text.status());
    if (functions.ok() && text.status().code() != StatusCode::kUnimplemented) why = text.status();
  }
  co_return co_await unknown(why);
}

Task<Result<std::string>> Asker::call() {
  const Result<Metadata> metadata = metadata_of(options_);
  if (!metadata.ok()) co_return metadata.status();
  CallOptions call_options;
  call_options.metadata = *metadata;
  const Result<Functions> functions = co_await functions_.list(options_.name, call_options);
  if (functions.ok() && functions->size() > 1) {
    co_return Status{
        StatusCode::kFailedPrecondition, Layer::kUser,
        "several functions have this name; weft call calls functions whose name is their own:\n" +
            functions_text(*functions)};
  }
  if (functions.ok() && !functions->empty())
    co_return co_await call_function(&functions->front(), &call_options);
  if (!functions.ok() && !tells_nothing(functions.status())) co_return functions.status();
  Status why = functions.ok() ? describes_nothing() : functions.status();
  if (why.code() == StatusCode::kUnimplemented) why = describes_nothing();
  const std::string method = with_slash(options_.name);
  const bool may_be_method = method.find('/') != std::string::npos;
  if (services_ != nullptr && may_be_method) {
    Result<std::string> answer = co_await services_->call(method, &options_, call_options);
    const StatusCode code = answer.status().code();
    const bool was_called = answer.ok() || (code != StatusCode::kNotFound && !tells_nothing(answer.status()));
    if (was_called) co_return answer;
    if (code != StatusCode::kUnimplemented) why = answer.status();
  }
  co_return co_await unknown(why);
}

Task<Result<std::string>> Asker::call_function(const UntypedMethod* function,
                                               const CallOptions* call_options) {
  if (!function->streams()) {
    const std::string request = request_of(options_, "[]");
    co_return co_await functions_.call(function, request, *call_options);
  }
  CallOptions of_stream = *call_options;
  if (options_.seconds) of_stream.timeout = duration_of(*options_.seconds);
  if (function->takes_stream() && options_.json && *options_.json == "-") {
    co_return Status{
        StatusCode::kInvalidArgument, Layer::kUser,
        function->name() + " reads items from standard input, one in each line: give its arguments as JSON"};
  }
  const std::string request = request_of(options_, "[]");
  const Result<std::unique_ptr<FunctionStream>> stream = functions_.open(*function, request, of_stream);
  if (!stream.ok()) co_return stream.status();
  co_return co_await run_stream(stream->get());
}

Task<Status> Asker::unknown(Status why) {
  const bool missing = why.code() == StatusCode::kNotFound || why.code() == StatusCode::kUnimplemented;
  if (!missing) co_return why;
  const Result<Functions> functions = co_await functions_.list({});
  std::vector<std::string> names;
  if (functions.ok()) {
    for (const UntypedMethod& each : *functions) names.push_back(each.name());
  }
  if (services_ != nullptr) {
    const Result<std::vector<std::string>> services = co_await services_->names();
    if (services.ok()) names.insert(names.end(), services->begin(), services->end());
    if (!services.ok() && !functions.ok()) co_return why;
  } else if (!functions.ok()) {
    co_return why;
  }
  std::string text = "the server has nothing called '" + options_.name + "'";
  if (why.code() == StatusCode::kNotFound) text = std::string{why.message()};
  const std::string close = close_name(options_.name, names);
  if (!close.empty()) text += "; did you mean '" + close + "'?";
  text += close.empty() ? "; " : " ";
  text += "`weft list " + options_.url + "` shows all names";
  co_return Status{StatusCode::kNotFound, Layer::kRpc, text};
}

}  // namespace

std::string request_of(const Options& options, const char* otherwise) {
  if (!options.json) return otherwise;
  if (*options.json != "-") return *options.json;
  return {std::istreambuf_iterator<char>{std::cin}, {}};
}

Duration duration_of(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>{seconds});
}

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
  Asker asker{client, options};
  return (*loop)->block_on(asker.ask(question));
}

}  // namespace weft::services
