// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/protobuf/remote_services.hpp"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "reflection.weft.hpp"
#include "weft/detail/base/peer_text.hpp"
#include "weft/detail/protobuf/client_stream.hpp"

namespace weft::protobuf {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

/// Keeps the first thing that is wrong with a file.
class FirstError final : public DescriptorPool::ErrorCollector {
 public:
  void AddError(const std::string& file, const std::string& element, const Message*, ErrorLocation,
                const std::string& message) override {
    if (text.empty()) text = file + ": " + element + ": " + message;
  }
  std::string text;
};

Status not_found(std::string_view text) {
  return {StatusCode::kNotFound, Layer::kRpc, text};
}

/// Turns a failure to ask for descriptions into words for the caller.
Status of_reflection(const Status& failure) {
  if (failure.code() != StatusCode::kUnimplemented) return failure;
  return {StatusCode::kUnimplemented, Layer::kRpc,
          "the server does not describe its services: it has none of protobuf, or its reflection is switched "
          "off (ServicesOptions::reflection)"};
}

/// Protobuf's words may be empty pieces with colons between them, and a mark below a line that it leaves out.
Status bad_json(const Descriptor& type, std::string why) {
  if (why.ends_with("\n\n^")) why.erase(why.size() - 3);
  why.erase(0, why.find_first_not_of(": "));
  while (!why.empty() && why.back() == '\n') why.pop_back();
  return {StatusCode::kInvalidArgument, Layer::kCodec, type.full_name() + ": not from this JSON: " + why};
}

std::string methods_of(const ServiceDescriptor& service) {
  std::string names;
  for (int i = 0; i < service.method_count(); ++i) {
    names += (i == 0 ? "" : ", ") + service.method(i)->name();
  }
  return names.empty() ? "none" : names;
}

/// Limit of the message types in a description: protobuf builds them recursively, as deep as they refer to
/// each other.
constexpr std::size_t kTypesMax = 5000;

/// The message types in `types`, those within them too. A description was parsed, so they are nested 100 deep
/// at most.
template <typename Types>
std::size_t count_types(const Types& types) {
  std::size_t count = 0;
  for (const google::protobuf::DescriptorProto& type : types) count += 1 + count_types(type.nested_type());
  return count;
}

/// The messages that `first` is made of, itself first, each once.
void append_messages(const Descriptor* first, std::set<const Descriptor*>& seen, std::string& text) {
  std::vector<const Descriptor*> left{first};
  while (!left.empty()) {
    const Descriptor* const type = left.back();
    left.pop_back();
    if (!seen.insert(type).second || type->options().map_entry()) continue;
    if (type->containing_type() == nullptr) text += "\n// " + type->full_name() + "\n" + type->DebugString();
    for (int i = type->field_count(); i > 0; --i) {
      const FieldDescriptor& field = *type->field(i - 1);
      if (field.type() == FieldDescriptor::TYPE_MESSAGE) left.push_back(field.message_type());
    }
  }
}

std::string text_of(const MethodDescriptor& method) {
  std::string text = "// " + method.full_name() + "\n" + method.DebugString();
  std::set<const Descriptor*> seen;
  append_messages(method.input_type(), seen, text);
  append_messages(method.output_type(), seen, text);
  return text;
}

std::string text_of(const ServiceDescriptor& service) {
  std::string text = "// " + service.full_name() + "\n" + service.DebugString();
  std::set<const Descriptor*> seen;
  for (int i = 0; i < service.method_count(); ++i) {
    append_messages(service.method(i)->input_type(), seen, text);
    append_messages(service.method(i)->output_type(), seen, text);
  }
  return text;
}

Result<const MethodDescriptor*> find_method(const DescriptorPool& pool, const std::string& service,
                                            const std::string& method) {
  const ServiceDescriptor* const in = pool.FindServiceByName(service);
  if (in == nullptr) return not_found("there is no service '" + service + "'");
  if (const MethodDescriptor* const found = in->FindMethodByName(method)) return found;
  return not_found("service '" + service + "' has no method '" + method + "'; it has " + methods_of(*in));
}

bool is_stream_method(const MethodDescriptor& method) {
  return method.client_streaming() || method.server_streaming();
}

Streams streams_of_method(const MethodDescriptor& method) {
  if (method.client_streaming()) return method.server_streaming() ? Streams::kBoth : Streams::kRequests;
  return method.server_streaming() ? Streams::kResponses : Streams::kNone;
}

weft::detail::MethodKey key_of(const MethodDescriptor& method, std::string_view name) {
  return make_method(name, method.input_type()->full_name(), method.output_type()->full_name(), false,
                     streams_of_method(method));
}

/// One side of a method, as its .proto has it.
std::string side_text(const Descriptor& message, bool streams) {
  return (streams ? "(stream " : "(") + message.full_name() + ")";
}

Result<void> from_json(const std::string& json, Message& message) {
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, &message);
  if (parsed.ok()) return {};
  return bad_json(*message.GetDescriptor(), std::string{parsed.message().data(), parsed.message().size()});
}

