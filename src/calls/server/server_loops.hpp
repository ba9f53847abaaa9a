// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "calls/server/loop_states.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/calls/server/server_options.hpp"
#include "weft/detail/runtime/loop_thread.hpp"
#include "weft/detail/runtime/post_surely.hpp"

namespace weft::detail {

/// Loops of a server, each with its own thread, or the user's single loop; and the objects that the user
/// wants on each of them. Thread: the server's owner's, except where stated.
class ServerLoops {
 public:
  ServerLoops() = default;
  ~ServerLoops() { WEFT_ASSERT(loops_.empty(), "the loops of a server are given up before they end"); }
  ServerLoops(const ServerLoops&) = delete;
  ServerLoops& operator=(const ServerLoops&) = delete;

  void add_state(std::unique_ptr<LoopStateKind> kind) { kinds_.push_back(std::move(kind)); }

  /// Starts the threads. stop() must be called even when this fails. Throws std::bad_alloc.
  Result<void> start(const ServerOptions& options);
  /// Makes the states, on one loop after the other; the same about failures.
  Result<void> make_states();
  /// Ends the states of one loop; `ended` is called once. Thread: that loop's.
  void end_states(std::size_t index, UniqueFunction<void()> ended) noexcept {
    loops_[index]->states.end(std::move(ended));
  }
  /// Ends the remaining states, and the threads. The loops stay, because objects on them are destroyed later.
  void stop();
  void clear() { loops_.clear(); }

  std::size_t size() const { return loops_.size(); }
  Loop& operator[](std::size_t index) const { return loops_[index]->loop; }
  /// This thread is one of theirs, in a turn.
  bool are_run_here() const {
    return std::ranges::any_of(loops_, [](const auto& one) { return Loop::current() == &one->loop; });
  }
  bool have_threads() const { return !loops_.empty() && loops_.front()->thread != nullptr; }

  /// Runs `work` on a loop's thread and waits for its end; where the loop is the user's, at once.
  template <typename Work>
  void run_on(std::size_t index, Work work) {
    if (loops_[index]->thread == nullptr) return work();
    run_until_done(index, [&work](const auto& done) {
      work();
      done();
    });
  }

 private:
  struct Member {
    Member(Loop& its, std::unique_ptr<LoopThread> own, const LoopStateKinds& kinds, Logger& logger)
        : thread(std::move(own)), loop(its), states(its, kinds, logger) {}
    std::unique_ptr<LoopThread> thread;
    Loop& loop;
    LoopStates states;
  };

  void add(Loop& loop, std::unique_ptr<LoopThread> thread, Logger& logger);
  /// Runs `begin(done)` in a turn of a loop and waits until `done()` was called, in a later turn perhaps. The
  /// user's loop is driven for it.
  template <typename Begin>
  void run_until_done(std::size_t index, Begin begin);

  LoopStateKinds kinds_;
  std::vector<std::unique_ptr<Member>> loops_;
};

template <typename Begin>
void ServerLoops::run_until_done(std::size_t index, Begin begin) {
  const Member& member = *loops_[index];
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  const auto finish = [&] {
    const std::lock_guard lock(mutex);
    finished = true;
    done.notify_one();
  };
  const auto begin_here = [&] { begin(finish); };
  post_surely(member.loop, [&begin_here] { begin_here(); });
  if (member.thread == nullptr) {
    // NOLINTNEXTLINE(bugprone-infinite-loop): finish() ends it, from a turn of the loop
    while (!finished) member.loop.run_once(std::chrono::milliseconds{10});
  }
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return finished; });
}

}  // namespace weft::detail
