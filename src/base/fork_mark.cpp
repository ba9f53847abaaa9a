// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/fork_mark.hpp"

#include <pthread.h>

#include <atomic>

namespace weft::detail {

// The one thing that belongs to the process itself and to no object in it.
std::uint32_t forks_behind = 0;

ForkMark::ForkMark() noexcept {
  // Without memory for it a later mark tries again. Two threads that both do it count a fork twice, which is
  // a fork all the same.
  static constinit std::atomic<bool> registered = false;
  if (!registered.load(std::memory_order_relaxed)) {
    registered = ::pthread_atfork(nullptr, nullptr, [] { ++detail::forks_behind; }) == 0;
  }
  made_behind_ = detail::forks_behind;
}

}  // namespace weft::detail
