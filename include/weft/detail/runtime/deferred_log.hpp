// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/base/log.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

/// Lines of a log that are written from the loop, one by one: the logger may destroy the owner of this, which
/// has no function on the stack then. Lines that were not written are dropped with it. Thread: the loop's.
class DeferredLog final : private Ready {
 public:
  DeferredLog(Loop& loop, Logger& logger) noexcept : Ready(&write_first), loop_(loop), logger_(logger) {}

  /// Writes the text that `make_text` returns. Without memory for it a line less is written.
  template <typename MakeText>
  void write(LogLevel level, const MakeText& make_text) noexcept {
    try {
      lines_.push_back({level, make_text()});
    } catch (const std::bad_alloc&) {
      return;
    }
    if (!is_scheduled()) loop_.schedule(*this);
  }
  /// Drops the lines that were not written.
  void clear() noexcept {
    unlink();
    lines_.clear();
  }

 private:
  struct Line {
    LogLevel level;
    std::string text;
  };

  static void write_first(Ready* node) noexcept {
    auto& self = *static_cast<DeferredLog*>(node);
    Line line = std::move(self.lines_.front());
    self.lines_.erase(self.lines_.begin());
    if (!self.lines_.empty()) self.loop_.schedule(self);
    write_line(self.logger_, line.level, [&line] { return std::move(line.text); });
  }

  Loop& loop_;
  Logger& logger_;
  std::vector<Line> lines_;
};

}  // namespace weft::detail
