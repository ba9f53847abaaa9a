// SPDX-License-Identifier: Apache-2.0
// Levels of loggers.
#include "weft/detail/base/log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

class LeveledLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view message) override { lines.emplace_back(message); }
  LogLevel level() const noexcept override { return level_; }
  bool set_level(LogLevel level) noexcept override {
    level_ = level;
    return true;
  }

  std::vector<std::string> lines;

 private:
  LogLevel level_ = LogLevel::kInfo;
};

TEST(LogLevel, SavesTheTextOfMessagesBelowIt) {
  LeveledLogger logger;
  int made = 0;
  const auto text = [&made] {
    ++made;
    return std::string{"line"};
  };
  detail::write_line(logger, LogLevel::kDebug, text);
  EXPECT_EQ(made, 0);
  detail::write_line(logger, LogLevel::kInfo, text);
  logger.set_level(LogLevel::kDebug);
  detail::write_line(logger, LogLevel::kDebug, text);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(logger.lines.size(), 2u);
}

TEST(LogLevel, OfStderrIsSetWhileTheProgramRuns) {
  Logger& logger = stderr_logger();
  EXPECT_EQ(logger.level(), LogLevel::kWarning);
  const auto written = [&logger](LogLevel level) {
    ::testing::internal::CaptureStderr();
    logger.write(level, "text");
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(written(LogLevel::kInfo), "");
  EXPECT_EQ(written(LogLevel::kWarning), "weft warning: text\n");
  EXPECT_TRUE(logger.set_level(LogLevel::kDebug));
  EXPECT_EQ(written(LogLevel::kDebug), "weft debug: text\n");
  EXPECT_TRUE(logger.set_level(LogLevel::kError));
  EXPECT_EQ(written(LogLevel::kWarning), "");
  EXPECT_EQ(written(LogLevel::kError), "weft error: text\n");
  EXPECT_TRUE(logger.set_level(LogLevel::kWarning));
}

TEST(LogLevel, IsFixedForOtherLoggers) {
  struct PlainLogger final : Logger {
    void write(LogLevel, std::string_view) override {}
  } logger;
  EXPECT_EQ(logger.level(), LogLevel::kDebug);
  EXPECT_FALSE(logger.set_level(LogLevel::kError));
  EXPECT_EQ(logger.level(), LogLevel::kDebug);
}

}  // namespace
}  // namespace weft
