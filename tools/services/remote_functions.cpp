// SPDX-License-Identifier: Apache-2.0
#include "services/remote_functions.hpp"

#include <cstddef>
#include <utility>

#include "weft/detail/describe/json.hpp"
#include "weft/weft.hpp"

namespace weft::services {

namespace {

using detail::MethodDescription;
using Message = std::vector<std::byte>;

Result<MethodDescription> types_of(const UntypedMethod& function) {
  Result<MethodDescription> types = MethodDescription::parse(function.types());
  if (!types.ok()) {
    return Status{
        types.status().code(), Layer::kCodec,
        "the types of '" + function.name() + "' have no JSON: " + std::string{types.status().message()}};
  }
  return types;
}

Result<std::string> json_of(const detail::TypeDescription& types, const Buffer& message) {
  std::string json;
  const Status status = detail::to_json(types, message.bytes(), json);
  if (!status.ok()) return status.with_context("the answer");
  return json;
}

Status arguments_of(const MethodDescription& types, const std::string& json, Message& into) {
  return detail::from_json(types.arguments, json.empty() ? "[]" : json, into);
}

}  // namespace

Task<Result<std::vector<UntypedMethod>>> RemoteFunctions::list(std::string name, CallOptions options) {
  auto answer = co_await describe_methods(client_, std::move(name), options);
  co_return answer;
}

Task<Result<std::string>> RemoteFunctions::call(const UntypedMethod* function, std::string json,
                                                CallOptions options) {
  const Result<MethodDescription> types = types_of(*function);
  if (!types.ok()) co_return types.status();
  Message request;
  const Status read = arguments_of(*types, json, request);
  if (!read.ok()) co_return read;
  const Result<Buffer> answer = co_await untyped_call(client_, *function, request, options);
  if (!answer.ok()) co_return answer.status();
  if (!types->result) co_return std::string{"null"};
  co_return json_of(*types->result, *answer);
}

Result<std::unique_ptr<FunctionStream>> RemoteFunctions::open(const UntypedMethod& function,
                                                              const std::string& json,
                                                              const CallOptions& options) {
  Result<MethodDescription> types = types_of(function);
  if (!types.ok()) return types.status();
  Message arguments;
  const Status read = arguments_of(*types, json, arguments);
  if (!read.ok()) return read;
  return std::make_unique<FunctionStream>(client_, function, *std::move(types), arguments, options);
}

FunctionStream::FunctionStream(Client& client, const UntypedMethod& function, MethodDescription types,
                               Bytes arguments, const CallOptions& options)
    : types_(std::move(types)), stream_(client, function, arguments, options) {}

Task<Result<std::optional<std::string>>> FunctionStream::next() {
  const std::optional<Buffer> message = co_await stream_.next();
  if (!message) co_return std::optional<std::string>{};
  Result<std::string> json = json_of(*types_.items_out, *message);
  if (!json.ok()) co_return json.status();
  co_return std::optional<std::string>{*std::move(json)};
}

Task<Result<bool>> FunctionStream::write(std::string json) {
  Message message;
  const Status read = detail::from_json(*types_.items_in, json, message);
  if (!read.ok()) co_return read;
  const Bytes item{message};
  const bool written = co_await stream_.write(item);
  co_return written;
}

void FunctionStream::end_writing() noexcept {
  stream_.end_writing();
}

Task<Result<std::string>> FunctionStream::finish() {
  const Result<Buffer> answer = co_await stream_.finish();
  if (!answer.ok()) co_return answer.status();
  if (!types_.result) co_return std::string{};
  co_return json_of(*types_.result, *answer);
}

void FunctionStream::cancel() noexcept {
  stream_.cancel();
}

}  // namespace weft::services
