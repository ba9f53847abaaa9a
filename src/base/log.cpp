// SPDX-License-Identifier: Apache-2.0
#include "weft/base/log.hpp"

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

}  // namespace weft
