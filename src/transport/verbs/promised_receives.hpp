// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/message_protocol.hpp"
#include "transport/verbs/carrier_turn.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/transport/verbs.hpp"

namespace weft::detail::verbs_carrier {

class ReceivePool;
struct SpareTag;

/// Receives that are promised to one carrier, which are its peer's credit, and the slots that the carrier
/// holds.
///
///   promised  >=  messages that the peer may still send  +  held (slots of arrived messages)
///   held      >=  lent (slots that are read in place)
///
///   promised --grant--> the peer's credit --came()--> held --gave_back()--> promised
///                              |                         '--lend()--> lent --lent_back()--> promised
///                              '--returned()--> back to the pool
///
/// This class records grants and control messages in the protocol; the caller sends them. Thread: the loop's.
class PromisedReceives final : public ListHook<SpareTag> {
 public:
  PromisedReceives(ReceivePool& pool, MessageProtocol& protocol, CarrierTurn& turn,
                   const VerbsOptions& options) noexcept
      : pool_(pool), protocol_(protocol), turn_(turn), options_(options) {}

  /// The pool has promised credits_min.
  void begin() noexcept;
  /// A message came. False when the peer may not have sent it: its slot is not held then.
  bool came() noexcept {
    if (!protocol_.credit().use(1)) [[unlikely]]
      return came_without_credit();
    ++held_;
    if (promised_ > options_.credits_min) note_use();
    return true;
  }
  /// A slot of a message that came is back in the pool: its receive is promised again. `about_an_offer`:
  /// something is offered, by us or by the peer, so that an answer is waited for.
  void gave_back(bool about_an_offer) noexcept;
  /// Another slot may be lent: a peer whose messages are all being looked at may send nothing.
  bool may_lend() const noexcept;
  void lend(bool about_an_offer) noexcept;
  void lent_back(bool about_an_offer) noexcept;
  /// Takes back credit that the peer was asked to return. Returns false if the peer did not have this much
  /// credit.
  bool returned(std::uint32_t credits) noexcept;
  /// Asks the peer to return unneeded credit. Returns false if the credit of the peer does not exceed its
  /// share.
  bool ask_back() noexcept;
  /// Excludes one receive from the ones given up by end(), because the device may have taken it. Returns 1,
  /// or 0 when none is left.
  std::size_t leave_one() noexcept;
  /// Gives up all receives that are not lent. Lent receives return later and are not available to other
  /// carriers until then.
  void end() noexcept;

 private:
  std::size_t in_use() const noexcept { return protocol_.credit().peer_may_send() + held_; }
  bool came_without_credit() noexcept;
  void note_use() noexcept;
  void grant(bool about_an_offer) noexcept;
  void tell_if_due(bool about_an_offer) noexcept;

  ReceivePool& pool_;
  MessageProtocol& protocol_;
  CarrierTurn& turn_;
  const VerbsOptions& options_;
  std::size_t promised_ = 0;
  std::size_t held_ = 0;
  std::size_t lent_ = 0;
};

}  // namespace weft::detail::verbs_carrier
