// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/base/text_maker.hpp"
#include "weft/detail/base/time.hpp"

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
/// user's number. Status::native() means nothing without it.
enum class Layer : std::uint8_t { kNone, kUser, kRuntime, kCodec, kWire, kTransport, kRpc };

/// Advice to the caller about a failure.
enum class Retry : std::uint8_t {
  kNever,      ///< the same call fails again
  kElsewhere,  ///< another server may do it
  kBackoff,    ///< the same server may do it later
  kReconnect,  ///< the connection is gone; whether the call may have run, Status::unprocessed() says
};

std::string_view to_string(StatusCode code);
std::string_view to_string(Layer layer);
std::string_view to_string(Retry retry);

namespace detail {

/// True for a number that names a StatusCode; numbers from the wire are checked with it first.
constexpr bool is_status_code(unsigned number) {
  return number <= 16;
}

}  // namespace detail

/// Longest time that a failure can tell its caller to wait: see Status::retry_after().
inline constexpr Duration kRetryAfterMax = std::chrono::minutes{5};

/// Largest size in bytes of Status::details().
inline constexpr std::size_t kStatusDetailsMax = 8 * 1024;

/// A failure whose text is part of the program. A Status of one takes no memory: Status::of<kConstant>().
struct FixedFailure {
  StatusCode code;
  Layer layer;
  Retry retry;
  std::string_view message;
  bool unprocessed = false;
};

