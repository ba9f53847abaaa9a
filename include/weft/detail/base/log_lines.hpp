// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/base/log.hpp"

namespace weft::detail {

/// Lines that are collected behind a lock, and written without it: a logger may call what holds the lock.
class LogLines {
 public:
  /// Keeps the text that `make_text` returns. Without memory for it a line less is written.
  template <typename MakeText>
  void add(LogLevel level, const MakeText& make_text) noexcept {
    try {
      lines_.push_back({level, make_text()});
    } catch (
        const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): a line of the log is nothing to fail for
    }
  }
  bool empty() const noexcept { return lines_.empty(); }
  /// Writes each line once. The logger may destroy this.
  void write_to(Logger& logger) noexcept {
    for (Line& line : std::exchange(lines_, {})) {
      write_line(logger, line.level, [&line] { return std::move(line.text); });
    }
  }

 private:
  struct Line {
    LogLevel level;
    std::string text;
  };

  std::vector<Line> lines_;
};

}  // namespace weft::detail
