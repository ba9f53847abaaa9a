// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>

#include "transport/verbs/carrier_turn.hpp"
#include "transport/verbs/message_sender.hpp"
#include "transport/verbs/offered_bytes.hpp"
#include "weft/detail/transport/carrier.hpp"

namespace weft::detail::verbs_carrier {

/// Sends a carrier's bytes: in messages, or offers them, whichever is next. The bytes before an offer go in
/// its message if they are few.
///
///   free --send() meets no credit, place or memory, or all is begun--> blocked --take_writable()--> free
///
/// Thread: its loop's.
class OutgoingBytes {
 public:
  /// Our own messages have up to `message_bytes`.
  OutgoingBytes(OfferedBytes& offered, MessageSender& sender, CarrierTurn& turn,
                std::size_t message_bytes) noexcept
      : offered_(offered), sender_(sender), turn_(turn), message_bytes_(message_bytes) {}

  /// Does what Carrier::send() says, on a carrier that is not lost.
  Moved send(std::span<const iovec> from, std::size_t leased);
  /// True if the owner waits and another attempt can make progress: the caller then notifies the owner.
  bool take_writable() noexcept {
    if (!blocked_ || (!turn_.failed() && !offered_.may_get_on(sender_.may_send_bytes()))) return false;
    blocked_ = false;
    return true;
  }

 private:
  /// Part of the queued bytes that fits into one message.
  struct Part {
    std::size_t bytes = 0;
    /// Number of whole pieces of the part if it ends before an offer, otherwise 0.
    std::size_t pieces_before_offer = 0;
  };

  std::size_t room() const noexcept;
  Part next_part(std::span<const iovec> from);
  std::size_t send_part(std::span<const iovec> from, const Part& part);
  bool may_join(const Part& part) noexcept;
  bool join(std::span<const iovec> from, const Part& part);
  Moved send_around_offers(std::span<const iovec> from, std::size_t leased);
  bool begin_next(std::span<const iovec> from, std::size_t leased, bool is_cut);

  OfferedBytes& offered_;
  MessageSender& sender_;
  CarrierTurn& turn_;
  const std::size_t message_bytes_;
  bool blocked_ = false;
};

}  // namespace weft::detail::verbs_carrier
