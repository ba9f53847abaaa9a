// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/log.hpp"

#include <cstdio>

namespace weft {

namespace {

class StderrLogger final : public Logger {
 public:
  void write(LogLevel level, std::string_view message) override {
    if (level < LogLevel::kWarning) return;
    const char* name = level == LogLevel::kError ? "error" : "warning";
    std::fprintf(stderr, "weft %s: %.*s\n", name, static_cast<int>(message.size()), message.data());
  }
};

}  // namespace

Logger& stderr_logger() {
  static StderrLogger logger;
  return logger;
}

void detail::write_line(Logger& logger, LogLevel level, const TextMaker& make_text) noexcept {
  try {
    logger.write(level, make_text());
  } catch (...) {  // NOLINT(bugprone-empty-catch): a line of the log is nothing that a call fails for
  }
}

}  // namespace weft
