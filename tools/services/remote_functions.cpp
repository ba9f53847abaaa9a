// SPDX-License-Identifier: Apache-2.0
#include "services/remote_functions.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "weft/detail/calls/call/awaited_call.hpp"
#include "weft/detail/calls/stream/finish_stream.hpp"
#include "weft/detail/calls/stream/read_item.hpp"
#include "weft/detail/calls/stream/write_item.hpp"
#include "weft/detail/describe/json.hpp"
#include "weft/weft.hpp"

namespace weft::services {

namespace {

using detail::MethodDescription;
using detail::MethodKey;
using Message = std::vector<std::byte>;

constexpr FixedFailure kNoMemory{StatusCode::kResourceExhausted, Layer::kCodec, Retry::kBackoff,
                                 "out of memory for an answer"};

void keep(Message& into, Bytes bytes, Status& failure) noexcept {
  try {
    into.assign(bytes.begin(), bytes.end());
  } catch (const std::bad_alloc&) {
    failure = Status::of<kNoMemory>();
  }
}

/// The messages of a call: arguments that are encoded already, and a result that is decoded later.
class MessageBody {
 public:
  using Value = Message;

  explicit MessageBody(const Message& request) : request_(&request) {}

  std::size_t bytes() const { return request_->size(); }
  void write(std::byte* to) const { std::copy(request_->begin(), request_->end(), to); }
  void read(Bytes body, Status& failure) noexcept { keep(answer_, body, failure); }
  Message&& take() { return std::move(answer_); }

 private:
  const Message* request_;
  Message answer_;
};

/// Format of items that are encoded already, and that are decoded later; see detail::ReadItem.
struct MessageItems {
  using Item = Message;
  using Value = std::optional<Message>;
  struct Memory {};

  static void clear(Memory&) noexcept {}
  static std::size_t bytes(const Message& item) { return item.size(); }
  static void write(std::byte* to, std::size_t, const Message& item) {
    std::copy(item.begin(), item.end(), to);
  }
  static Value read(Bytes body, Memory&, Status& failure) noexcept {
    Value item{Message{}};
    keep(*item, body, failure);
    if (!failure.ok()) item.reset();
    return item;
  }
};

std::string no_types_text(const DescribedFunction& function, const Status& why) {
  return "the types of '" + function.name + "' have no JSON: " + std::string{why.message()};
}

Result<MethodDescription> types_of(const DescribedFunction& function) {
  Result<MethodDescription> types = MethodDescription::parse(function.types);
  if (!types.ok())
    return Status{types.status().code(), Layer::kCodec, no_types_text(function, types.status())};
  return types;
}

MethodKey key_of(const DescribedFunction& function, std::string_view name) {
  MethodKey key{detail::hash_name(name), function.schema, name, nullptr};
  key.streams = function.takes_stream || function.gives_stream;
  return key;
}

Result<std::string> json_of(const detail::TypeDescription& types, const Message& message) {
  std::string json;
  const Status status = detail::to_json(types, message, json);
  if (!status.ok()) return status.with_context("the answer");
  return json;
}

Status arguments_of(const MethodDescription& types, const std::string& json, Message& into) {
  return detail::from_json(types.arguments, json.empty() ? "[]" : json, into);
}

}  // namespace

Task<Result<std::vector<DescribedFunction>>> RemoteFunctions::list(std::string name, CallOptions options) {
  auto answer = co_await client_.call<detail::kDescribedFunctions>(options, name);
  co_return answer;
}

Task<Result<std::string>> RemoteFunctions::call(const DescribedFunction* function, std::string json,
                                                CallOptions options) {
  const Result<MethodDescription> types = types_of(*function);
  if (!types.ok()) co_return types.status();
  Message request;
  const Status read = arguments_of(*types, json, request);
  if (!read.ok()) co_return read;
  const MethodKey key = key_of(*function, function->name);
  using Call = detail::AwaitedCall<MessageBody, detail::Returns::kResult, detail::WithDetails>;
  Call call{client_.target(), key, options, request};
  const Result<Message> answer = co_await call;
  if (!answer.ok()) co_return answer.status();
  if (!types->result) co_return std::string{"null"};
  co_return json_of(*types->result, *answer);
}

Result<std::unique_ptr<FunctionStream>> RemoteFunctions::open(const DescribedFunction& function,
                                                              const std::string& json,
                                                              const CallOptions& options) {
  Result<MethodDescription> types = types_of(function);
  if (!types.ok()) return types.status();
  Message arguments;
  const Status read = arguments_of(*types, json, arguments);
  if (!read.ok()) return read;
  return std::make_unique<FunctionStream>(client_, function, *std::move(types), std::move(arguments),
                                          options);
}

/// The record of a stream whose messages are encoded and decoded elsewhere.
class FunctionStream::Record final : public detail::OpenedStream {
 public:
  Record(detail::CallTarget& target, const MethodKey& method, const CallOptions& options, Message arguments)
      : OpenedStream(target, method, std::make_unique<detail::CallDetails>(options, false)),
        arguments_(std::move(arguments)) {}

  void start() {
    const detail::Begun begun = OpenedStream::open(arguments_.size());
    if (begun.body == nullptr) return;
    std::copy(arguments_.begin(), arguments_.end(), begun.body);
    OpenedStream::opened(begun);
  }
  Result<Message> take_result() {
    if (!status().ok()) return Status{status()};
    return std::move(answer_);
  }

 private:
  std::size_t body_bytes() const override { return arguments_.size(); }
  void encode_body(std::byte* to) const override {
    std::copy(arguments_.begin(), arguments_.end(), to);
    const_cast<Record*>(this)->on_sent();
  }
  void decode_answer(Bytes body, Status& failure) noexcept override { keep(answer_, body, failure); }

  const Message arguments_;
  Message answer_;
};

FunctionStream::FunctionStream(Client& client, const DescribedFunction& function, MethodDescription types,
                               std::vector<std::byte> arguments, const CallOptions& options)
    : name_(function.name),
      types_(std::move(types)),
      key_(key_of(function, name_)),
      record_(std::make_unique<Record>(client.target(), key_, options, std::move(arguments))) {
  record_->start();
}

FunctionStream::~FunctionStream() = default;

Task<Result<std::optional<std::string>>> FunctionStream::next() {
  MessageItems::Memory memory;
  using Item = detail::ReadItem<MessageItems, detail::OpenedItems>;
  Item item{detail::OpenedItems{*record_}, memory};
  const std::optional<Message> message = co_await item;
  if (!message) co_return std::optional<std::string>{};
  Result<std::string> json = json_of(*types_.items_out, *message);
  if (!json.ok()) co_return json.status();
  co_return std::optional<std::string>{*std::move(json)};
}

Task<Result<bool>> FunctionStream::write(std::string json) {
  Message message;
  const Status read = detail::from_json(*types_.items_in, json, message);
  if (!read.ok()) co_return read;
  using Item = detail::WriteItem<MessageItems, detail::OpenedItems>;
  Item item{detail::OpenedItems{*record_}, message};
  const bool written = co_await item;
  co_return written;
}

void FunctionStream::end_writing() noexcept {
  record_->side().end_writing();
}

Task<Result<std::string>> FunctionStream::finish() {
  detail::FinishStream<Record> end{*record_};
  const Result<Message> answer = co_await end;
  if (!answer.ok()) co_return answer.status();
  if (!types_.result) co_return std::string{};
  co_return json_of(*types_.result, *answer);
}

void FunctionStream::cancel() noexcept {
  record_->on_cancel(CancelReason::kRequested);
}

}  // namespace weft::services
