// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/log.hpp"

#include <ucs/debug/log_def.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>

namespace weft::ucx {

namespace {

constexpr std::size_t kTextMax = 1024;

std::atomic<Logger*> logger_of_process{nullptr};

LogLevel level_of(ucs_log_level_t level) {
  if (level <= UCS_LOG_LEVEL_ERROR) return LogLevel::kError;
  if (level == UCS_LOG_LEVEL_WARN) return LogLevel::kWarning;
  return level <= UCS_LOG_LEVEL_INFO ? LogLevel::kInfo : LogLevel::kDebug;
}

ucs_log_func_rc_t hand_over(const char* /*file*/, unsigned /*line*/, const char* /*function*/,
                            ucs_log_level_t level, const ucs_log_component_config_t* /*component*/,
                            const char* format, va_list arguments) {
  Logger* const logger = logger_of_process.load(std::memory_order_acquire);
  if (logger == nullptr) return UCS_LOG_FUNC_RC_CONTINUE;
  std::array<char, kTextMax> text{"ucx: "};
  constexpr std::size_t kPrefix = 5;
  va_list copy;
  va_copy(copy, arguments);
  static_cast<void>(std::vsnprintf(text.data() + kPrefix, text.size() - kPrefix, format, copy));
  va_end(copy);
  logger->write(level_of(level), text.data());
  return UCS_LOG_FUNC_RC_STOP;
}

}  // namespace

// UCX's list of handlers may not shrink while another thread goes through it: ours stays in it.
void log_to(Logger* logger) {
  static std::once_flag once;
  logger_of_process.store(logger, std::memory_order_release);
  if (logger != nullptr) std::call_once(once, [] { ucs_log_push_handler(&hand_over); });
}

}  // namespace weft::ucx
