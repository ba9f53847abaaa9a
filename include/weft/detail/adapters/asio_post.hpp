// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <asio/post.hpp>
#include <new>
#include <thread>

namespace weft::detail {

/// Makes `executor` call `function`. When memory is exhausted it waits and tries again. Thread: any.
template <typename Executor, typename Function>
void post_surely(const Executor& executor, const Function& function) noexcept {
  while (true) {
    try {
      asio::post(executor, Function{function});
      return;
    } catch (const std::bad_alloc&) {
      std::this_thread::yield();
    }
  }
}

}  // namespace weft::detail
