// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/status.hpp"
#include "weft/calls/pending_call.hpp"
#include "weft/transport/connection.hpp"

namespace weft {

class Session;

/// Our calls on one connection: the slot table by which an answer finds its call, and what happens to it
/// then. An id is slot and generation; a slot's generation changes with each call, so that the answer to a
/// call that has ended finds nobody, is dropped and counted.
class CallsOut {
 public:
  explicit CallsOut(Session& session) : session_(session) {}

  /// Gives `call` a slot and queues its request; answers where its body goes, to be written at once, then
  /// sent() if the call needs it. Null: the call is done, because it could not be sent.
  std::byte* begin(PendingCall& call, std::size_t body_bytes);
  /// The body is written: ends the frame and queues the attachment.
  void sent(PendingCall& call);
  /// Its body could not be written: takes the frame back and gives the slot up.
  void take_back(PendingCall& call, const std::byte* body) noexcept;
  /// `call` ends before its answer: gives its slot up, tells the peer, and takes its unsent bytes over.
  void abandon(PendingCall& call);

  void on_response(const Frame& frame);
  Landing on_response_attachment(const Frame& frame);
  void on_response_attachment_end(const Frame& frame, bool landed);
  /// The connection is gone: every call ends with `why`.
  void fail_all(const Status& why);

  std::uint32_t in_flight() const { return in_flight_; }
  std::uint64_t late_answers() const { return late_answers_; }

 private:
  static constexpr std::uint32_t kNoSlot = 0xFFFFFFFF;

  struct Slot {
    PendingCall* call = nullptr;
    std::uint32_t generation = 0;
    std::uint32_t next_free = kNoSlot;
  };

  /// There is one that is free.
  std::uint64_t take_slot(PendingCall& call) {
    const std::uint32_t index = first_free_;
    Slot& slot = slots_[index];
    first_free_ = slot.next_free;
    slot.call = &call;
    ++in_flight_;
    return wire::make_id(index, slot.generation);
  }
  void free_slot(std::uint64_t id) {
    Slot& slot = slots_[wire::slot_of(id)];
    slot.call = nullptr;
    ++slot.generation;
    slot.next_free = first_free_;
    first_free_ = wire::slot_of(id);
    --in_flight_;
  }
  /// False when memory is out.
  [[gnu::cold]] bool add_slot() noexcept;
  PendingCall* find(std::uint64_t id) const {
    const std::uint32_t index = wire::slot_of(id);
    if (index >= slots_.size() || slots_[index].generation != wire::generation_of(id)) return nullptr;
    return slots_[index].call;
  }
  [[gnu::cold]] std::byte* refuse_body(PendingCall& call, std::size_t body_bytes);
  [[gnu::cold]] std::byte* refuse_for_memory(PendingCall& call);
  std::byte* refuse(PendingCall& call, Status failure);
  std::byte* begin_with_options(PendingCall& call, std::size_t arguments_bytes);
  static wire::FrameHeader request_header(const MethodKey& method, std::size_t body_bytes);
  std::byte* queue(PendingCall& call, wire::FrameHeader header);
  void let_go(PendingCall& call);
  void answer(PendingCall& call, const Frame& frame);
  /// The caller's memory is no longer read from afterwards. False when memory for the copy is out.
  bool take_attachment_over(PendingCall& call);
  void queue_attachment(CallExtras& extras);
  static bool wants_attachment(const PendingCall& call);

  Session& session_;
  std::vector<Slot> slots_;
  std::uint32_t first_free_ = kNoSlot;
  std::uint32_t in_flight_ = 0;
  std::uint64_t late_answers_ = 0;
  /// The call whose attachment is being received; null when nobody waits for it any more.
  PendingCall* landing_call_ = nullptr;
  /// Why the attachment that is being received is refused.
  Status landing_refusal_;
};

}  // namespace weft
