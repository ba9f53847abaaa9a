// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

/// Code of a status: the kind of failure, in the gRPC set. The numbers are the ones on the wire.
enum class StatusCode : std::uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// Part of the system that reports the status. `kUser` is a handler's own error; its native code is the
/// user's number.
enum class Layer : std::uint8_t { kNone, kUser, kRuntime, kCodec, kWire, kTransport, kRpc };

/// Advice to the caller about a failure.
enum class Retry : std::uint8_t {
  kNever,      ///< the same call fails again
  kElsewhere,  ///< another server may do it
  kBackoff,    ///< the same server may do it later
  kReconnect,  ///< the connection is gone; the call may have run
};

std::string_view to_string(StatusCode code);
std::string_view to_string(Layer layer);
std::string_view to_string(Retry retry);

/// True for a number that names a StatusCode; what comes off the wire is asked first.
constexpr bool is_status_code(unsigned number) {
  return number <= 16;
}

/// The outcome of something that can fail: success, or what happened and what to do.
/// Success is one null pointer; a failure keeps its text on the heap.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  /// `code` must not be kOk. `native` is the number of the layer below: errno, ucs_status_t, a user's own
  /// code.
  Status(StatusCode code, Layer layer, std::string message, std::int32_t native = 0);
  Status(StatusCode code, Layer layer, std::string message, std::int32_t native, Retry retry);

  Status(const Status& other)
      : failure_(other.failure_ ? std::make_unique<Failure>(*other.failure_) : nullptr) {}
  Status& operator=(const Status& other) {
    failure_ = other.failure_ ? std::make_unique<Failure>(*other.failure_) : nullptr;
    return *this;
  }
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;

  bool ok() const { return failure_ == nullptr; }
  StatusCode code() const { return failure_ ? failure_->code : StatusCode::kOk; }
  Layer layer() const { return failure_ ? failure_->layer : Layer::kNone; }
  std::int32_t native() const { return failure_ ? failure_->native : 0; }
  /// Empty when ok; valid as long as this Status is.
  std::string_view message() const {
    return failure_ ? std::string_view{failure_->message} : std::string_view{};
  }
  Retry retry() const { return failure_ ? failure_->retry : Retry::kNever; }
  /// One line for people: "UNAVAILABLE (transport, 111): connect to ...".
  std::string to_string() const;

  /// The same failure with `text: ` before its message.
  Status with_context(std::string_view text) const;

 private:
  struct Failure {
    StatusCode code;
    Layer layer;
    Retry retry;
    std::int32_t native;
    std::string message;
  };
  std::unique_ptr<Failure> failure_;
};

/// A failed system call: `what` says what was tried, the errno's text is added.
Status errno_status(Layer layer, std::string_view what, int error_number);

/// A handler's own failure: it reaches the caller with `user_code` and `message` and keeps the connection.
Status user_error(std::int32_t user_code, std::string message, StatusCode code = StatusCode::kUnknown);

}  // namespace weft
