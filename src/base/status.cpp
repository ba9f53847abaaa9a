// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/status.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iterator>
#include <new>
#include <system_error>

namespace weft {

namespace {

// Larger than any text of ours, and within the range of the size field.
constexpr std::size_t kTextBytesMax = 0x7FFFFFFF;

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
  return detail::is_status_code(index) ? kNames[index] : "?";
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

/// A failure and, behind it in the same block, its text and its details.
struct Status::Text {
  std::atomic<std::uint32_t> shared_by;
  std::uint32_t size;
  std::uint32_t details_size;
  Facts facts;

  char* begin() noexcept { return reinterpret_cast<char*>(this + 1); }
  std::string_view view() noexcept { return {begin(), size}; }
  std::string_view details() noexcept { return {begin() + size, details_size}; }
};

Status::Status(StatusCode code, Layer layer, std::string_view message, std::int32_t native) noexcept
    : Status(Facts{code, layer, default_retry(code), native}, {}, message) {}

Status::Status(StatusCode code, Layer layer, std::string_view message, std::int32_t native,
               Retry retry) noexcept
    : Status(Facts{code, layer, retry, native}, {}, message) {}

Status::Status(StatusCode code, Layer layer, const detail::TextMaker& make_text, std::int32_t native) noexcept
    : Status(Facts{code, layer, default_retry(code), native}, make_text) {}

Status::Status(const Facts& facts, const detail::TextMaker& make_text) noexcept : Status(bare(facts)) {
  try {
    *this = Status{facts, {}, make_text()};
  } catch (...) {  // NOLINT(bugprone-empty-catch): there was no memory for the text, and it goes without
  }
}

// A program that maps foreign codes to ours must not end by a wrong one.
Status::Facts Status::failing(Facts facts) noexcept {
  if (facts.code == StatusCode::kOk) {
    facts.code = StatusCode::kInternal;
    facts.retry = Retry::kNever;
  }
  return facts;
}

Status::Status(const Facts& facts, std::string_view before, std::string_view message,
               std::string_view details) noexcept {
  if (facts.code == StatusCode::kOk) before = "a failure was given the code of success";
  static_assert(alignof(Text) > kKinds && alignof(FixedFailure) > kKinds, "the lowest bits tell the kinds");
  const std::string_view between = before.empty() ? "" : ": ";
  const std::size_t size = std::min(before.size() + between.size() + message.size(), kTextBytesMax);
  void* const block = ::operator new(sizeof(Text) + size + details.size(), std::nothrow);
  if (block == nullptr) {
    *this = bare(facts);
    return;
  }
  Text& text = *::new (block) Text{1, static_cast<std::uint32_t>(size),
                                   static_cast<std::uint32_t>(details.size()), failing(facts)};
  std::size_t at = 0;
  for (const std::string_view part : {before, between, message}) {
    at += part.copy(text.begin() + at, size - at);
  }
  details.copy(text.begin() + size, details.size());
  word_ = reinterpret_cast<std::uintptr_t>(&text);
}

// Bits of a word that holds the facts: 2 unprocessed, 3 to 7 the code, 8 to 10 the layer, 11 and 12 the
// advice, 13 to 31 the milliseconds, 32 to 63 the native number.
Status Status::bare(const Facts& given) noexcept {
  const Facts facts = failing(given);
  static_assert(kRetryAfterMax / std::chrono::milliseconds{1} < 1 << 19, "they have 19 bits");
  static_assert(static_cast<unsigned>(StatusCode::kUnauthenticated) < 1u << 5 &&
                static_cast<unsigned>(Layer::kRpc) < 1u << 3 &&
                static_cast<unsigned>(Retry::kReconnect) < 1u << 2);
  Status status;
  status.word_ = kBare | std::uint64_t{facts.unprocessed} << 2 |
                 std::uint64_t{static_cast<std::uint8_t>(facts.code)} << 3 |
                 std::uint64_t{static_cast<std::uint8_t>(facts.layer)} << 8 |
                 std::uint64_t{static_cast<std::uint8_t>(facts.retry)} << 11 |
                 std::uint64_t{facts.retry_after_ms} << 13 |
                 std::uint64_t{static_cast<std::uint32_t>(facts.native)} << 32;
  return status;
}

Status::Facts Status::bare_facts(std::uint64_t word) noexcept {
  return {static_cast<StatusCode>(word >> 3 & 0x1F),
          static_cast<Layer>(word >> 8 & 0x7),
          static_cast<Retry>(word >> 11 & 0x3),
          static_cast<std::int32_t>(word >> 32),
          (word >> 2 & 1) != 0,
          static_cast<std::uint32_t>(word >> 13 & 0x7FFFF)};
}

const FixedFailure& Status::fixed() const noexcept {
  return *reinterpret_cast<const FixedFailure*>(static_cast<std::uintptr_t>(word_ - kFixed));
}

Status::Text& Status::text() const noexcept {
  return *reinterpret_cast<Text*>(static_cast<std::uintptr_t>(word_));
}

Status::Facts Status::facts() const noexcept {
  if (ok()) return {StatusCode::kOk, Layer::kNone, Retry::kNever, 0};
  switch (word_ & kKinds) {
    case kFixed:
      return {fixed().code, fixed().layer, fixed().retry, 0, fixed().unprocessed};
    case kBare:
      return bare_facts(word_);
    default:
      return text().facts;
  }
}

std::string_view Status::message() const noexcept {
  if (ok()) return {};
  switch (word_ & kKinds) {
    case kFixed:
      return fixed().message;
    case kBare:
      return "there was no memory for the reason";
    default:
      return text().view();
  }
}

std::string_view Status::details() const noexcept {
  return ok() || (word_ & kKinds) != 0 ? std::string_view{} : text().details();
}

Status Status::with_details(std::string_view details) const noexcept {
  if (ok()) return {};
  if (details.size() <= kStatusDetailsMax) return {facts(), {}, message(), details};
  try {
    const std::string said = std::string{message()} + " (its details of " + std::to_string(details.size()) +
                             " bytes were left out: at most " + std::to_string(kStatusDetailsMax) + " fit)";
    return {facts(), {}, said};
  } catch (...) {  // there was no memory for the longer text
    return {facts(), {}, message()};
  }
}

template <typename Change>
void Status::change(Change change) noexcept {
  // No other object can start to share it meanwhile: sharing requires a copy of this object.
  if ((word_ & kKinds) == 0 && text().shared_by.load(std::memory_order_acquire) == 1)
    return change(text().facts);
  Facts changed = facts();
  change(changed);
  *this = Status{changed, {}, message(), details()};
}

void Status::mark_unprocessed() noexcept {
  if (ok() || unprocessed()) return;
  change([](Facts& facts) { facts.unprocessed = true; });
}

void Status::clear_unprocessed() noexcept {
  if (unprocessed()) change([](Facts& facts) { facts.unprocessed = false; });
}

void Status::set_retry_after(Duration wait) noexcept {
  if (ok()) return;
  const Duration most = std::clamp(wait, Duration::zero(), kRetryAfterMax);
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(most);
  const auto milliseconds = static_cast<std::uint32_t>(rounded.count());
  if (facts().retry_after_ms == milliseconds) return;
  change([milliseconds](Facts& facts) { facts.retry_after_ms = milliseconds; });
}

void Status::share() const noexcept {
  if ((word_ & kKinds) == 0) text().shared_by.fetch_add(1, std::memory_order_relaxed);
}

void Status::drop() noexcept {
  if ((word_ & kKinds) != 0) return;
  if (text().shared_by.fetch_sub(1, std::memory_order_acq_rel) == 1) ::operator delete(&text());
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

Status Status::with_context(std::string_view text) const noexcept {
  if (ok() || text.empty()) return *this;
  Status longer{facts(), text, message(), details()};
  return (longer.word_ & kKinds) == kBare ? *this : longer;
}

Status Status::with_made_context(const detail::TextMaker& make_text) const noexcept {
  try {
    return with_context(make_text());
  } catch (...) {  // there was no memory for the context
    return *this;
  }
}

Status detail::errno_status(Layer layer, std::string_view what, int error_number) noexcept {
  StatusCode code = StatusCode::kUnavailable;
  if (error_number == EINVAL || error_number == EADDRNOTAVAIL) code = StatusCode::kInvalidArgument;
  if (error_number == EACCES || error_number == EPERM) code = StatusCode::kPermissionDenied;
  if (error_number == EADDRINUSE) code = StatusCode::kAlreadyExists;
  if (error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM || error_number == ENOBUFS) {
    code = StatusCode::kResourceExhausted;
  }
  const auto text = [&] { return std::string{what} + ": " + std::generic_category().message(error_number); };
  return {code, layer, text, error_number};
}

Status user_error(std::int32_t user_code, std::string_view message, StatusCode code) noexcept {
  return {code, Layer::kUser, message, user_code};
}

}  // namespace weft
