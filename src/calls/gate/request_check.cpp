// SPDX-License-Identifier: Apache-2.0
#include "calls/gate/request_check.hpp"

#include <string>

#include "calls/terms/call_status.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kClientServesNothing{
    StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
    "the client serves no calls; what it registers before it connects, the server may call"};

Status over_methods_limit(std::string_view what, std::uint64_t bytes, std::uint64_t limit,
                          const MethodEntry& method, std::string_view option) {
  return {StatusCode::kResourceExhausted, Layer::kRpc,
          [&] {
            return std::string{what} + " of " + std::to_string(bytes) + " bytes is over the limit of " +
                   std::to_string(limit) + " of method '" + std::string{method.key.name} +
                   "', which HandlerOptions::" + std::string{option} + " raises";
          },
          0, Retry::kNever};
}

}  // namespace

Refusal RequestCheck::no_such_method() const {
  if (methods_ == nullptr) return {RefusalReason::kUnknownMethod, Status::of<kClientServesNothing>()};
  return {RefusalReason::kUnknownMethod,
          {StatusCode::kUnimplemented, Layer::kRpc, [this] {
             return "the " + std::string{methods_->whose()} +
                    " has no such method; is the handler registered, under the same name or key?";
           }}};
}

Refusal RequestCheck::over_methods_body(const MethodEntry& method, std::uint64_t bytes) {
  return {RefusalReason::kOverMethodsBody,
          over_methods_limit("a request", bytes, method.options.body_bytes_max, method, "body_bytes_max")};
}

Refusal RequestCheck::refusal(wire::RequestView request) const {
  const MethodEntry* method = named(request);
  if (method == nullptr) return no_such_method();
  const MethodEntry* exact = methods_->find(request.method(), request.schema());
  if (exact == nullptr) {
    return {RefusalReason::kWrongSchema,
            {StatusCode::kFailedPrecondition, Layer::kRpc,
             [&] {
               return "method '" + std::string{method->key.name} + "' is " +
                      method->key.schema_text(method->key) + " on the " + std::string{methods_->whose()};
             },
             kSchemaMismatch}};
  }
  return over_methods_body(*exact, request.arguments_bytes());
}

std::optional<Refusal> RequestCheck::attachment_refusal(wire::RequestView request) const {
  const MethodEntry* method = method_for(request);
  return method == nullptr ? refusal(request) : attachment_refusal(*method, request);
}

std::optional<Refusal> RequestCheck::attachment_refusal(const MethodEntry& method,
                                                        wire::RequestView request) const {
  const std::uint64_t bytes = request.attachment_bytes();
  if (!method.takes_attachment) {
    return Refusal{RefusalReason::kAttachmentNotTaken,
                   {StatusCode::kInvalidArgument, Layer::kRpc, [&] {
                      return "method '" + std::string{method.key.name} +
                             "' takes no attachment; a handler that does has a parameter CallContext& or, a "
                             "coroutine, IncomingAttachment&";
                    }}};
  }
  const std::uint64_t limit = method.options.attachment_bytes_max;
  if (limit != 0 && bytes > limit) {
    return Refusal{RefusalReason::kOverMethodsAttachment,
                   over_methods_limit("an attachment", bytes, limit, method, "attachment_bytes_max")};
  }
  return std::nullopt;
}

}  // namespace weft::detail
