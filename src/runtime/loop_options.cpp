// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/loop_options.hpp"

namespace weft {

std::string_view to_string(WaitMode mode) {
  switch (mode) {
    case WaitMode::kBusy:
      return "busy";
    case WaitMode::kAdaptive:
      return "adaptive";
    case WaitMode::kWait:
      return "wait";
  }
  return "unknown";
}

std::string_view to_string(PollerKind kind) {
  switch (kind) {
    case PollerKind::kAuto:
      return "auto";
    case PollerKind::kEpoll:
      return "epoll";
    case PollerKind::kIoUring:
      return "io_uring";
  }
  return "unknown";
}

}  // namespace weft
