// SPDX-License-Identifier: Apache-2.0
#include "load/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace weft::load {

Progress::Progress(double seconds) : seconds_(seconds), enabled_(seconds > 2 && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  clear();
}

void Progress::show(double elapsed_seconds, std::uint64_t calls, std::uint64_t errors) {
  if (!enabled_) return;
  shown_ = true;
  if (elapsed_seconds < 0) {
    std::fprintf(stderr, "\r\033[Kwarming up, %.1f s left", -elapsed_seconds);
  } else {
    const double rate = elapsed_seconds > 0 ? static_cast<double>(calls) / elapsed_seconds : 0;
    std::fprintf(stderr, "\r\033[Kmeasuring: %.1f of %.1f s, %.0f calls/s, %llu errors",
                 std::min(elapsed_seconds, seconds_), seconds_, rate,
                 static_cast<unsigned long long>(errors));
  }
  std::fflush(stderr);
}

void Progress::clear() {
  if (!shown_) return;
  shown_ = false;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace weft::load
