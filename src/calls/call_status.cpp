// SPDX-License-Identifier: Apache-2.0
#include "calls/call_status.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <string>

#include "weft/base/bytes.hpp"

namespace weft {

namespace {

constexpr std::size_t kMessageBytesMax = 16 * 1024;

}  // namespace

wire::AnswerHead failure_head(const Status& failure) {
  return {
      .code = failure.code(), .layer = failure.layer(), .retry = failure.retry(), .native = failure.native()};
}

Status over_limit(std::string_view what, std::size_t bytes, std::size_t limit, std::string_view whose) {
  if (bytes == kUnencodable) {
    return {StatusCode::kInvalidArgument, Layer::kCodec, [&] {
              return std::string{what} + " cannot be encoded: it is nested too deep or has too many elements";
            }};
  }
  return {StatusCode::kResourceExhausted, Layer::kRpc,
          [&] {
            return std::string{what} + " of " + std::to_string(bytes) + " bytes is over " +
                   std::string{whose} + " limit of " + std::to_string(limit);
          },
          0, Retry::kNever};
}

Status status_of_encoding() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {StatusCode::kResourceExhausted, Layer::kCodec, "out of memory for an argument"};
  } catch (const std::exception& exception) {
    return {StatusCode::kInvalidArgument, Layer::kCodec,
            [&] { return std::string{"encoding an argument threw: "} + exception.what(); }};
  } catch (...) {
    return {StatusCode::kInvalidArgument, Layer::kCodec, "encoding an argument threw something unknown"};
  }
}

Status answered_status(const Frame& frame, const MethodKey& method) {
  const wire::AnswerView answer{frame.header};
  const unsigned number = answer.code();
  // A later build may have codes, layers and advice that this one does not know.
  const bool known = is_status_code(number) && number != 0;
  const auto code = known ? static_cast<StatusCode>(number) : StatusCode::kUnknown;
  const auto layer = answer.layer() <= static_cast<unsigned>(Layer::kRpc) ? static_cast<Layer>(answer.layer())
                                                                          : Layer::kNone;
  const std::int32_t native = known ? answer.native() : static_cast<std::int32_t>(number);
  const auto message = [&]() -> std::string {
    const std::string theirs{as_text(frame.body.first(std::min(frame.body.size(), kMessageBytesMax)))};
    if (!known)
      return "status code " + std::to_string(number) + ", which this build does not know: " + theirs;
    if (code == StatusCode::kFailedPrecondition && layer == Layer::kRpc && native == kSchemaMismatch) {
      return theirs + "; this caller takes it for " + method.schema_text(method);
    }
    // The server knows a method that it does not have by a number only.
    const bool names_it = code == StatusCode::kUnimplemented && layer == Layer::kRpc;
    return names_it ? "'" + std::string{method.name} + "': " + theirs : theirs;
  };
  // The server answered, so it is alive and the call's fate is known: reconnecting would not help.
  auto retry = answer.retry() <= static_cast<unsigned>(Retry::kReconnect) ? static_cast<Retry>(answer.retry())
                                                                          : Retry::kNever;
  if (retry == Retry::kReconnect) retry = Retry::kBackoff;
  return {code, layer, message, native, retry};
}

}  // namespace weft
