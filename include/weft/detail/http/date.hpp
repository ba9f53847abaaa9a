// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft::detail::http {

/// Text of the Date field, "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7), made once for each second. One
/// for each loop: an object is used by one thread.
class DateText {
 public:
  DateText() noexcept { make(0); }

  /// Text for a time in seconds since 1970; times outside the years 1970 to 9999 become the nearest of them.
  /// Valid until the next call with another second.
  std::string_view at(std::int64_t unix_seconds) noexcept {
    if (unix_seconds != second_) [[unlikely]] {
      make(unix_seconds);
    }
    return {text_.data(), text_.size()};
  }

 private:
  void make(std::int64_t unix_seconds) noexcept;

  std::int64_t second_ = 0;
  std::array<char, 29> text_{};
};

}  // namespace weft::detail::http