Result<std::string> to_json(const Message& message, bool in_lines) {
  std::string text;
  google::protobuf::util::JsonPrintOptions print;
  print.add_whitespace = in_lines;
  const auto printed = google::protobuf::util::MessageToJsonString(message, &text, print);
  if (printed.ok()) return text;
  return Status{StatusCode::kInternal, Layer::kCodec,
                "the answer cannot be told in JSON: " +
                    weft::detail::peer_text({printed.message().data(), printed.message().size()})};
}

}  // namespace

/// Descriptions that were received so far.
class RemoteServices::Known {
 public:
  /// Adds the files of an untrusted server. Errors: the reason for a refusal.
  Result<void> add(const FileDescriptorSet& files) {
    for (const FileDescriptorProto& file : files.file()) {
      if (pool_.FindFileByName(file.name()) != nullptr) continue;
      const std::size_t types = types_ + count_types(file.message_type());
      if (types > kTypesMax) {
        return Status{StatusCode::kResourceExhausted, Layer::kCodec,
                      "the server's description of itself has more than " + std::to_string(kTypesMax) +
                          " message types"};
      }
      FirstError error;
      if (pool_.BuildFileCollectingErrors(file, &error) == nullptr) {
        return Status{StatusCode::kInvalidArgument, Layer::kCodec,
                      "the server's description of itself is wrong: " + weft::detail::peer_text(error.text)};
      }
      types_ = types;
    }
    return {};
  }

  const DescriptorPool& pool() const { return pool_; }
  std::unique_ptr<Message> new_message(const Descriptor& type) {
    return std::unique_ptr<Message>{factory_.GetPrototype(&type)->New()};
  }

 private:
  std::size_t types_ = 0;
  DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_{&pool_};
};

RemoteServices::RemoteServices(Caller& client) : client_(client), known_(std::make_unique<Known>()) {}

RemoteServices::~RemoteServices() = default;

Task<Result<std::vector<std::string>>> RemoteServices::list() {
  const reflection::v1::ReflectionStub stub{client_};
  const reflection::v1::ListRequest request;
  const Result<reflection::v1::ListResponse> answer = co_await stub.List(request);
  if (!answer.ok()) co_return of_reflection(answer.status());
  co_return std::vector<std::string>{answer->services().begin(), answer->services().end()};
}

Task<Result<void>> RemoteServices::learn(const std::string* name, const CallOptions* options) {
  CallOptions asking;
  asking.timeout = options->timeout;
  asking.deadline = options->deadline;
  asking.metadata = options->metadata;
  const reflection::v1::ReflectionStub stub{client_};
  reflection::v1::DescribeRequest request;
  request.set_name(*name);
  const Result<reflection::v1::DescribeResponse> answer = co_await stub.Describe(asking, request);
  if (!answer.ok()) co_return of_reflection(answer.status());
  co_return known_->add(answer->files());
}

