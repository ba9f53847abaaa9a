// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>

#include "weft/base/intrusive_list.hpp"
#include "weft/base/status.hpp"
#include "weft/calls/call_options.hpp"
#include "weft/calls/method_key.hpp"
#include "weft/coro/cancel.hpp"
#include "weft/coro/executor.hpp"
#include "weft/memory/buffer.hpp"
#include "weft/runtime/timer.hpp"
#include "weft/transport/outbox.hpp"

namespace weft {

class ClientCore;
class CallsOut;
struct WaitingCallTag;

/// State of a call that was given options: kept apart, so that the others need not carry it.
struct CallExtras {
  explicit CallExtras(const CallOptions& its, bool gives) : options(its), gives_attachment(gives) {}

  /// The pieces of the attachment while the connection reads from them.
  struct AttachmentLease final : SendLease {
    void on_released(bool) noexcept override { --pieces; }
    std::uint32_t pieces = 0;
  };

  CallOptions options;
  /// True if the awaiting side can be given the answer's attachment.
  bool gives_attachment;
  /// The answer's attachment: in the caller's buffer if one was named, else in this.
  std::size_t answer_attachment_bytes = 0;
  Buffer answer_attachment;
  AttachmentLease lease;
};

/// One call as the client's machinery sees it, whoever waits for it: the part that knows no types.
///
///   kIdle ----begin()----> kSent ------answer, failure, cancel, deadline----> kDone
///     |                      ^                                                  ^
///     +--no connection yet--> kWaiting (in the client's queue) --failure...-----+
///
/// kSent: owns a slot of `out_`, and the peer's answer finds it there. Only then leases may be out.
/// kDone: nobody but the owner knows it any more; `failure_` and the answer are final.
/// Destroying it in any state ends the call: the slot is given up, the peer is told, leased bytes that are
/// still unsent are copied. Thread: the client's loop. Moves in kIdle only.
class PendingCall : public ListHook<WaitingCallTag>, private CancelListener, private Timer {
 public:
  /// `extras` may be null; they are the owner's and outlive the call. An answer's attachment is dropped
  /// without them.
  PendingCall(ClientCore& client, const MethodKey& method, CallExtras* extras)
      : client_(&client), method_(&method), extras_(extras) {}
  /// Only before begin().
  PendingCall(PendingCall&& other, CallExtras* extras) noexcept
      : client_(other.client_), method_(other.method_), extras_(extras) {
    WEFT_ASSERT(other.state_ == State::kIdle, "a call that was begun does not move");
  }
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;

  bool done() const { return state_ == State::kDone; }

  /// Asks for an early end, as a cancelled scope does.
  void cancel(CancelReason reason) { on_cancel(reason); }

  /// Sets the node that is scheduled when the call is done, a coroutine's Resumption or another; at most
  /// one, which may change or be taken back until then.
  void set_waiter(Ready* waiter) { waiter_ = waiter; }
  bool has_waiter() const { return waiter_ != nullptr; }
  bool is_waiter(const Ready& waiter) const { return waiter_ == &waiter; }

 protected:
  ~PendingCall() {
    if (state_ != State::kDone) abandon();
  }

  /// Begins the call under `scope` (may be null). Answers where the body is to be encoded, after which, and
  /// at once, sent() is called if needs_sent(); or null: then the call waits and encode_body() will be asked
  /// for, or it is done already.
  std::byte* begin(CancelScope* scope, std::size_t body_bytes);
  bool needs_sent() const { return needs_sent_; }
  void sent();

  /// For calls that had to wait: what begin() was given, and the body itself.
  virtual std::size_t body_bytes() const = 0;
  virtual void encode_body(std::byte* to) const = 0;
  /// In place of sent(), from within a catch: what was thrown while `body` was encoded becomes the failure,
  /// and nothing is sent. Nobody who waits is told.
  void take_back(const std::byte* body) noexcept;
  /// Takes the answer's body, which is only valid now. Sets `failure`, which becomes the call's, if that
  /// fails.
  virtual void decode_answer(Bytes body, Status& failure) noexcept = 0;

  /// Brings the deadline forward; the call may be done afterwards.
  void limit(Deadline deadline);

  /// Ends the call in place of begin(), because there is nothing that could be sent.
  void refuse(Status failure) {
    failure_ = std::move(failure);
    state_ = State::kDone;
  }

  Status take_failure() { return std::move(failure_); }

 private:
  friend class ClientCore;
  friend class CallsOut;

  enum class State : std::uint8_t { kIdle, kWaiting, kSent, kDone };

  /// Its own, or what its scope carries.
  Bytes metadata() const {
    if (extras_ != nullptr && extras_->options.metadata.is_given()) return extras_->options.metadata.bytes();
    return carrying_ != nullptr ? carrying_->carried() : Bytes{};
  }

  void on_cancel(CancelReason reason) noexcept override;
  void on_timer() override;
  Deadline earliest_deadline(const CancelScope* scope) const;
  std::byte* end_before_begin(CancelReason reason);
  void finish(Status failure) noexcept;
  void end() noexcept;
  void abandon() noexcept;
  void leave() noexcept;

  ClientCore* client_;
  CallsOut* out_ = nullptr;
  const MethodKey* method_;
  CallExtras* extras_;
  Ready* waiter_ = nullptr;
  /// The scope that it was begun under, if that carries anything.
  const CancelScope* carrying_ = nullptr;
  Deadline deadline_;
  std::uint64_t id_ = 0;
  Status failure_;
  State state_ = State::kIdle;
  bool needs_sent_ = false;
};

}  // namespace weft
