// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <utility>

#include "weft/detail/calls/stream/item_access.hpp"
#include "weft/detail/calls/stream/opened_stream.hpp"
#include "weft/detail/coro/awaited_first.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft::detail {

/// Returns the failure of a stream with a result that was already taken.
inline Status result_was_given() noexcept {
  static constexpr FixedFailure kGiven{
      StatusCode::kFailedPrecondition, Layer::kRpc, Retry::kNever,
      "finish() has given the result of this stream before, and gives it once"};
  return Status::of<kGiven>();
}

/// Returns the outcome of a wait for the end of a stream that was destroyed meanwhile.
inline Status stream_was_destroyed() noexcept {
  static constexpr FixedFailure kDestroyed{StatusCode::kCancelled, Layer::kRpc, Retry::kNever,
                                           "the stream was destroyed while a coroutine waited for its end"};
  return Status::of<kDestroyed>();
}

/// Awaited for the end of a stream that this side opened; returns take_result() of its `Record`, which is an
/// OpenedStream. Unread items are dropped.
template <typename Record>
class [[nodiscard]] FinishStream final
    : CancelListener,
      public AwaitedBefore<decltype(std::declval<Record&>().take_result())> {
 public:
  explicit FinishStream(Record& stream) noexcept : stream_(stream) {}
  ~FinishStream() {
    if (!waits_ || wait_.has_lost_stream()) return;
    stream_.waits().remove(wait_);
    if (stream_.end_waiter() == &resumption_) stream_.set_end_waiter(nullptr);
  }
  FinishStream(const FinishStream&) = delete;
  FinishStream& operator=(const FinishStream&) = delete;

  bool await_ready() noexcept {
    StreamSide& side = stream_.side();
    side.end_writing();
    side.took(side.incoming().discard());
    // The failure is on this side only: notify the peer, which would otherwise wait for credit.
    if (const Status& why = side.failure(); !why.ok()) stream_.abandon(Status{why});
    return stream_.done() && may_go_on();
  }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    resumption_.handle = coroutine;
    if (stream_.done()) {  // gives way
      Executor::current()->schedule(resumption_);
    } else if (!listen_to_scope(coroutine, *this, OpenedItems{stream_})) {
      if (!gives_way(resumption_)) return false;
    } else {
      stream_.set_end_waiter(&resumption_);
    }
    stream_.waits().add(wait_, resumption_);
    waits_ = true;
    return true;
  }
  auto await_resume() {
    stop_listening();
    using Outcome = decltype(stream_.take_result());
    if (std::exchange(waits_, false)) {
      if (wait_.has_lost_stream()) return Outcome{stream_was_destroyed()};
      stream_.waits().remove(wait_);
    }
    return stream_.take_result();
  }

 private:
  void on_cancel(CancelReason reason) noexcept override {
    if (!wait_.has_lost_stream()) stream_.on_cancel(reason);
  }

  Record& stream_;
  Resumption resumption_;
  StreamWait wait_;
  bool waits_ = false;
};

}  // namespace weft::detail
