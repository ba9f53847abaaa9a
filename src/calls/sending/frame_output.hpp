// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/detail/base/lent_runs.hpp"
#include "weft/detail/calls/terms/limits.hpp"
#include "weft/detail/memory/local_budget.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail {

/// Writes the frames of one session into the outbox of its connection, and limits the queued bytes: by the
/// high-water mark, and by the process's memory. Queued chunks are charged, each before it is written to, and
/// released when the outbox has drained. A single chunk is not charged, so that small frames are written
/// without access to a budget, unless charge_first_chunk() asks for it. Attachments are not charged, because
/// their memory belongs to their owners.
/// Thread: the connection's loop.
class FrameOutput {
 public:
  /// Number of queued bytes above which items of streams have to wait.
  static constexpr std::size_t kItemsRoom = 512 * 1024;
  /// A larger body needs reserve(); this many bytes may be queued before find_room() is called again.
  static constexpr std::size_t kSmallBytes = 16 * 1024;

  /// All outlive it.
  FrameOutput(Connection& connection, const RpcLimits& limits, LocalBudget& process);
  ~FrameOutput() { process_.release(charged_); }
  FrameOutput(const FrameOutput&) = delete;
  FrameOutput& operator=(const FrameOutput&) = delete;

  /// Gives room for a frame's body in the outbox, header and padding written; sent at the end of the turn.
  /// Null when memory is exhausted, and then the connection is being closed.
  [[gnu::always_inline]] std::byte* begin(wire::FrameHeader header) {
    const std::uint64_t bytes = wire::head_bytes(header.body_bytes, checksums_);
    std::byte* const frame = outbox_.append(bytes);
    if (frame == nullptr) [[unlikely]] {
      return close_for_memory();
    }
    // The padding is the end of the last eight bytes, which the body then overwrites from the front.
    store_le<std::uint64_t>(frame + bytes - 8, 0);
    wire::store_header(frame, header);
    frame_ = frame;
    body_bytes_ = header.body_bytes;
    return frame + wire::kHeaderBytes;
  }
  /// The same for a body that is written without `runs`, where lends_runs() says so; end_around() follows.
  std::byte* begin_around(wire::FrameHeader header, const LentRuns& runs);
  /// Inserts `runs` at their places, after the rest of the body was written, as Outbox::put_in() does.
  /// Returns false when memory is exhausted, and then the connection is being closed.
  bool end_around(const LentRuns& runs, SendLease* lease, const ChunkRef& chunk, bool more_follows);
  /// Returns true if runs of bodies may be sent without a copy: there is no checksum to compute over their
  /// bytes.
  bool lends_runs() const { return !checksums_; }
  /// Has to follow when the body was written.
  void end() {
    if (checksums_) [[unlikely]] {
      wire::finish_frame(frame_, body_bytes_, true);
    }
  }
  /// Returns the size of the body that was begun last.
  std::uint32_t body_bytes() const { return body_bytes_; }
  /// end() has something to do.
  bool needs_end() const { return checksums_; }
  /// The budget that pays for the output.
  LocalBudget& memory() const { return process_; }
  /// Takes back the frame with this body, which must be the last that was begun: nothing of it is sent.
  void take_back(const std::byte* body) noexcept;
  /// Writes a whole frame with the body `text`; `header` holds everything except the size.
  void send(wire::FrameHeader header, std::string_view text = {});
  /// Frames have checksums from now on.
  void use_checksums() { checksums_ = true; }

  /// Returns true if more may be written: the queue is below the high-water mark, and there is memory.
  /// Otherwise FrameSink::on_drained() follows.
  bool has_room() noexcept { return outbox_.queued_bytes() < room_ || find_room(); }
  /// The same for requests that may be answered with attachments: not while too many of these wait.
  bool has_room_for_requests() noexcept {
    return outbox_.queued_bytes() < room_ || (find_room() && !crowded_);
  }
  /// The same for the items of streams, with a lower mark: however many streams there are, calls still pass.
  bool has_room_for_items() noexcept {
    if (outbox_.queued_bytes() <= items_room_) return has_room();
    connection_.tell_when_drained(items_room_ / 2);
    return false;
  }
  /// Number of queued bytes when has_room() became false for the last time; at least the high-water mark.
  std::size_t full_at() const noexcept { return full_at_; }
  /// Reserves memory for a frame of `bytes`, more than kSmallBytes, before it is written, and for `kept`
  /// bytes that are kept elsewhere for it. False when there is none.
  bool reserve(std::size_t bytes, std::size_t kept = 0) noexcept;
  /// Charges the first chunk too, until the outbox is empty: for a request to a peer that may never read it.
  /// Returns false, and has changed nothing, when the budget has no memory for the chunk.
  bool charge_first_chunk() noexcept { return charges_first_chunk_ || begin_charging_first_chunk(); }
  /// Gives back reserved memory of frames that were not written, or that have left.
  void give_back_unused() noexcept;
  /// Sets whether too many attachments of answers are queued to create further ones, even if the outbox is
  /// nearly empty. A change to false takes effect at the next drained(); FrameSink::on_drained() follows.
  void crowd(bool crowded) noexcept;
  /// Nothing can be sent any more: there is no room from now on.
  void shut() noexcept {
    shut_ = true;
    room_ = 0;
  }
  /// The outbox has drained: releases the reservation for bytes that were sent.
  void drained() noexcept;

 private:
  bool find_room() noexcept;
  bool begin_charging_first_chunk() noexcept;
  std::size_t charge_for(std::size_t held) const noexcept;
  std::byte* close_for_memory();

  Connection& connection_;
  Outbox& outbox_;
  LocalBudget& process_;
  const std::size_t high_water_;
  const std::size_t items_room_;
  /// Number of queued bytes at which find_room() must be called; zero: always.
  std::size_t room_;
  std::size_t full_at_;
  std::size_t charged_ = 0;
  std::byte* frame_ = nullptr;
  std::uint32_t body_bytes_ = 0;
  bool checksums_ = false;
  bool crowded_ = false;
  bool shut_ = false;
  bool is_crowd_over_ = true;
  bool charges_first_chunk_ = false;
};

}  // namespace weft::detail
