// SPDX-License-Identifier: Apache-2.0
#include "weft/base/status.hpp"

#include <cerrno>
#include <iterator>
#include <system_error>

#include "weft/base/assert.hpp"

namespace weft {

namespace {

Retry default_retry(StatusCode code) {
  switch (code) {
    case StatusCode::kUnavailable:
      return Retry::kReconnect;
    case StatusCode::kResourceExhausted:
    case StatusCode::kAborted:
      return Retry::kBackoff;
    case StatusCode::kUnimplemented:
      return Retry::kElsewhere;
    default:
      return Retry::kNever;
  }
}

}  // namespace

std::string_view to_string(StatusCode code) {
  static constexpr std::string_view kNames[] = {
      "OK",        "CANCELLED",       "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS",  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",    "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED",
  };
  const auto index = static_cast<unsigned>(code);
  return is_status_code(index) ? kNames[index] : "?";
}

std::string_view to_string(Layer layer) {
  static constexpr std::string_view kNames[] = {"none", "user",      "runtime", "codec",
                                                "wire", "transport", "rpc"};
  const auto index = static_cast<unsigned>(layer);
  return index < std::size(kNames) ? kNames[index] : "?";
}

std::string_view to_string(Retry retry) {
  static constexpr std::string_view kNames[] = {"never", "elsewhere", "after backoff", "reconnect"};
  const auto index = static_cast<unsigned>(retry);
  return index < std::size(kNames) ? kNames[index] : "?";
}

Status::Status(StatusCode code, Layer layer, std::string message, std::int32_t native)
    : Status(code, layer, std::move(message), native, default_retry(code)) {}

Status::Status(StatusCode code, Layer layer, std::string message, std::int32_t native, Retry retry) {
  WEFT_ASSERT(code != StatusCode::kOk, "a failure needs a code other than kOk");
  failure_ = std::make_unique<Failure>(Failure{code, layer, retry, native, std::move(message)});
}

std::string Status::to_string() const {
  std::string text{weft::to_string(code())};
  if (ok()) return text;
  text += " (";
  text += weft::to_string(layer());
  if (native() != 0) text += ", " + std::to_string(native());
  text += "): ";
  text += message();
  return text;
}

Status Status::with_context(std::string_view text) const {
  Status copy = *this;
  if (copy.failure_) copy.failure_->message.insert(0, std::string{text} + ": ");
  return copy;
}

Status errno_status(Layer layer, std::string_view what, int error_number) {
  std::string message{what};
  message += ": " + std::generic_category().message(error_number);
  StatusCode code = StatusCode::kUnavailable;
  if (error_number == EINVAL || error_number == EADDRNOTAVAIL) code = StatusCode::kInvalidArgument;
  if (error_number == EACCES || error_number == EPERM) code = StatusCode::kPermissionDenied;
  if (error_number == EADDRINUSE) code = StatusCode::kAlreadyExists;
  if (error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM || error_number == ENOBUFS) {
    code = StatusCode::kResourceExhausted;
  }
  return {code, layer, std::move(message), error_number};
}

Status user_error(std::int32_t user_code, std::string message, StatusCode code) {
  return {code, Layer::kUser, std::move(message), user_code};
}

}  // namespace weft
