// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace weft::load {

/// The line on stderr that shows how far a measurement of more than two seconds is. A thread of its own
/// writes it, on any processor, so that a slow terminal holds up nothing that is measured. Silent when stderr
/// is no terminal.
class Progress {
 public:
  explicit Progress(double seconds);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Three stores. `elapsed_ns` is negative during the warm-up.
  void note(std::int64_t elapsed_ns, std::uint64_t calls, std::uint64_t errors) {
    elapsed_ns_.store(elapsed_ns, std::memory_order_relaxed);
    calls_.store(calls, std::memory_order_relaxed);
    errors_.store(errors, std::memory_order_relaxed);
  }
  /// Takes the line away.
  void clear();

 private:
  void run();
  void show() const;

  const double seconds_;
  std::atomic<std::int64_t> elapsed_ns_{-1};
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> errors_{0};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::thread writer_;
};

}  // namespace weft::load
