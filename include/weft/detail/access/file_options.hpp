// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "weft/detail/base/log.hpp"
#include "weft/detail/base/time.hpp"

namespace weft {

/// Says how a file of rules or tokens is kept up to date.
struct AccessFileOptions {
  /// The first call that comes so long after the last look has the file looked at (one stat), and read when
  /// it is another: put it on a disk of this machine. Above zero.
  Duration look_interval = std::chrono::seconds{1};
  /// Receives a message when a file was read again, and the reason when one was refused; null:
  /// stderr_logger(). Outlives every object created with it.
  Logger* logger = nullptr;
};

}  // namespace weft