Task<Result<std::string>> RemoteServices::describe(std::string name) {
  const CallOptions options;
  if (const std::size_t slash = name.rfind('/'); slash != std::string::npos) {
    co_return co_await describe_method(name.substr(0, slash), name.substr(slash + 1));
  }
  const Result<void> learnt = co_await learn(&name, &options);
  if (!learnt.ok()) co_return learnt.status();
  const DescriptorPool& pool = known_->pool();
  if (const auto* service = pool.FindServiceByName(name)) co_return text_of(*service);
  if (const auto* message = pool.FindMessageTypeByName(name)) co_return message->DebugString();
  if (const auto* values = pool.FindEnumTypeByName(name)) co_return values->DebugString();
  co_return not_found("the server's description of '" + name + "' does not contain it");
}

Task<Result<std::string>> RemoteServices::describe_method(std::string service, std::string method) {
  const CallOptions options;
  const Result<void> learnt = co_await learn(&service, &options);
  if (!learnt.ok()) co_return learnt.status();
  const Result<const MethodDescriptor*> found = find_method(known_->pool(), service, method);
  if (!found.ok()) co_return found.status();
  co_return text_of(**found);
}

Task<Result<const MethodDescriptor*>> RemoteServices::find(const std::string* method,
                                                           const CallOptions* options) {
  const std::size_t slash = method->rfind('/');
  if (slash == std::string::npos) {
    co_return Status{StatusCode::kInvalidArgument, Layer::kRpc,
                     "'" + *method + "' names no method; they are called package.Service/Method"};
  }
  const std::string service = method->substr(0, slash);
  if (known_->pool().FindServiceByName(service) == nullptr) {
    const Result<void> learnt = co_await learn(&service, options);
    if (!learnt.ok()) co_return learnt.status();
  }
  co_return find_method(known_->pool(), service, method->substr(slash + 1));
}

Task<Result<std::string>> RemoteServices::call(std::string method, std::string json, CallOptions options) {
  const Result<const MethodDescriptor*> in_pool = co_await find(&method, &options);
  if (!in_pool.ok()) co_return in_pool.status();
  const MethodDescriptor& found = **in_pool;
  if (is_stream_method(found)) {
    co_return Status{StatusCode::kFailedPrecondition, Layer::kRpc, "the method '" + method + "' streams"};
  }
  const std::unique_ptr<Message> request = known_->new_message(*found.input_type());
  const std::unique_ptr<Message> response = known_->new_message(*found.output_type());
  const Result<void> parsed = from_json(json, *request);
  if (!parsed.ok()) co_return parsed.status();
  const weft::detail::MethodKey key = key_of(found, method);
  UnaryCall<const Message&, Message, CallOptions, true> made{client_, key, options, *request, response.get()};
  const Result<void> outcome = co_await std::move(made);
  if (!outcome.ok()) co_return outcome.status();
  co_return to_json(*response, true);
}

Task<Result<std::vector<std::string>>> RemoteServices::streams_of(std::string service) {
  const CallOptions options;
  const Result<void> learnt = co_await learn(&service, &options);
  if (!learnt.ok()) co_return learnt.status();
  std::vector<std::string> streams;
  const ServiceDescriptor* const in = known_->pool().FindServiceByName(service);
  for (int i = 0; in != nullptr && i < in->method_count(); ++i) {
    const MethodDescriptor& method = *in->method(i);
    if (!is_stream_method(method)) continue;
    streams.push_back(method.name() + " " + side_text(*method.input_type(), method.client_streaming()) +
                      " returns " + side_text(*method.output_type(), method.server_streaming()));
  }
  co_return streams;
}

Task<Result<Streams>> RemoteServices::streams(std::string method, CallOptions options) {
  const Result<const MethodDescriptor*> found = co_await find(&method, &options);
  if (!found.ok()) co_return found.status();
  co_return streams_of_method(**found);
}

