// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "calls/call/exchange_table.hpp"
#include "calls/call/standing_end.hpp"
#include "calls/sending/session_link.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/call/pending_call.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

/// Places for exchanges of ours in flight on one connection.
struct CallPlaces {
  /// Updates the limit after calls were cancelled; the peer has not ended `abandoned` of them.
  void count(std::uint32_t abandoned) {
    in_flight_max =
        held_back ? 0 : std::min(own_max, held_by_peer_max - std::min(abandoned, held_by_peer_max));
  }

  std::uint32_t own_max = 0;
  std::uint32_t held_by_peer_max = 0;
  /// Our own limit, or the peer's limit minus the cancelled calls that still run there, whichever is less.
  std::uint32_t in_flight_max = 0;
  /// None is begun.
  bool held_back = false;
};

/// Our calls on one connection: writes their requests, and passes answers from the peer to the exchange with
/// their id. An answer to an exchange that has ended is dropped and counted.
class CallsOut : private Ready {
 public:
  /// `link` outlives the object, and its memory pays for the table.
  explicit CallsOut(SessionLink& link) : Ready(&tell_room), link_(link), table_(&link.memory()) {}

  /// Gives `call` an id and queues its request.
  Begun begin(PendingCall& call, std::size_t body_bytes);
  /// The body of `id` is written: ends the frame and queues the attachment, if there is one.
  void sent(CallDetails* details, std::uint64_t id);
  /// Replaces sent(): the body could not be written. Takes the frame back, and the call leaves the table.
  void take_back(const CallRequest& request, std::uint64_t id, const std::byte* body) noexcept;
  /// Makes sure that no device writes to memory of `exchange`, which may end afterwards: waits for a device.
  void take_landing_back(Exchange& exchange);
  /// `exchange` ends before the peer ended it: the peer is notified, and until it confirms the end, the call
  /// still counts as running there.
  void abandon(Exchange& exchange, std::uint64_t id);
  /// The call is given up, and waits for its memory: of its attachment no further piece begins.
  void stop_sending(CallDetails& details);
  /// Ending `exchange` would not wait for memory of its caller that a device has. `copies_max` bytes at most
  /// may be copied for it.
  bool may_end_at_once(const Exchange& exchange, const CallDetails& details, std::size_t copies_max);
  /// The connection uses no memory of the caller's for `exchange`, and has nothing of it left to send.
  bool has_no_memory(const Exchange& exchange, const CallDetails& details) const {
    const OutgoingTransfer& attachment = details.attachment();
    return attachment.is_over() && !attachment.linked() && !details.lands_ahead && landing_ != &exchange;
  }
  /// `call` has left the table, and waits until its attachment may be taken over. on_lost() is called if the
  /// connection is lost before that. No more of the attachment is queued.
  void await_memory(PendingCall& call) noexcept;
  /// Copies the unsent rest, so that the caller's memory is no longer read. If there is no memory for the
  /// copy, closes the connection with `text`.
  void take_attachment_over(CallDetails& details, std::string_view text);

  /// Marks the time in which frames in `chunk` are taken.
  class Receiving {
   public:
    Receiving(CallsOut& out, const ChunkRef& chunk) noexcept
        : out_(out), before_(std::exchange(out.received_in_, &chunk)) {}
    Receiving(const Receiving&) = delete;
    Receiving& operator=(const Receiving&) = delete;
    ~Receiving() { out_.received_in_ = before_; }

   private:
    CallsOut& out_;
    const ChunkRef* const before_;
  };
  /// Returns the chunk of the frames that are being taken, if any.
  const ChunkRef* received_in() const noexcept { return received_in_; }

