// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace weft::bench {

/// Measures a run, and what each of its last operations took. A tick costs what ucx_perftest pays too: one
/// look at the processor's counter.
class Stopwatch {
 public:
  void begin() {
    operations_ = 0;
    began_ = std::chrono::steady_clock::now();
    began_counter_ = last_ = counter();
  }
  void tick() {
    const std::uint64_t now = counter();
    samples_[operations_++ % samples_.size()] = now - last_;
    last_ = now;
  }
  void end() {
    counted_ = counter() - began_counter_;
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

  std::uint64_t operations() const { return operations_; }
  double seconds() const { return seconds_; }
  /// The median of the last operations, in microseconds.
  double median_us() {
    const std::size_t count = std::min<std::size_t>(operations_, samples_.size());
    if (count == 0 || counted_ == 0) return 0;
    const auto middle = samples_.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(samples_.begin(), middle, samples_.begin() + static_cast<std::ptrdiff_t>(count));
    return static_cast<double>(*middle) * seconds_ * 1e6 / static_cast<double>(counted_);
  }

 private:
  static std::uint64_t counter() {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }

  std::array<std::uint64_t, 2048> samples_{};
  std::uint64_t operations_ = 0;
  std::uint64_t began_counter_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t counted_ = 0;
  std::chrono::steady_clock::time_point began_;
  double seconds_ = 0;
};

}  // namespace weft::bench
