// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/calls/pending_call.hpp"
#include "weft/detail/calls/stream_side.hpp"

namespace weft::detail {

/// A stream that this side opened: a call, and its side of the items. Whoever derives from it reads and
/// writes what they are.
///
/// Reading goes on with the items that arrived when the peer has ended the call, or the connection is gone;
/// when this side gives it up they are dropped. Thread: the target's loop.
class OpenedStream : public PendingCall {
 public:
  /// Changes the timeout of `details`: a stream has none but its own.
  OpenedStream(CallTarget& target, const MethodKey& method, CallDetails& details);

  /// Returns the items, as far as the call itself is now.
  StreamSide& side() noexcept;
  /// Gives the stream up, and the peer is told; `why` is not ok.
  void abandon(const Status& why) noexcept;
  void on_cancel(CancelReason reason) noexcept override;

  /// Sets who is scheduled when the call has ended; null: nobody.
  void set_end_waiter(Ready* waiter) noexcept { end_waiter_ = waiter; }
  const Ready* end_waiter() const noexcept { return end_waiter_; }
  /// Says why it failed; ok while it goes on, and when it ended well.
  const Status& status() const noexcept;

  using PendingCall::limit;

 protected:
  ~OpenedStream() = default;

  /// As PendingCall::begin(); once.
  Begun open(std::size_t body_bytes);
  /// The call waited for its connection, and its request is being written now. Whoever waits looks again
  /// then.
  void on_sent() noexcept;

 private:
  /// The call has found its connection, or has ended: both change what its items may do.
  struct News : Ready {
    explicit News(OpenedStream& its_stream) noexcept;
    OpenedStream& stream;
  };

  StreamSide* stream() noexcept final { return &side(); }
  void tell() noexcept;

  StreamSide side_;
  News sent_{*this};
  News ended_{*this};
  Ready* end_waiter_ = nullptr;
};

}  // namespace weft::detail