  void on_answer(const Frame& frame, const ChunkRef& chunk) {
    if (frame.header.attachment_bytes != 0) [[unlikely]] {
      return on_answer_attached(frame, chunk);
    }
    Exchange* const exchange = table_.take(frame.header.id);
    if (exchange == nullptr) [[unlikely]] {
      return drop_late_answer(frame.header);
    }
    exchange->on_answer(frame);
  }
  Landing on_answer_attachment(const Frame& frame);
  void on_answer_attachment_end(const Frame& frame, bool landed);
  /// Returns the place of the attachment of an answer with `header`, which is not received yet.
  Landing on_attachment_ahead(const wire::FrameHeader& header);
  /// Takes metadata of an answer; dropped for an exchange without details. Metadata that cannot be kept fail
  /// the exchange, not the connection.
  void on_metadata(const Frame& frame);
  /// The peer asks for the attachment of `id`. Ignored if that does not wait.
  void on_continue(std::uint64_t id);
  /// Chooses the place of a piece of an answer's attachment. A failure is the peer's breach of the protocol.
  Result<Landing> on_piece(wire::PieceView piece);
  void on_piece_end(wire::PieceView piece);
  /// The connection is gone, and the peer has certainly not seen its output from position `handed_over` on:
  /// ends up to `left` exchanges, from `slot` of the table on, with `why`; exchanges that begin after that
  /// position are unprocessed. Advances `slot` and decrements `left`. Returns false when some remain.
  bool fail_some(const Status& why, std::uint64_t handed_over, std::uint32_t& slot, std::size_t& left);

  /// The connection stands, but the peer answers no exchange that begins at `position` or later: they end
  /// with `why`, a part of them in each turn.
  void end_from(std::uint64_t position, const Status& why);

  SessionLink& link() const { return link_; }
  /// Returns true if new calls may be queued: the session is ready, and has room for their frames.
  bool has_room() const { return link_.ready() && link_.output().has_room() && has_place(); }
  const ExchangeTable& table() const { return table_; }
  /// Answers that the peer owes, also those to exchanges that were given up.
  std::uint32_t awaited() const { return table_.size() + table_.abandoned(); }
  /// Returns true if another call may be sent: fewer are in flight than our own limit, and, together with the
  /// cancelled ones that still run at the peer, fewer than the peer's limit.
  bool has_place() const { return table_.size() < places_.in_flight_max; }
  /// Keeps to these limits, our own and the peer's.
  void keep_to(std::uint32_t own_max, std::uint32_t peer_max);
  /// None is begun while this side does not read: see may_put_off() in session.cpp.
  void hold_back(bool held) {
    places_.held_back = held;
    places_.count(table_.abandoned());
  }
  std::uint64_t late_answers() const { return late_answers_; }

 private:
  /// Notifies the session's owner that a call may be sent again. Runs from the loop, because other calls may
  /// begin and end in it, and the code that gives up a call is not done yet.
  static void tell_room(Ready* node) noexcept;

  void on_answer_attached(const Frame& frame, const ChunkRef& chunk);
  [[gnu::cold]] void drop_late_answer(const wire::FrameHeader& header);
  [[gnu::cold]] Begun begin_large(PendingCall& call, std::size_t body_bytes);
  /// `runs` of the body, if there are any, are not written; null: it is written whole.
  Begun begin_with_options(PendingCall& call, std::size_t arguments_bytes, const LentRuns* runs);
  Begun queue(PendingCall& call, wire::RequestHead head, bool needs_sent, const LentRuns* runs = nullptr);

  SessionLink& link_;
  ExchangeTable table_;
  CallPlaces places_;
  std::uint64_t late_answers_ = 0;
  /// Larger bodies need memory that is reserved.
  std::uint32_t small_body_bytes_ = 0;
  /// Calls that have ended but for their memory.
  IntrusiveList<PendingCall, TargetCallTag> returning_;
  /// Null unless the peer has said that it will not answer.
  std::unique_ptr<StandingEnd> standing_end_;
  /// The exchange with an attachment that is being received; null when it is no longer wanted.
  const Exchange* landing_ = nullptr;
  /// Null outside of Receiving.
  const ChunkRef* received_in_ = nullptr;
};

}  // namespace weft::detail
