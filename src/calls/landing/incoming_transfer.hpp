// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "calls/landing/arriving_attachment.hpp"
#include "calls/landing/landing_waiter.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/run_cursor.hpp"
#include "weft/detail/calls/terms/landing_view.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/memory/arriving_buffer.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft::detail {

/// Attachment of a request whose handler runs already and chooses where it goes.
///
///   offered --begin()--> wanted --all of it is there--> ended
///                          |  refused, late, cancelled, lost; when nothing writes to the memory any more
///                          '--> ended, with a failure
///
/// It waits at the peer until it is wanted (kAsked), follows its request (kFollows), or was there before the
/// handler ran (kThere). One that follows is received into the memory that the handler has chosen by then,
/// else into the server's, and is copied when the handler chooses: a little in each turn of the loop. Belongs
/// to its ServedCall, and leaves ArrivingCalls when it is destroyed, which waits for a device then. Thread:
/// the connection's loop.
class IncomingTransfer final : public ArrivingAttachment, private CancelListener {
 public:
  enum class Way : std::uint8_t { kAsked, kFollows, kThere };

  /// `calls` outlives it or its on_connection_lost().
  IncomingTransfer(ArrivingCalls& calls, std::uint64_t id, std::size_t bytes, Way way) noexcept;
  /// `attachment` has arrived already.
  IncomingTransfer(ArrivingCalls& calls, std::uint64_t id, Buffer attachment) noexcept;
  ~IncomingTransfer();

  /// Returns true if neither into() nor receive() has begun.
  bool can_begin() const noexcept { return !begun_; }
  /// Begins to receive into `memory`, which is at least as long and stays valid until the end; if it is
  /// empty, into the server's memory. Returns true if `waiter` will be scheduled at the end, false if the
  /// transfer has ended. Only when can_begin(). `progress` is unused or null; it counts the bytes in the
  /// memory and is lent until the end.
  bool begin(const LandingView& memory, CancelScope* scope, Ready& waiter,
             TransferProgress* progress = nullptr) noexcept;
  /// Returns how it ended.
  Status take_outcome() noexcept;
  /// Returns the attachment received into the server's memory. Errors: as take_outcome(), and
  /// kResourceExhausted.
  Result<Buffer> take_buffer() noexcept;
  /// Ends the transfer for a waiter that is gone, which is not scheduled. Nothing writes to the memory
  /// afterwards: waits for a device.
  void stop_waiting() noexcept;

  /// It follows its request, which was just handed to its handler: returns whether any of it is received.
  bool lands() noexcept;
  /// The connection is gone, and `calls` may be soon.
  void on_connection_lost() noexcept;

 private:
  /// Goes on with the copy, in a turn of the loop.
  struct Copying final : Ready {
    explicit Copying(IncomingTransfer& its) noexcept;
    IncomingTransfer& transfer;
  };

  std::size_t announced() const noexcept override { return own_.size(); }
  Landing place(std::size_t bytes) noexcept override;
  void on_landed(std::size_t bytes) noexcept override;
  std::optional<Refusal> charge(std::size_t arrived) noexcept override;
  void on_whole() override;
  void on_refused(const Refusal& refusal) override { end(refusal.status); }
  void on_failed(const Status& failure) override { end(failure); }
  void on_given_up() override;
  void on_lost() noexcept override;
  void on_cancel(CancelReason reason) noexcept override;

  Status make_own() noexcept;
  bool copy_some() noexcept;
  void go_on_copying() noexcept;
  void end(Status failure) noexcept;

  /// Bytes of the server's memory that it holds in its connection's account, once the attachment is complete,
  /// in addition to those of its call.
  std::size_t held_ = 0;
  /// Null when the connection is gone.
  ArrivingCalls* arriving_;
  Loop& loop_;
  /// Place in the handler's memory, if it has chosen some and not the server's.
  RunCursor<std::byte> chosen_;
  ArrivingBuffer own_;
  /// Attachment in the server's memory, whole, and how much of it was copied to the handler's.
  Buffer whole_;
  std::size_t copied_ = 0;
  Copying copying_{*this};
  LandingWaiter waiter_;
  Status failure_;
  Way way_;
  bool begun_ = false;
  bool has_chosen_ = false;
  bool ended_ = false;
  /// Reason why it is no longer wanted: the caller's cancel carries no reason.
  CancelReason cancelled_ = CancelReason::kPeerCancelled;
};

}  // namespace weft::detail
