// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/log.hpp"

#include <atomic>
#include <cstdio>

namespace weft {

namespace {

class StderrLogger final : public Logger {
 public:
  void write(LogLevel level, std::string_view message) override {
    if (level < this->level()) return;
    const std::string_view name = to_string(level);
    std::fprintf(stderr, "weft %.*s: %.*s\n", static_cast<int>(name.size()), name.data(),
                 static_cast<int>(message.size()), message.data());
  }
  LogLevel level() const noexcept override { return level_.load(std::memory_order_relaxed); }
  bool set_level(LogLevel level) noexcept override {
    level_.store(level, std::memory_order_relaxed);
    return true;
  }

 private:
  std::atomic<LogLevel> level_ = LogLevel::kWarning;
};

}  // namespace

Logger& stderr_logger() {
  static StderrLogger logger;
  return logger;
}

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "";
}

void detail::write_line(Logger& logger, LogLevel level, const TextMaker& make_text) noexcept {
  if (level < logger.level()) return;
  try {
    logger.write(level, make_text());
  } catch (...) {  // NOLINT(bugprone-empty-catch): a line of the log is nothing that a call fails for
  }
}

}  // namespace weft