/// The record of a stream of messages whose types are known at run time, and their places.
class RemoteStream::State {
 public:
  struct Record final : detail::MessageStreamRecord {
    using MessageStreamRecord::MessageStreamRecord;
    Result<void> take_result() { return status().ok() ? Result<void>{} : Result<void>{Status{status()}}; }
  };

  State(std::string method, const MethodDescriptor& its, std::unique_ptr<Message> its_request,
        std::unique_ptr<Message> its_response)
      : name(std::move(method)),
        key(key_of(its, name)),
        takes_stream(its.client_streaming()),
        gives_stream(its.server_streaming()),
        request(std::move(its_request)),
        response(std::move(its_response)) {}

  void start(Caller& client, const CallOptions& options) {
    record = std::make_unique<Record>(client, key, options, gives_stream ? nullptr : response.get());
    record->start(takes_stream ? nullptr : request.get());
  }

  const std::string name;
  const weft::detail::MethodKey key;
  const bool takes_stream;
  const bool gives_stream;
  const std::unique_ptr<Message> request;
  const std::unique_ptr<Message> response;
  std::unique_ptr<Record> record;
};

RemoteStream::RemoteStream(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
RemoteStream::RemoteStream(RemoteStream&&) noexcept = default;
RemoteStream& RemoteStream::operator=(RemoteStream&&) noexcept = default;
RemoteStream::~RemoteStream() = default;

bool RemoteStream::writes() const noexcept {
  return state_->takes_stream;
}

bool RemoteStream::reads() const noexcept {
  return state_->gives_stream;
}

Task<Result<std::optional<std::string>>> RemoteStream::next() {
  using Item = weft::detail::ReadItem<detail::MessageItems<Message>, weft::detail::OpenedItems>;
  Item item{weft::detail::OpenedItems{*state_->record}, *state_->response};
  const Message* const message = co_await item;
  if (message == nullptr) co_return std::optional<std::string>{};
  Result<std::string> text = to_json(*message, false);
  if (!text.ok()) co_return text.status();
  co_return std::optional<std::string>{*std::move(text)};
}

Task<Result<bool>> RemoteStream::write(std::string json) {
  using Item = weft::detail::WriteItem<detail::MessageItems<Message>, weft::detail::OpenedItems>;
  const Result<void> parsed = from_json(json, *state_->request);
  if (!parsed.ok()) co_return parsed.status();
  Item item{weft::detail::OpenedItems{*state_->record}, *state_->request};
  const bool written = co_await item;
  co_return written;
}

void RemoteStream::end_writing() noexcept {
  state_->record->side().end_writing();
}

Task<Result<std::string>> RemoteStream::finish() {
  weft::detail::FinishStream<State::Record> end{*state_->record};
  const Result<void> outcome = co_await end;
  if (!outcome.ok()) co_return outcome.status();
  if (state_->gives_stream) co_return std::string{};
  co_return to_json(*state_->response, true);
}

void RemoteStream::cancel() noexcept {
  state_->record->on_cancel(CancelReason::kRequested);
}

Task<Result<RemoteStream>> RemoteServices::open(std::string method, std::string json, CallOptions options) {
  const Result<const MethodDescriptor*> in_pool = co_await find(&method, &options);
  if (!in_pool.ok()) co_return in_pool.status();
  const MethodDescriptor& found = **in_pool;
  if (!is_stream_method(found)) {
    co_return Status{StatusCode::kFailedPrecondition, Layer::kRpc,
                     "the method '" + method + "' does not stream"};
  }
  auto state = std::make_unique<RemoteStream::State>(method, found, known_->new_message(*found.input_type()),
                                                     known_->new_message(*found.output_type()));
  if (!found.client_streaming()) {
    const Result<void> parsed = from_json(json, *state->request);
    if (!parsed.ok()) co_return parsed.status();
  }
  state->start(client_, options);
  co_return RemoteStream{std::move(state)};
}

}  // namespace weft::protobuf
