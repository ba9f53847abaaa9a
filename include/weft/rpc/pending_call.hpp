// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>

#include "weft/base/intrusive_list.hpp"
#include "weft/base/status.hpp"
#include "weft/coro/cancel.hpp"
#include "weft/coro/executor.hpp"
#include "weft/memory/buffer.hpp"
#include "weft/rpc/call_options.hpp"
#include "weft/rpc/method.hpp"
#include "weft/runtime/timer.hpp"
#include "weft/transport/outbox.hpp"

namespace weft {

class ClientCore;
class CallsOut;
struct WaitingCallTag;

/// One call as the client's machinery sees it, whoever waits for it: the part that knows no types.
///
///   kIdle ----begin()----> kSent ------answer, failure, cancel, deadline----> kDone
///     |                      ^                                                  ^
///     +--no connection yet--> kWaiting (in the client's queue) --failure...-----+
///
/// kSent: owns a slot of `out_`, and the peer's answer finds it there. Only then leases may be out.
/// kDone: nobody but the owner knows it any more; `failure_` and the answer are final.
/// Destroying it in any state ends the call: the slot is given up, the peer is told, leased bytes that are
/// still unsent are copied. Thread: the client's loop. Moves in kIdle
/// only.
class PendingCall : public ListHook<WaitingCallTag>, private CancelListener, private Timer {
 public:
  PendingCall(ClientCore& client, const MethodKey& method, const CallOptions& options)
      : client_(&client), method_(&method), options_(options) {}
  /// Only before begin().
  PendingCall(PendingCall&& other) noexcept
      : client_(other.client_), method_(other.method_), options_(other.options_) {
    WEFT_ASSERT(other.state_ == State::kIdle, "a call that was begun does not move");
  }
  PendingCall& operator=(const PendingCall&) = delete;

  bool done() const { return state_ == State::kDone; }

  /// Asks for an early end, as a cancelled scope does.
  void cancel(CancelReason reason) { on_cancel(reason); }

 protected:
  ~PendingCall() {
    if (state_ != State::kDone) abandon();
  }

  /// Begins the call under `scope` (may be null). Answers where the body is to be encoded, after which sent()
  /// is called at once; or null: then the call waits and encode_body() will be asked for, or it is done
  /// already.
  std::byte* begin(CancelScope* scope, std::size_t body_bytes);
  void sent();

  /// For calls that had to wait: what begin() was given, and the body itself.
  virtual std::size_t body_bytes() const = 0;
  virtual void encode_body(std::byte* to) const = 0;
  /// Takes the answer's body, which is only valid now. A failure becomes the call's.
  virtual Status decode_answer(Bytes body) = 0;
  /// The call is done. Schedules whoever waits; may not destroy the call.
  virtual void on_done() noexcept = 0;

  /// Brings the deadline forward; the call may be done afterwards.
  void limit(Deadline deadline);
  /// Lets a waiter go on, on the client's loop.
  void schedule(Resumption& waiter) noexcept;

  Status take_failure() { return std::move(failure_); }
  /// The answer's attachment: in the caller's buffer if one was named, else in one of ours.
  std::size_t answer_attachment_bytes() const { return answer_attachment_bytes_; }
  Buffer take_answer_attachment() { return std::move(answer_attachment_); }
  const CallOptions& options() const { return options_; }

 private:
  friend class ClientCore;
  friend class CallsOut;

  enum class State : std::uint8_t { kIdle, kWaiting, kSent, kDone };

  /// The pieces of the attachment while the connection reads from them.
  struct AttachmentLease final : SendLease {
    void on_released(bool) noexcept override { --pieces; }
    std::uint32_t pieces = 0;
  };

  void on_cancel(CancelReason reason) noexcept override;
  void on_timer() override;
  void finish(Status failure) noexcept;
  void abandon() noexcept;
  void leave() noexcept;

  ClientCore* client_;
  CallsOut* out_ = nullptr;
  const MethodKey* method_;
  CallOptions options_;
  Deadline effective_deadline_;
  std::uint64_t id_ = 0;
  Status failure_;
  Buffer answer_attachment_;
  std::size_t answer_attachment_bytes_ = 0;
  AttachmentLease lease_;
  State state_ = State::kIdle;
  bool landing_ = false;
};

}  // namespace weft
