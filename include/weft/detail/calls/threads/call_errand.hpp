// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/call/call_details.hpp"
#include "weft/detail/calls/call/call_door.hpp"
#include "weft/detail/calls/call/pending_call.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/calls/threads/errand_bytes.hpp"
#include "weft/detail/calls/threads/errand_time.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/runtime/posted.hpp"

namespace weft::detail {

/// A call from a thread other than its client's loop: one record that both sides share, in one allocation
/// together with the encoded arguments. It is independent of types, since the caller's thread encodes the
/// arguments and decodes the answer; the loop only copies bytes.
///
///   caller's thread    made -> encoded -> send()                           tell() -> reads the outcome
///                                           |                                ^
///   client's loop                           '-> begin() -> answer -> end() --'
///
/// The PendingCall, its options, timers and leases are created and destroyed on the loop. The loop writes to
/// the record before tell(), and the caller reads the outcome only afterwards. A caller that abandons the
/// call earlier cancels it and releases its reference to the record.
///
/// Derived classes define how tell() notifies the caller. Thread: the caller's, except where stated.
class CallErrand : public Errand {
 public:
  /// Releases the caller's reference. Memory that the call's options refer to stays in use until tell().
  struct Release {
    void operator()(CallErrand* errand) const noexcept { errand->release(); }
  };

  /// The caller's part of the call's description.
  struct Request {
    std::shared_ptr<CallDoor> door;
    const MethodKey* method;
    CallOptions options{};
    bool has_options = false;
    /// The caller wants the attachment of the answer.
    bool returns_attachment = false;
  };

  /// Makes an `Its` with room for `body_bytes`; null when memory is exhausted.
  template <typename Its, typename... Args>
  static std::unique_ptr<Its, Release> make(std::size_t body_bytes, Args&&... args) noexcept {
    const std::size_t room = ErrandBytes::room_for(body_bytes);
    if (room > ErrandBytes::kBodyMax) return nullptr;
    void* memory = ::operator new(sizeof(Its) + room, std::nothrow);
    if (memory == nullptr) return nullptr;
    Its* errand = ::new (memory) Its(std::forward<Args>(args)...);
    errand->free_ = [](CallErrand* self) noexcept {
      Its* its = static_cast<Its*>(self);
      its->~Its();
      ::operator delete(static_cast<void*>(its));
    };
    errand->bytes_.set_room(static_cast<std::byte*>(memory) + sizeof(Its), body_bytes);
    return std::unique_ptr<Its, Release>{errand};
  }

  /// Room for the encoded arguments; after tell(), the answer's body.
  const ErrandBytes& bytes() const noexcept { return bytes_; }
  /// Deadline of the call; it may be shortened before send().
  ErrandTime& time() noexcept { return time_; }
  /// Copies the metadata of the caller's scope to the call. Returns false when memory is exhausted. Call
  /// before send().
  bool carry(Bytes metadata) noexcept;
  /// Asks for the attachment of the answer. Call before send().
  void return_attachment() noexcept { request_.returns_attachment = true; }

  /// Hands the call to its loop. tell() always follows, possibly from within send().
  void send() noexcept;
  /// Asks for an early end. After send(). Thread: any that holds a reference.
  void cancel(CancelReason reason) noexcept;
  /// Returns true if the call uses memory of the caller's, which must stay valid until tell().
  bool borrows() const noexcept { return borrows_; }
  const CallDoor& door() const noexcept { return *request_.door; }

  /// The outcome, available after tell().
  Status take_failure() noexcept { return std::move(failure_); }
  Buffer take_attachment() noexcept { return std::move(attachment_); }
  std::size_t attachment_bytes() const noexcept { return attachment_bytes_; }

 protected:
  explicit CallErrand(Request request) noexcept;
  ~CallErrand();

  /// Notifies the caller that the outcome is available; the record is not accessed after that. Thread: the
  /// loop's, or the one that destroys the loop, or the caller's from within send().
  virtual void tell() noexcept = 0;
  /// Adds a reference to the record, until release().
  void hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) free_(this);
  }

 private:
  /// The PendingCall, while it is on the loop.
  class Pending final : public PendingCall {
   public:
    Pending(CallErrand& errand, CallTarget& target);
    ~Pending() = default;

    /// Returns false when the call ended at once.
    bool start();
    using PendingCall::take_failure;

   private:
    struct Ended : Ready {
      explicit Ended(CallErrand& its) noexcept : Ready(&ran), errand(its) {}
      static void ran(Ready* node) noexcept { static_cast<Ended*>(node)->errand.end_begun(); }
      CallErrand& errand;
    };

    std::size_t body_bytes() const override { return errand_.bytes_.body().size(); }
    void encode_body(std::byte* to) const override;
    void decode_answer(Bytes body, Status& failure) noexcept override {
      if (!errand_.bytes_.keep_answer(body)) failure = Status::of<kOutOfMemory>();
    }

    CallErrand& errand_;
    Ended ended_;
    CancelScope scope_;
  };
  /// The request to cancel, on its way to the loop.
  class Cancelling final : public Errand {
   public:
    explicit Cancelling(CallErrand& errand) noexcept : errand_(errand) {}
    void end_now() noexcept override {}
    bool is_of(const void*) const noexcept override { return false; }

   private:
    void begin() override { errand_.cancel_here(); }
    void refuse() noexcept override {}
    void discard() noexcept override { errand_.release(); }

    CallErrand& errand_;
  };

  void begin() final;
  void refuse() noexcept final;
  void discard() noexcept final { release(); }
  void end_now() noexcept final;
  bool is_of(const void* door) const noexcept final { return request_.door.get() == door; }

  void refuse_with(Status why) noexcept;
  void cancel_here() noexcept;
  void end_begun() noexcept;
  void end(Status failure) noexcept;

  Request request_;
  ErrandTime time_;
  ErrandBytes bytes_;
  void (*free_)(CallErrand*) noexcept = nullptr;
  Buffer carried_;
  const bool borrows_;
  std::atomic<std::uint32_t> holders_{1};
  std::atomic<CancelReason> cancelled_{CancelReason::kNone};

  Cancelling cancelling_{*this};

  // Used by the loop only. The options are listed first, so that they outlive the call.
  std::optional<CallDetails> details_;
  std::optional<Pending> pending_;

  // The outcome.
  Status failure_;
  Buffer attachment_;
  std::size_t attachment_bytes_ = 0;
};

/// Returns the failure for an exception thrown while arguments were encoded. Call only within a catch block.
Status failure_of_encoding() noexcept;
/// Returns the failure of a call with arguments that must not be encoded.
Status unencodable_failure() noexcept;

}  // namespace weft::detail
