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
  /// Returns the lowest level that is written; the library makes no text for messages below it.
  virtual LogLevel level() const noexcept { return LogLevel::kDebug; }
  /// Sets that level while the program runs, as the page /log of a server does. Must not call the server, and
  /// must destroy nothing. Returns false, with nothing changed, if this logger has no level to set.
  virtual bool set_level(LogLevel level) noexcept {
    static_cast<void>(level);
    return false;
  }
};

/// Writes messages to stderr, one line each; the default. Its level, which all objects share that use it, is
/// kWarning at first.
Logger& stderr_logger();

/// Returns the word for a level: "debug", "info", "warning" or "error".
std::string_view to_string(LogLevel level);

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
