// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "transport/message_credit.hpp"
#include "transport/message_header.hpp"
#include "weft/detail/base/status.hpp"

namespace weft::detail {

/// The common part of the kinds of a carrier; those of a rendezvous, and credit that goes back, are added.
inline constexpr std::uint32_t kCommonMessageKinds =
    bit_of(MessageKind::kProbe) | bit_of(MessageKind::kBytes) | bit_of(MessageKind::kCredit) |
    bit_of(MessageKind::kEnd) | bit_of(MessageKind::kEndTaken);

/// The protocol of two ends of a connection over messages: permission to send, due messages, the end of each
/// side. It posts nothing and keeps no bytes: the carrier asks it for due messages, and reports arrived ones.
///
///   sending      open --end()--> kEnd is wanted --stamp--> end_left() --kEndTaken arrives--> peer_took_end()
///   receiving    silent --kProbe--> heard --kEnd--> end_arrived() --kEndTaken is stamped--> end_taken_left()
///
/// A message that the peer may not send sets misbehaved(), and nothing is accepted after it.
class MessageProtocol {
 public:
  struct Rules {
    std::uint32_t kinds = kCommonMessageKinds;
    /// Neither side can be granted more than this at a time.
    std::uint32_t credit_max = 0;
    /// Each message takes one unit of credit, because a receive stands for it. Otherwise only bytes do, and
    /// the carrier says how much.
    bool all_cost = false;
    /// Credit that is left when unneeded credit is returned.
    std::uint32_t credit_due = 0;
    /// Name of the carrier, for people: "over UCX".
    const char* over = "";

    /// Messages with bytes do, where there is anything to fetch.
    bool tells_fetched(MessageKind kind) const noexcept {
      return has_bytes(kind) && (kinds & bit_of(MessageKind::kFetched)) != 0;
    }
  };
  struct Control {
    constexpr Control(MessageKind its_kind, std::uint32_t its_value = 0, std::uint8_t its_runs = 0) noexcept
        : kind(its_kind), value(its_value), runs(its_runs) {}
    MessageKind kind;
    std::uint32_t value;
    /// Number of runs, of an offer.
    std::uint8_t runs;
  };

  explicit MessageProtocol(const Rules& rules) noexcept : rules_(rules), credit_(rules.credit_max) {}

  MessageCredit& credit() noexcept { return credit_; }
  const MessageCredit& credit() const noexcept { return credit_; }

  // Incoming messages.

  /// Returns how many messages are due before this one.
  std::uint32_t ahead(const MessageHeader& header) const noexcept { return header.sequence - taken_; }
  /// Returns how many were taken.
  std::uint32_t taken() const noexcept { return taken_; }
  /// Validates the message by itself, independent of its order. Returns false if the peer has misbehaved.
  bool check(const MessageHeader& header, std::size_t content_bytes) noexcept;
  /// Takes the next one in order, which was checked. True when the rest is the carrier's: bytes, their end,
  /// a rendezvous, or credit that goes back.
  bool take(const MessageHeader& header) noexcept;
  bool heard() const noexcept { return heard_; }
  bool end_arrived() const noexcept { return end_arrived_; }
  void misbehaved(const char* what) noexcept {
    if (misbehaviour_ == nullptr) misbehaviour_ = what;
  }
  /// The peer's first misdeed: kInvalidArgument; OK when there was none.
  Status misbehaviour() const;
  bool misbehaves() const noexcept { return misbehaviour_ != nullptr; }

  // What goes.

  /// Requests that a control message is sent. `amount` is added to its value if it has one.
  void want(MessageKind kind, std::uint32_t amount = 0) noexcept;
  /// It is not, unless it has left.
  void forget(MessageKind kind) noexcept { wanted_ &= ~bit_of(kind); }
  bool wants(MessageKind kind) const noexcept { return (wanted_ & bit_of(kind)) != 0; }
  /// Returns the value that a control message of this kind would have now.
  std::uint32_t value_of(MessageKind kind) const noexcept;
  /// Returns the kinds of all wanted messages, one bit each.
  std::uint32_t wanted() const noexcept { return wanted_; }
  /// Returns the next control message that may be sent; obsolete ones are dropped. The state changes only
  /// when it is stamped, so that a failed posting is tried again.
  std::optional<Control> due() noexcept;
  /// There is credit for a message of `units` with bytes.
  bool may_send_bytes() const noexcept {
    return credit_.left() > (rules_.all_cost ? MessageCredit::kKeptByBytes : 0);
  }
  /// Returns the head of a message that is being posted, which counts as sent. A message with data also
  /// reports fetched bytes. `units` is its cost in credit where costs differ.
  MessageHeader stamp(Control control, std::uint32_t units = 0) noexcept;
  void end() noexcept {
    ended_ = true;
    want(MessageKind::kEnd);
  }
  /// The peer's end was received. False when it knows already.
  bool take_end() noexcept {
    if (!end_taken_left_) want(MessageKind::kEndTaken);
    return !end_taken_left_;
  }
  bool ended() const noexcept { return ended_; }
  bool end_left() const noexcept { return end_left_; }
  bool end_taken_left() const noexcept { return end_taken_left_; }
  bool peer_took_end() const noexcept { return peer_took_end_; }

 private:
  bool has_credit_for(MessageKind kind) const noexcept;

  const Rules rules_;
  MessageCredit credit_;
  const char* misbehaviour_ = nullptr;
  std::uint32_t taken_ = 0;
  std::uint32_t stamped_ = 0;
  /// Kinds of control messages to be sent, a bit each.
  std::uint32_t wanted_ = 0;
  /// Values of the kinds that accumulate: kFetched, kDecline, kPlace.
  std::array<std::uint32_t, 3> amounts_{};
  bool heard_ = false;
  bool end_arrived_ = false;
  bool ended_ = false;
  bool end_left_ = false;
  bool end_taken_left_ = false;
  bool peer_took_end_ = false;
};

}  // namespace weft::detail
