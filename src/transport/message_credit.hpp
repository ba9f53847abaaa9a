// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::detail {

/// Counts the units that each side of a connection may send. The carrier defines the unit. Both sides count
/// modulo 2^32 and never reset, so that a late number is still correct.
class MessageCredit {
 public:
  /// Units of credit that data leaves unused where all messages cost credit: one for an answer that the peer
  /// waits for, and one for a message that grants credit. Without the latter, both sides could wait for each
  /// other's grant; without the former, a side that is not read could not return memory that the peer
  /// offered.
  static constexpr std::uint32_t kKeptByBytes = 2;
  static constexpr std::uint32_t kKept = 1;

  /// No side is ever ahead of the other by more than `most`.
  explicit MessageCredit(std::uint32_t most) noexcept : most_(most) {}

  // What the peer may send.

  /// The initial credit is sent to the peer apart from messages, before the first one.
  void begin(std::uint32_t granted) noexcept { granted_ = told_ = granted; }
  void grant(std::uint32_t units) noexcept { granted_ += units; }
  /// Records that `units` arrived, or were returned. Returns false if the peer was not allowed to send them.
  bool use(std::uint32_t units) noexcept {
    if (units > peer_may_send()) return false;
    arrived_ += units;
    return true;
  }
  std::uint32_t peer_may_send() const noexcept { return granted_ - arrived_; }
  std::uint32_t untold() const noexcept { return granted_ - told_; }
  /// Returns the credit that the peer has if it received all grants.
  std::uint32_t peer_knows() const noexcept { return told_ - arrived_; }
  /// The number that a message takes along.
  std::uint32_t tell() noexcept { return told_ = granted_; }

  // What may be sent to the peer.

  /// The peer said so outside of messages.
  void take_terms(std::uint32_t granted) noexcept { peer_granted_ = granted; }
  /// False when that takes credit back, or is beyond every limit.
  bool take_grant(std::uint32_t granted) noexcept {
    if (granted - peer_granted_ > most_ || granted - sent_ > most_) return false;
    peer_granted_ = granted;
    return true;
  }
  std::uint32_t left() const noexcept { return peer_granted_ - sent_; }
  void spend(std::uint32_t units) noexcept { sent_ += units; }

 private:
  std::uint32_t most_;
  std::uint32_t granted_ = 0;
  std::uint32_t told_ = 0;
  std::uint32_t arrived_ = 0;
  std::uint32_t peer_granted_ = 0;
  std::uint32_t sent_ = 0;
};

}  // namespace weft::detail