/// The outcome of an operation that can fail: success, or the failure and advice for the caller.
///
/// No function here throws. Success is a null pointer. A failure keeps its text and details in a
/// reference-counted block that its copies share, from any thread; if there is no memory for the block, the
/// failure keeps everything except text and details, and message() says so.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  /// A `code` of kOk becomes kInternal, and the message says so: a failure is never success. `native` is the
  /// number of the layer below: errno, ucs_status_t, a user's own code.
  Status(StatusCode code, Layer layer, std::string_view message, std::int32_t native = 0) noexcept;
  Status(StatusCode code, Layer layer, std::string_view message, std::int32_t native, Retry retry) noexcept;
  /// The same with a text that `make_text` returns. Text that is put together inside it may fail for want of
  /// memory without a harm: the failure goes without.
  template <typename MakeText>
    requires std::is_invocable_r_v<std::string, const MakeText&>
  Status(StatusCode code, Layer layer, const MakeText& make_text, std::int32_t native = 0) noexcept
      : Status(code, layer, detail::TextMaker{make_text}, native) {}
  template <typename MakeText>
    requires std::is_invocable_r_v<std::string, const MakeText&>
  Status(StatusCode code, Layer layer, const MakeText& make_text, std::int32_t native, Retry retry) noexcept
      : Status(Facts{code, layer, retry, native}, detail::TextMaker{make_text}) {}
  /// A failure whose text is a constant, so that it never allocates.
  template <const FixedFailure& kFailure>
  static Status of() noexcept {
    static_assert(kFailure.code != StatusCode::kOk, "a failure needs a code other than kOk");
    Status status;
    status.word_ = reinterpret_cast<std::uintptr_t>(&kFailure) | kFixed;
    return status;
  }

  Status(const Status& other) noexcept : word_(other.word_) {
    if (word_ != 0) share();
  }
  Status& operator=(const Status& other) noexcept {
    Status copy{other};
    std::swap(word_, copy.word_);
    return *this;
  }
  Status(Status&& other) noexcept : word_(std::exchange(other.word_, 0)) {}
  Status& operator=(Status&& other) noexcept {
    Status taken{std::move(other)};
    std::swap(word_, taken.word_);
    return *this;
  }
  ~Status() {
    if (word_ != 0) drop();
  }

  bool ok() const noexcept { return word_ == 0; }
  StatusCode code() const noexcept { return ok() ? StatusCode::kOk : facts().code; }
  Layer layer() const noexcept { return facts().layer; }
  /// Number of layer()'s: errno, ucs_status_t, the user's own code, or one of the library's; 0 without. The
  /// same number means something else in each layer, so compare the layer first.
  std::int32_t native() const noexcept { return facts().native; }
  /// Empty when ok; valid as long as this Status is.
  std::string_view message() const noexcept;
  /// Bytes for the caller's program beside the message for people, such as a serialized google.rpc.Status;
  /// empty when there are none. Valid as long as this Status is.
  std::string_view details() const noexcept;
  /// Returns this failure with a copy of `details` in place of its own. Details over kStatusDetailsMax are
  /// left out, and the message of the returned failure says so; success stays success.
  Status with_details(std::string_view details) const noexcept;
  Retry retry() const noexcept { return facts().retry; }
  /// Time to wait before the next try, as requested by the side that failed, such as a server over a limit;
  /// zero without a request. Sent over the wire in milliseconds.
  Duration retry_after() const noexcept { return std::chrono::milliseconds{facts().retry_after_ms}; }
  /// Sets retry_after() to `wait`, rounded up to a millisecond, and at most kRetryAfterMax; zero or less: no
  /// advice. A failure with a shared text loses it when there is no memory for another copy. Has no effect on
  /// success.
  void set_retry_after(Duration wait) noexcept;
  /// Returns true when the peer certainly did nothing with the failed request: no byte of it left this side,
  /// or the peer reported that it did not take it, or refused it before its handler ran. Repeating such a
  /// call never runs it twice. False means that it may have run, or that this is unknown. The flag is about
  /// the call that this side made: the flag of a handler's own call is not passed on to the handler's caller.
  bool unprocessed() const noexcept { return facts().unprocessed; }
  /// Makes unprocessed() true. A failure whose text is shared loses it when there is no memory for another
  /// copy. A success stays as it is.
  void mark_unprocessed() noexcept;
  /// Makes unprocessed() false, for the failure of a call that an earlier attempt may have run. A failure
  /// whose text is shared or constant loses it when there is no memory for another copy.
  void clear_unprocessed() noexcept;
  /// One line for people: "UNAVAILABLE (transport, 111): connect to ...". Throws when there is no memory.
  std::string to_string() const;

  /// The same failure with `text: ` before its message; without, when there is no memory for it.
  Status with_context(std::string_view text) const noexcept;
  template <typename MakeText>
    requires std::is_invocable_r_v<std::string, const MakeText&>
  Status with_context(const MakeText& make_text) const noexcept {
    return ok() ? Status{} : with_made_context(detail::TextMaker{make_text});
  }

 private:
  struct Facts {
    StatusCode code;
    Layer layer;
    Retry retry;
    std::int32_t native;
    bool unprocessed = false;
    std::uint32_t retry_after_ms = 0;
  };
  struct Text;

  // What word_ is, when it is not null, in its two lowest bits: the address of a Text, of a FixedFailure, or
  // the facts themselves.
  static constexpr std::uint64_t kFixed = 1;
  static constexpr std::uint64_t kBare = 2;
  static constexpr std::uint64_t kKinds = 3;

  Status(StatusCode code, Layer layer, const detail::TextMaker& make_text, std::int32_t native) noexcept;
  Status(const Facts& facts, const detail::TextMaker& make_text) noexcept;
  Status(const Facts& facts, std::string_view before, std::string_view message,
         std::string_view details = {}) noexcept;

  static Facts failing(Facts facts) noexcept;
  static Status bare(const Facts& facts) noexcept;
  static Facts bare_facts(std::uint64_t word) noexcept;
  template <typename Change>
  void change(Change change) noexcept;

  Status with_made_context(const detail::TextMaker& make_text) const noexcept;
  Facts facts() const noexcept;
  Text& text() const noexcept;
  const FixedFailure& fixed() const noexcept;
  void share() const noexcept;
  void drop() noexcept;

  std::uint64_t word_ = 0;
};

/// A handler's own failure: it reaches the caller with `user_code` and `message` and keeps the connection.
Status user_error(std::int32_t user_code, std::string_view message,
                  StatusCode code = StatusCode::kUnknown) noexcept;

namespace detail {

/// A failed system call: `what` names the attempted operation; the errno's text is added.
Status errno_status(Layer layer, std::string_view what, int error_number) noexcept;

/// A failed allocation, for callers with no further details.
inline constexpr FixedFailure kOutOfMemory{StatusCode::kResourceExhausted, Layer::kRuntime, Retry::kBackoff,
                                           "out of memory"};

}  // namespace detail

}  // namespace weft
