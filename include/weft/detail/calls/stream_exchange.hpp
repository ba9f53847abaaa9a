// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/arrived_items.hpp"
#include "weft/detail/calls/exchange_state.hpp"
#include "weft/detail/calls/put_items.hpp"

namespace weft::detail {

/// Items of one stream between its loop and threads that block for them: one that reads and one that writes
/// at a time. Knows no types; items are encoded and decoded on those threads, and the loop copies bytes.
///
///   kOpen --conclude()--> ended, what has arrived is read still
///   kOpen --abandon()---> ended, what is here is dropped, and the loop is asked to end the stream
///
/// Whatever ends it wakes whoever waits. Threads: those of the user; those of the loop's functions say so.
class StreamExchange : public ExchangeState {
 public:
  ArrivedItems& arrived() noexcept { return arrived_; }
  PutItems& put() noexcept { return put_; }

  /// Ends the stream on this side at once, and the loop tells the peer; `why` is not ok. Thread: any.
  void abandon(const Status& why) noexcept;
  /// The same because an item could not be read. After an end without a failure the failure still becomes the
  /// outcome: items that arrived before were not all read. Thread: any.
  void fail_reading(const Status& why) noexcept;
  /// Blocks until the stream has ended, and says how.
  Status await_end() noexcept;
  bool has_ended() const noexcept;
  /// Says why it failed; ok while it goes on, and when it ended well.
  Status failure() const noexcept;

  /// Wishes of the threads since the last time.
  struct Asked {
    std::uint64_t taken = 0;
    bool discards = false;
    /// Not ok: the stream is to be ended.
    Status abandoned{};
  };
  Asked take_asked() noexcept;
  /// The stream is open. Thread: the loop's.
  void open(StreamTerms terms) noexcept;
  /// Nothing arrives or is sent any more because of `why`, in both directions at once; what has arrived is
  /// not read if it `drops` that. Thread: the loop's.
  void fail(const Status& why, bool drops) noexcept;
  /// The stream has ended, with `outcome`. Thread: the loop's, or the one that ends the loop.
  void conclude(const Status& outcome) noexcept;

 protected:
  StreamExchange() = default;
  ~StreamExchange() = default;

 private:
  void give_up(Lock& lock, const Status& why) noexcept final;
  /// Returns what is to be dropped without the lock.
  [[nodiscard]] ItemBlocks close(const Status& why, bool drops) noexcept;

  ArrivedItems arrived_{*this};
  PutItems put_{*this};
  SleepingThread ender_;
  Status abandoned_;
  Status outcome_;
  bool concluded_ = false;
};

}  // namespace weft::detail
