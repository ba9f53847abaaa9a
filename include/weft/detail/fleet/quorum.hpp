// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/coro/with_scope.hpp"

namespace weft::detail {

/// Outcomes of the called servers, in the order in which they were given.
template <typename T>
struct Quorum {
  bool reached = false;
  std::vector<Result<T>> results;
};

/// The failure of a call that wants more good answers than there are servers to give them.
Status quorum_too_large(std::size_t wanted, std::size_t servers);
/// The failure of a call that wants no answer at all.
Status quorum_of_none();
/// The failure of a call of several servers with an option that serves one answer at a time.
Status shared_by_answers(std::string_view option);
/// The failure of a call with `good` good answers of `servers` and `bad` failures, `first` the first of them;
/// the others were cancelled then, since the call could not succeed any more.
Status quorum_not_reached(std::size_t good, std::size_t bad, std::size_t servers, std::size_t wanted,
                          const Status& first);

/// State that voters share; lives in the frame of when_quorum().
struct Vote {
  void count(bool succeeded) noexcept {
    (succeeded ? good : bad) += 1;
    if (good >= wanted || bad > all - wanted) losers.cancel(CancelReason::kRequested);
  }

  CancelScope losers;
  std::size_t all;
  std::size_t wanted;
  std::size_t good = 0;
  std::size_t bad = 0;
};

template <typename T>
Task<Result<T>> cast_vote(Vote& vote, Task<Result<T>> asked) {
  Result<T> result = co_await std::move(asked);
  vote.count(result.ok());
  co_return result;
}

/// Runs all tasks at once until `wanted` of them have succeeded, or until too many have failed for that;
/// cancels the others with kRequested, and waits until they have ended too. Fails if `wanted` exceeds the
/// number of tasks. Rethrows a task's exception after all have ended. Cancel: that of the tasks.
template <typename T>
Task<Quorum<T>> when_quorum(std::size_t wanted, std::vector<Task<Result<T>>> tasks) {
  CancelScope* outer = co_await this_cancel_scope();
  if (wanted > tasks.size()) {
    const Status failure{StatusCode::kInvalidArgument, Layer::kRuntime,
                         "a quorum is more than there are to ask"};
    co_return Quorum<T>{false, std::vector<Result<T>>(tasks.size(), Result<T>{failure})};
  }
  Vote vote{CancelScope{outer}, tasks.size(), wanted};
  std::vector<Task<Result<T>>> voters;
  voters.reserve(tasks.size());
  for (Task<Result<T>>& task : tasks) {
    voters.push_back(with_scope(vote.losers, cast_vote(vote, std::move(task))));
  }
  if (wanted == 0) vote.losers.cancel(CancelReason::kRequested);
  Quorum<T> quorum;
  if (!voters.empty()) {
    Task<std::vector<Result<T>>> all = when_all(std::move(voters));
    quorum.results = co_await std::move(all);
  }
  quorum.reached = vote.good >= wanted;
  co_return quorum;
}

}  // namespace weft::detail
