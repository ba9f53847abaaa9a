// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "weft/detail/calls/pending_call.hpp"
#include "weft/detail/calls/stream_side.hpp"

namespace weft::detail {

/// Options of a call for as long as they are needed; a base class, which outlives the call.
struct OwnedDetails {
  std::unique_ptr<CallDetails> details;
};

/// A stream that this side opened: a call, and its side of the items. Whoever derives from it reads and
/// writes what they are.
///
/// Reading goes on with the items that arrived when the peer has ended the call, or the connection is gone;
/// when this side gives it up they are dropped. Thread: the target's loop.
class OpenedStream : OwnedDetails, public PendingCall {
 public:
  /// `details` are those of its options. Once it is under way they are mostly gone: an open stream is small.
  OpenedStream(CallTarget& target, const MethodKey& method, std::unique_ptr<CallDetails> details);
  /// Fails for options that a stream cannot have.
  static Status check_options(const CallOptions& options) noexcept;

  /// Returns the items, as far as the call itself is now.
  StreamSide& side() noexcept {
    if (done() || !side_.place().is_open()) [[unlikely]] {
      open_or_close();
    }
    return side_;
  }
  /// Ends the stream because of a failure on this side, `why`, and cancels the call. After the call's end the
  /// failure still becomes the status(): items that arrived before were not all read.
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

  /// Does as PendingCall::begin(); once. When the body has been written, opened() follows.
  Begun open(std::size_t body_bytes);
  void opened(const Begun& begun) noexcept;
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
  // The items end with the call, at once: the connection may be gone when somebody looks. With details it is
  // on_end() that closes them, and the stream may be gone afterwards.
  void on_answer(const Frame& frame) final {
    const bool may_be_gone = has_details();
    PendingCall::on_answer(frame);
    if (!may_be_gone) open_or_close();
  }
  void on_answer_attachment_end(const Frame& frame, bool landed) final {
    const bool may_be_gone = has_details();
    PendingCall::on_answer_attachment_end(frame, landed);
    if (!may_be_gone) open_or_close();
  }
  void on_lost(const Status& failure, bool stands) final {
    const bool may_be_gone = has_details();
    PendingCall::on_lost(failure, stands);
    if (!may_be_gone) open_or_close();
  }
  void on_end() noexcept final { open_or_close(); }
  /// Opens or closes the items, as the call is.
  void open_or_close() noexcept;
  void tell() noexcept;
  /// Forgets the options of a call that is under way.
  void shrink() noexcept;

  StreamSide side_;
  News sent_{*this};
  News ended_{*this};
  Ready* end_waiter_ = nullptr;
};

}  // namespace weft::detail
