// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "weft/base/bytes.hpp"
#include "weft/base/status.hpp"
#include "weft/calls/call_options.hpp"
#include "weft/coro/cancel.hpp"
#include "weft/detail/calls/call_details.hpp"
#include "weft/detail/calls/call_door.hpp"
#include "weft/detail/calls/method_key.hpp"
#include "weft/detail/calls/pending_call.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/posted.hpp"
#include "weft/memory/buffer.hpp"

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
    const std::size_t room = room_for(body_bytes);
    void* memory = room > kRoomMax ? nullptr : ::operator new(sizeof(Its) + room, std::nothrow);
    if (memory == nullptr) return nullptr;
    Its* errand = ::new (memory) Its(std::forward<Args>(args)...);
    errand->free_ = [](CallErrand* self) noexcept {
      Its* its = static_cast<Its*>(self);
      its->~Its();
      ::operator delete(static_cast<void*>(its));
    };
    errand->room_ = static_cast<std::byte*>(memory) + sizeof(Its);
    errand->room_bytes_ = room;
    errand->body_bytes_ = body_bytes;
    return std::unique_ptr<Its, Release>{errand};
  }

  /// Room for the encoded arguments.
  std::byte* body() noexcept { return room_; }
  /// Limits the call's time, and gives it what its caller's scope carries, which is copied. False when memory
  /// for that is out. Before send().
  void limit(Deadline deadline) noexcept { deadline_ = deadline_.earlier(deadline); }
  bool carry(Bytes metadata) noexcept;

  /// Wants the attachment of the answer. Before send().
  void return_attachment() noexcept { request_.returns_attachment = true; }

  /// Hands the call to its loop. tell() follows in any case, maybe from within.
  void send() noexcept;
  /// Asks for an early end. After send(). Thread: any that has a part in it.
  void cancel(CancelReason reason) noexcept;
  /// The call has memory of the caller's, which must stay until the caller was told.
  bool borrows() const noexcept { return borrows_; }
  /// The time by which the loop should have told, by its clock; infinite without any, or when that clock is
  /// not for other threads.
  Deadline expected_by() const noexcept { return deadline_.earlier(default_end()); }
  const CallDoor& door() const noexcept { return *request_.door; }

  /// The outcome, once the caller was told.
  Status take_failure() noexcept { return std::move(failure_); }
  Bytes answer() const noexcept { return {answer_, answer_bytes_}; }
  Buffer take_attachment() noexcept { return std::move(attachment_); }
  std::size_t attachment_bytes() const noexcept { return attachment_bytes_; }

  /// The failure that stands for what was just thrown, from within a catch, while arguments were encoded.
  static Status failure_of_encoding() noexcept;
  /// The failure of a call whose arguments must not be encoded.
  static Status unencodable() noexcept;

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

    std::size_t body_bytes() const override { return errand_.body_bytes_; }
    void encode_body(std::byte* to) const override;
    void decode_answer(Bytes body, Status& failure) noexcept override { errand_.keep_answer(body, failure); }

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

  /// Small answers need no memory of their own.
  static constexpr std::size_t kRoomLeast = 256;
  static constexpr std::size_t kRoomMax = static_cast<std::size_t>(-1) / 2;
  static constexpr std::size_t room_for(std::size_t bytes) noexcept {
    return bytes < kRoomLeast ? kRoomLeast : bytes;
  }

  void begin() final;
  void refuse() noexcept final;
  void discard() noexcept final { release(); }
  void end_now() noexcept final;
  bool is_of(const void* door) const noexcept final { return request_.door.get() == door; }

  Deadline default_end() const noexcept;
  void refuse_with(Status why) noexcept;
  void cancel_here() noexcept;
  void keep_answer(Bytes answer, Status& failure) noexcept;
  void end_begun() noexcept;
  void end(Status failure) noexcept;

  Request request_;
  Deadline deadline_;
  TimePoint made_at_ = TimePoint::max();
  std::size_t body_bytes_ = 0;
  std::byte* room_ = nullptr;
  std::size_t room_bytes_ = 0;
  void (*free_)(CallErrand*) noexcept = nullptr;
  std::unique_ptr<std::byte[]> carried_;
  std::size_t carried_bytes_ = 0;
  const bool borrows_;
  std::atomic<std::uint32_t> holders_{1};
  std::atomic<CancelReason> cancelled_{CancelReason::kNone};

  Cancelling cancelling_{*this};

  // The loop's. The options are listed first, so that they outlive the call.
  std::optional<CallDetails> details_;
  std::optional<Pending> pending_;

  // The outcome.
  Status failure_;
  const std::byte* answer_ = nullptr;
  std::size_t answer_bytes_ = 0;
  std::unique_ptr<std::byte[]> large_answer_;
  Buffer attachment_;
  std::size_t attachment_bytes_ = 0;
};

}  // namespace weft::detail
