// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "weft/detail/calls/call/pending_call.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/calls/stream/stream_wait.hpp"

namespace weft::detail {

/// Options of a call for as long as they are needed. A base class, so that it outlives the call.
struct OwnedDetails {
  std::unique_ptr<CallDetails> details;
};

/// Notifies an opened stream that its call has found its connection. A base class, so that it needs no
/// reference to the stream.
struct CallSentNews : Ready {
  CallSentNews() noexcept;
};
/// Notifies an opened stream that its call has ended.
struct CallEndedNews : Ready {
  CallEndedNews() noexcept;
};

/// A stream that this side opened: a call, and its side of the items. Derived classes encode and decode the
/// items.
///
/// After the peer has ended the call, or the connection is gone, items that have arrived can still be read;
/// when this side abandons the stream they are dropped. Thread: the target's loop.
class OpenedStream : OwnedDetails, public PendingCall, CallSentNews, CallEndedNews {
 public:
  /// `details` belong to the call's options. Most are freed once the stream is open, to keep it small.
  OpenedStream(CallTarget& target, const MethodKey& method, std::unique_ptr<CallDetails> details);
  /// Fails for options that a stream cannot have.
  static Status check_options(const CallOptions& options) noexcept;

  /// Returns the items, after an update to the current state of the call.
  StreamSide& side() noexcept {
    if (done() || !side_.place().is_open()) [[unlikely]] {
      open_or_close();
    }
    return side_;
  }
  /// Ends the stream because of a failure on this side, `why`, and cancels the call. After the call's end the
  /// failure still becomes the status(), because not all arrived items were read.
  void abandon(const Status& why) noexcept;
  void on_cancel(CancelReason reason) noexcept override;

  /// Sets the node to schedule when the call has ended; may be null.
  void set_end_waiter(Ready* waiter) noexcept { end_waiter_ = waiter; }
  const Ready* end_waiter() const noexcept { return end_waiter_; }
  /// Returns the coroutines that wait on this stream. The destructor of the stream resumes them.
  StreamWaits& waits() noexcept { return waits_; }
  /// Returns the failure; ok while the call goes on, and after it succeeded.
  const Status& status() const noexcept;

  using PendingCall::limit;

 protected:
  ~OpenedStream();

  /// Does as PendingCall::begin(); once. Call opened() after the body has been written.
  Begun open(std::size_t body_bytes);
  void opened(const Begun& begun) noexcept;
  /// The call waited for its connection, and its request is being written now: wakes the waiting reader or
  /// writer to look again.
  void on_sent() noexcept;

 private:
  friend CallSentNews;
  friend CallEndedNews;

  StreamSide* stream() noexcept final { return &side(); }
  // The items end with the call at once, because the connection may be gone when someone looks at them later.
  // A call with details closes them in on_end(), and the stream may be destroyed afterwards.
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
  /// Opens or closes the items, according to the state of the call.
  void open_or_close() noexcept;
  void tell() noexcept;
  /// Frees the options of a call that is under way.
  void shrink() noexcept;

  StreamSide side_;
  Ready* end_waiter_ = nullptr;
  StreamWaits waits_;
};

}  // namespace weft::detail
