// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/threads/arrived_items.hpp"
#include "weft/detail/calls/threads/exchange_state.hpp"
#include "weft/detail/calls/threads/put_items.hpp"

namespace weft::detail {

/// Items of one stream between its loop and threads that block for them: at most one reader and one writer at
/// a time. Independent of types: those threads encode and decode items, and the loop copies bytes.
///
///   kOpen --conclude()--> ended; items that have arrived are still read
///   kOpen --abandon()---> ended; items are dropped, and the loop is asked to end the stream
///
/// Each end wakes all waiting threads. Threads: those of the user; functions for the loop are marked.
class StreamExchange : public ExchangeState {
 public:
  ArrivedItems& arrived() noexcept { return arrived_; }
  PutItems& put() noexcept { return put_; }

  /// Ends the stream on this side at once; the loop notifies the peer. `why` must not be ok. Thread: any.
  void abandon(const Status& why) noexcept;
  /// The same because an item could not be read. After an end without a failure this still becomes the
  /// outcome, because not all arrived items were read. Thread: any.
  void fail_reading(const Status& why) noexcept;
  /// Blocks until the stream has ended, and returns its outcome.
  Status await_end() noexcept;
  bool has_ended() const noexcept;
  /// Returns true if the loop has nothing more to do with the stream.
  bool is_concluded() const noexcept;
  /// Returns the failure; ok while the stream goes on, and after it succeeded.
  Status failure() const noexcept;

  /// Requests of the threads since the last time.
  struct Asked {
    std::uint64_t taken = 0;
    bool discards = false;
    /// Failure with which the stream has to be ended; ok: it goes on.
    Status abandoned{};
  };
  Asked take_asked() noexcept;
  /// The stream is open. Thread: the loop's.
  void open(StreamTerms terms) noexcept;
  /// Ends both directions at once because of `why`; with `drops` items that have arrived are not read.
  /// Thread: the loop's.
  void fail(const Status& why, bool drops) noexcept;
  /// The stream has ended, with `outcome`. Thread: the loop's, or the one that destroys the loop.
  void conclude(const Status& outcome) noexcept;

 protected:
  StreamExchange() = default;
  ~StreamExchange() = default;

 private:
  void give_up(Lock& lock, const Status& why) noexcept final;
  /// Returns the items to be destroyed without the lock.
  [[nodiscard]] ItemBlocks close(const Status& why, bool drops) noexcept;

  ArrivedItems arrived_{*this};
  PutItems put_{*this};
  SleepingThread ender_;
  Status abandoned_;
  Status outcome_;
  bool concluded_ = false;
};

}  // namespace weft::detail
