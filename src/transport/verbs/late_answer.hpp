// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "transport/message_protocol.hpp"
#include "transport/verbs/carrier_turn.hpp"
#include "weft/detail/runtime/turn_end_hook.hpp"

namespace weft::detail::verbs_carrier {

/// Holds back the word that something was fetched, so that it leaves with the bytes that are sent in the same
/// turn: a message of its own costs both sides as much as the call that it belongs to.
///
///   none --begin()--> waits --the turn ends--> waits on --the next one ends--> none: told by itself
///                       |                         |
///                       '-------------------------+--bytes left with it, end()--> none
///
/// The connection sends at the end of the turn too, before us or behind us: hence the next one. A loop with
/// this to do does not sleep. Thread: its loop's.
class LateAnswer final : private TurnEndHook {
 public:
  /// `on_late` is called with `context` when nothing took it along.
  LateAnswer(MessageProtocol& protocol, CarrierTurn& turn, void (*on_late)(void*) noexcept,
             void* context) noexcept
      : protocol_(protocol), turn_(turn), on_late_(on_late), context_(context) {}

  /// Lets wait what was fetched until now, and in this turn.
  void begin() noexcept {
    if (state_ == State::kNone) state_ = State::kWaits;
    turn_.at_turn_end(*this);
  }
  /// It is told by itself as soon as may be, or was told.
  void end() noexcept {
    state_ = State::kNone;
    TurnEndHook::unlink();
  }
  /// Nothing else is to be told, and this is not yet.
  bool waits() const noexcept {
    return state_ != State::kNone && protocol_.wanted() == bit_of(MessageKind::kFetched);
  }

 private:
  enum class State : std::uint8_t { kNone, kWaits, kWaitsOn };

  void on_turn_end() override {
    if (state_ == State::kWaits && waits()) {
      state_ = State::kWaitsOn;
      return turn_.at_turn_end(*this);
    }
    state_ = State::kNone;
    on_late_(context_);
  }

  MessageProtocol& protocol_;
  CarrierTurn& turn_;
  void (*const on_late_)(void*) noexcept;
  void* const context_;
  State state_ = State::kNone;
};

}  // namespace weft::detail::verbs_carrier
