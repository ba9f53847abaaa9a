// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/log.hpp"

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>

#include "ucx/internals.hpp"
#include "weft/detail/ucx/library.hpp"

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
  weft::detail::write_line(*logger, level_of(level), [&] { return std::string{text.data()}; });
  return UCS_LOG_FUNC_RC_STOP;
}

}  // namespace

void detail::listen_to_log() {
  static std::once_flag once;
  if (!is_loaded() || logger_of_process.load() == nullptr) return;
  std::call_once(once, [] { internals.ucs_log_push_handler(&hand_over); });
}

// UCX's list of handlers may not shrink while another thread goes through it: ours stays in it.
void log_to(Logger* logger) {
  logger_of_process.store(logger);
  detail::listen_to_log();
}

}  // namespace weft::ucx
