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
#include "weft/detail/calls/call_details.hpp"
#include "weft/detail/calls/call_door.hpp"
#include "weft/detail/calls/call_options.hpp"
#include "weft/detail/calls/errand_bytes.hpp"
#include "weft/detail/calls/errand_time.hpp"
#include "weft/detail/calls/method_key.hpp"
#include "weft/detail/calls/pending_call.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/runtime/posted.hpp"

namespace weft::detail {

/// A call of another thread than its client's loop: one record that both sides share, in one allocation with
/// the encoded arguments behind it. It knows no types, since arguments are encoded and the answer is decoded
/// on the caller's thread; the loop copies bytes.
///
///   caller's thread    made -> encoded -> send()                           told -> reads the outcome
///                                           |                                ^
///   client's loop                           '-> begin() -> answer -> end() --'
///
/// The call proper, its options, timers and leases are made and destroyed on the loop. What the loop writes
/// into the record it writes before tell(), and the caller reads nothing of it until it was told. Whoever
/// gives up earlier lets go of the record, and cancels the call.
///
/// How the caller is told is the derived class's business. Thread: the caller's, except where it is said.
class CallErrand : public Errand {
 public:
  /// Lets go of the caller's part. Memory that the call's options name is in use until the caller was told.
  struct Release {
    void operator()(CallErrand* errand) const noexcept { errand->release(); }
  };

  /// Facts of the call that the caller knows.
  struct Request {
    std::shared_ptr<CallDoor> door;
    const MethodKey* method;
    CallOptions options{};
    bool has_options = false;
    /// Wants the attachment of the answer.
    bool returns_attachment = false;
  };

  /// Makes an `Its` with room for `body_bytes`; null when memory is out.
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

  /// Room for the encoded arguments; and the answer's body, once the caller was told.
  const ErrandBytes& bytes() const noexcept { return bytes_; }
  /// Time of the call; what limits it does so before send().
  ErrandTime& time() noexcept { return time_; }
  /// Gives it what its caller's scope carries, which is copied. False when memory for that is out. Before
  /// send().
  bool carry(Bytes metadata) noexcept;
  /// Wants the attachment of the answer. Before send().
  void return_attachment() noexcept { request_.returns_attachment = true; }

  /// Hands the call to its loop. tell() follows in any case, maybe from within.
  void send() noexcept;
  /// Asks for an early end. After send(). Thread: any that has a part in it.
  void cancel(CancelReason reason) noexcept;
  /// The call has memory of the caller's, which must stay until the caller was told.
  bool borrows() const noexcept { return borrows_; }
  const CallDoor& door() const noexcept { return *request_.door; }

  /// The outcome, once the caller was told.
  Status take_failure() noexcept { return std::move(failure_); }
  Buffer take_attachment() noexcept { return std::move(attachment_); }
  std::size_t attachment_bytes() const noexcept { return attachment_bytes_; }

 protected:
  explicit CallErrand(Request request) noexcept;
  ~CallErrand();

  /// Tells the caller that the outcome is there; nothing is done with the record after that. Thread: the
  /// loop's, or the one that ends it, or the caller's from within send().
  virtual void tell() noexcept = 0;
  /// Holds the record until a release().
  void hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) free_(this);
  }

 private:
  /// The call proper, while the loop has it.
  class Pending final : public PendingCall {
   public:
    Pending(CallErrand& errand, CallTarget& target);
    ~Pending() = default;

    /// False when it ended at once.
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
  /// The wish that the call ends, on its way to the loop.
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

  // The loop's. The options are listed first, so that they outlive the call.
  std::optional<CallDetails> details_;
  std::optional<Pending> pending_;

  // The outcome.
  Status failure_;
  Buffer attachment_;
  std::size_t attachment_bytes_ = 0;
};

/// Returns the failure that stands for what was just thrown, from within a catch, while arguments were
/// encoded.
Status failure_of_encoding() noexcept;
/// Returns the failure of a call whose arguments must not be encoded.
Status unencodable_failure() noexcept;

}  // namespace weft::detail
