// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "load/meter.hpp"
#include "load/options.hpp"
#include "load/payload.hpp"
#include "raw/frame_receiver.hpp"
#include "raw/frame_sender.hpp"
#include "raw/wire.hpp"

namespace weft::raw {

/// One connection of the limit's client and the calls in flight on it. Answers come in order, so a ring of
/// start times is all that has to be remembered.
class ClientConnection {
 public:
  /// `pattern` is the payload of a request; it must outlive the connection. `id` makes its tags differ from
  /// those of other connections.
  ClientConnection(Wire wire, const load::ClientOptions& options, Bytes pattern, std::uint64_t id);

  int fd() const { return wire_.fd(); }
  bool alive() const { return alive_; }
  unsigned in_flight() const { return static_cast<unsigned>(started_ - answered_); }
  unsigned free_slots() const { return alive_ && !pushed_ ? depth_ - in_flight() : 0; }
  bool wants_write() const { return sender_.blocked(); }
  std::uint32_t interest = 0;

  /// Starts one call; it leaves with the next `finish`.
  void start(std::int64_t started_ns, Scratch& scratch) {
    times_[started_ & (times_.size() - 1)] = started_ns;
    check(sender_.add(wire_, scratch, tag_of(started_++)));
  }
  void finish(Scratch& scratch) { check(sender_.finish(wire_, scratch)); }
  void flush() { check(sender_.flush(wire_)); }
  /// Gives up the calls in flight, which no answer can reach any more.
  void abandon() { answered_ = started_; }

  /// Receives what is there. Checks each answer and counts it in `meter`. The clock is read once for all of
  /// them.
  void receive(Scratch& scratch, load::Meter& meter);

 private:
  class RunCounter;

  void receive_pushed(Bytes message, RunCounter& run, load::Meter& meter);
  std::uint64_t tag_of(std::uint64_t number) const { return (id_ << 40) + number; }
  void check(bool ok) { alive_ = alive_ && ok; }

  Wire wire_;
  std::uint64_t id_;
  unsigned depth_;
  std::uint64_t request_bytes_;
  std::uint64_t answer_bytes_;
  /// The server sends without being asked.
  bool pushed_;
  bool alive_ = true;
  std::uint64_t started_ = 0;
  std::uint64_t answered_ = 0;
  std::vector<std::int64_t> times_;
  FrameSender sender_;
  FrameReceiver receiver_;
};

}  // namespace weft::raw
