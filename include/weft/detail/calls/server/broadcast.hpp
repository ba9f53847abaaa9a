// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/server/broadcast_options.hpp"
#include "weft/detail/calls/server/peer_board.hpp"
#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

class Mailbox;
class MemoryBudget;

template <typename... Given>
inline constexpr bool broadcast_options_first = false;
template <typename First, typename... Others>
inline constexpr bool broadcast_options_first<First, Others...> =
    std::is_same_v<std::remove_cvref_t<First>, BroadcastOptions>;

/// One call to all peers of a server. Its body is encoded once, and read by all loops; each adds the outcome
/// of its peers, and the last one resumes the waiting coroutine. Shared by all of them. Thread: any, except
/// where stated.
class Broadcast final : public std::enable_shared_from_this<Broadcast> {
 public:
  Broadcast(const MethodKey& method, const BroadcastOptions& options, std::vector<std::byte> body);

  ~Broadcast();

  const MethodKey& method() const noexcept { return method_; }
  const BroadcastOptions& options() const noexcept { return options_; }
  const std::vector<std::byte>& body() const noexcept { return body_; }

  /// The share of one loop, which records the outcome of its peers before it ends; ended with it.
  class Share {
   public:
    explicit Share(std::shared_ptr<Broadcast> its) noexcept : whole(std::move(its)) { ++whole->left_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { whole->add(outcome); }
    const std::shared_ptr<Broadcast> whole;
    BroadcastOutcome outcome;
  };

  /// Begins on all loops of `board`; `waiter` is scheduled on `home`, whose turn this is, when all have
  /// ended, unless forget_waiter() came first. The earlier of deadline and timeout counts. The body is
  /// charged to the server's memory, once for all peers. Fails without room for it, and throws
  /// std::bad_alloc, without scheduling.
  Status begin(const PeerBoard& board, Loop& home, Ready& waiter, Deadline deadline);
  /// Thread: home's.
  void forget_waiter() noexcept { waiter_ = nullptr; }
  const BroadcastOutcome& outcome() const noexcept { return outcome_; }

 private:
  class Return;

  void add(const BroadcastOutcome& of_loop) noexcept;

  const MethodKey method_;
  std::string tag_;
  BroadcastOptions options_;  // its tag is tag_
  const std::vector<std::byte> body_;
  /// Charged with the body; null before begin().
  std::shared_ptr<MemoryBudget> memory_;
  std::mutex mutex_;
  BroadcastOutcome outcome_;
  std::atomic<std::size_t> left_ = 0;
  std::shared_ptr<Mailbox> home_mailbox_;
  Loop* home_ = nullptr;
  Ready* waiter_ = nullptr;
  std::unique_ptr<Return> return_;
};

/// Awaits a broadcast, once, within a turn of any loop. Cancel: at once; sent calls go on until their
/// timeout.
class [[nodiscard("a broadcast is made when it is awaited")]] BroadcastAwaiter final : CancelListener {
 public:
  /// `broadcast` is null when it could not be made, for the reason of `failure`.
  BroadcastAwaiter(std::shared_ptr<PeerBoard> board, std::shared_ptr<Broadcast> broadcast,
                   Status failure) noexcept
      : board_(std::move(board)), broadcast_(std::move(broadcast)), failure_(std::move(failure)) {}
  /// Moves only before it is awaited.
  BroadcastAwaiter(BroadcastAwaiter&& other) noexcept
      : board_(std::move(other.board_)),
        broadcast_(std::move(other.broadcast_)),
        failure_(std::move(other.failure_)) {}
  BroadcastAwaiter& operator=(BroadcastAwaiter&&) = delete;
  ~BroadcastAwaiter() {
    if (broadcast_ != nullptr) broadcast_->forget_waiter();
  }

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    resumption_.handle = coroutine;
    return (broadcast_ != nullptr && begin(cancel_scope_of(coroutine))) || gives_way(resumption_, coroutine);
  }
  Result<BroadcastOutcome> await_resume() {
    if (!failure_.ok()) return std::move(failure_);
    return broadcast_->outcome();
  }

 private:
  bool begin(CancelScope* scope) noexcept;
  void on_cancel(CancelReason reason) noexcept override;

  std::shared_ptr<PeerBoard> board_;
  std::shared_ptr<Broadcast> broadcast_;
  Status failure_;
  Loop* home_ = nullptr;
  Resumption resumption_;
};

}  // namespace weft::detail
