// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/on_worker.hpp"

namespace weft::detail {

/// Parses answers that are too long for a turn of the loop on a thread of its own, which is started for the
/// first of them; shorter ones are parsed in place. Thread: the loop's. Its destructor waits for a parse
/// under way.
class LongAnswers {
 public:
  /// Length of an answer of about two thousand servers, which is read in a millisecond.
  static constexpr std::size_t kInTurnBytesMax = 65536;

  static bool is_long(std::size_t bytes) noexcept { return bytes > kInTurnBytesMax; }

  /// Calls `reader(arguments...)` for an answer of about this size, and returns its result. `reader` throws
  /// only std::bad_alloc, as this does. Errors: those of on_worker().
  template <typename F, typename... Args>
  Task<Result<std::invoke_result_t<F&, Args...>>> read(std::size_t bytes, F reader, Args... arguments) {
    using R = std::invoke_result_t<F&, Args...>;
    if (!is_long(bytes) || !has_thread()) co_return Result<R>{std::invoke(reader, std::move(arguments)...)};
    WorkerCall<R> reading = on_worker(*thread_, reader, std::move(arguments)...);
    Result<R> outcome = co_await reading;
    co_return outcome;
  }

 private:
  /// A system that gives no thread leaves the work to the loop: late names are better than none.
  bool has_thread();

  std::unique_ptr<WorkerPool> thread_;
};

}  // namespace weft::detail
