// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::load {

/// The line on stderr that shows how far a measurement of more than two seconds is. Silent when stderr is
/// not a terminal.
class Progress {
 public:
  explicit Progress(double seconds);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `elapsed_seconds` is negative during the warm-up.
  void show(double elapsed_seconds, std::uint64_t calls, std::uint64_t errors);
  /// Takes the line away.
  void clear();

 private:
  double seconds_;
  bool enabled_;
  bool shown_ = false;
};

}  // namespace weft::load
