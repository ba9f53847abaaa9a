// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

/// Where the library's few messages go. Given by the user in options; the library owns none and keeps a
/// pointer, which must outlive what was given it. Called from any loop's thread.
class Logger {
 public:
  virtual ~Logger() = default;
  virtual void write(LogLevel level, std::string_view message) = 0;
};

/// Writes warnings and errors to stderr, one line each; the default.
Logger& stderr_logger();

}  // namespace weft
