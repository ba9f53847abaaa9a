// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/message_protocol.hpp"
#include "transport/verbs/carrier_turn.hpp"
#include "transport/verbs/limits.hpp"
#include "weft/detail/runtime/turn_end_hook.hpp"

namespace weft::detail::verbs_carrier {

/// Holds back the word that something was fetched, so that it leaves with the bytes that are sent in the same
/// turn: a message of its own costs both sides as much as the call that it belongs to.
///
///   none --begin()--> waits --the turn ends, and the connections have sent--> none: told by itself
///                       |
///                       '--bytes left with it, end()--> none
///
/// Thread: its loop's.
class FetchedNotice final : private TurnEndHook {
 public:
  /// `on_late` is called with `context` when nothing took it along.
  FetchedNotice(MessageProtocol& protocol, CarrierTurn& turn, void (*on_late)(void*) noexcept,
                void* context) noexcept
      : protocol_(protocol), turn_(turn), on_late_(on_late), context_(context) {}

  /// Delays the notice for everything fetched so far and for the rest of this turn.
  void begin() noexcept { turn_.at_turn_end(*this); }
  /// Stops the delay: the notice is about to be sent, or was sent.
  void end() noexcept { TurnEndHook::unlink(); }
  /// True while the notice may wait: nothing else is due to be sent, and the fetched bytes are too few to
  /// block their sender.
  bool waits() const noexcept {
    return TurnEndHook::queued() && protocol_.wanted() == bit_of(MessageKind::kFetched) &&
           protocol_.value_of(MessageKind::kFetched) <= kFetchedWaitsMax;
  }

 private:
  void on_turn_end() override { on_late_(context_); }

  MessageProtocol& protocol_;
  CarrierTurn& turn_;
  void (*const on_late_)(void*) noexcept;
  void* const context_;
};

}  // namespace weft::detail::verbs_carrier
