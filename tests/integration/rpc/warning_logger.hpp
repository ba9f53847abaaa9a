// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/detail/base/log.hpp"

namespace weft::testing {

/// Keeps warnings, and calls a hook for each. Any thread.
class WarningLogger final : public Logger {
 public:
  void write(LogLevel level, std::string_view message) override {
    if (level < LogLevel::kWarning) return;
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(message);
    if (on_line) on_line(message);
  }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  std::vector<std::string> take_lines() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }
  std::function<void(std::string_view)> on_line;

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace weft::testing
