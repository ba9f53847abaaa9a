// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "weft/detail/base/text_maker.hpp"

namespace weft {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

/// Destination of the library's log messages. The user sets it in options; the library does not own it, and
/// keeps a pointer, so it must outlive the objects that use it. Thread: called from any loop's thread.
class Logger {
 public:
  virtual ~Logger() = default;
  virtual void write(LogLevel level, std::string_view message) = 0;
};

/// Writes warnings and errors to stderr, one line each; the default.
Logger& stderr_logger();

namespace detail {

void write_line(Logger& logger, LogLevel level, const TextMaker& make_text) noexcept;

/// Writes the text that `make_text` returns. Without memory for it, or when the logger throws, a line less is
/// written and nothing else happens.
template <typename MakeText>
  requires std::is_invocable_r_v<std::string, const MakeText&>
void write_line(Logger& logger, LogLevel level, const MakeText& make_text) noexcept {
  write_line(logger, level, TextMaker{make_text});
}

}  // namespace detail

}  // namespace weft
