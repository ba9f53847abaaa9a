// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/http/date.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace weft::detail::http {

namespace {

constexpr std::int64_t kLastSecond = 253'402'300'799;  // of the year 9999
constexpr std::string_view kDays = "SunMonTueWedThuFriSat";
constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

void put_two(char* to, unsigned value) {
  to[0] = static_cast<char>('0' + value / 10);
  to[1] = static_cast<char>('0' + value % 10);
}

void put_name(char* to, std::string_view names, unsigned index) {
  std::copy_n(names.begin() + index * 3, 3, to);
}

}  // namespace

void DateText::make(std::int64_t unix_seconds) noexcept {
  second_ = unix_seconds;
  const std::chrono::sys_seconds time{
      std::chrono::seconds{std::clamp<std::int64_t>(unix_seconds, 0, kLastSecond)}};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
  constexpr std::string_view kShape = "Day, 00 Mon 0000 00:00:00 GMT";
  std::copy(kShape.begin(), kShape.end(), text_.begin());
  char* const text = text_.data();
  put_name(text, kDays, std::chrono::weekday{day}.c_encoding());
  put_two(text + 5, static_cast<unsigned>(date.day()));
  put_name(text + 8, kMonths, static_cast<unsigned>(date.month()) - 1);
  put_two(text + 12, year / 100);
  put_two(text + 14, year % 100);
  put_two(text + 17, static_cast<unsigned>(clock.hours().count()));
  put_two(text + 20, static_cast<unsigned>(clock.minutes().count()));
  put_two(text + 23, static_cast<unsigned>(clock.seconds().count()));
}

}  // namespace weft::detail::http
