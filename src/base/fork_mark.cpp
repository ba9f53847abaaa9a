// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/fork_mark.hpp"

#include <pthread.h>

namespace weft::detail {

// The one thing that belongs to the process itself and to no object in it.
std::uint32_t forks_behind = 0;

ForkMark::ForkMark() noexcept {
  [[maybe_unused]] static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { ++detail::forks_behind; });
  made_behind_ = detail::forks_behind;
}

}  // namespace weft::detail
