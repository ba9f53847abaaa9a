// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "integration/carrier_handlers.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "integration/raw_carrier_peer.hpp"
#include "support/wire_bytes.hpp"

namespace weft::carrier_testing {

using namespace weft::detail;

/// Something that a peer may not do once its carrier is up.
template <typename Peer>
struct Misdeed {
  const char* name;
  void (*commit)(Peer& peer);
};

/// Lists the misdeeds over any carrier, in the messages of `Peer`, and then `own`.
template <typename Peer>
std::vector<Misdeed<Peer>> misdeeds_with(std::vector<Misdeed<Peer>> own) {
  using Kind = typename Peer::Kind;
  std::vector<Misdeed<Peer>> all{
      {"the end in the middle of a frame",
       [](Peer& peer) {
         peer.send(Kind::kBytes, faults::request_bytes<&add>(5, 1, 2).substr(0, 40));
         peer.send(Kind::kEnd);
       }},
      {"an end was taken, which was not sent", [](Peer& peer) { peer.send(Kind::kEndTaken); }},
      {"a carrier frame over the carrier",
       [](Peer& peer) {
         peer.send(Kind::kBytes, wire::encode_carrier_frame({wire::CarrierStep::kUp, peer.kind(), {}}));
       }},
      {"a frame that is none", [](Peer& peer) { peer.send(Kind::kBytes, std::string(64, '\xAA')); }},
      {"a frame on the stream", [](Peer& peer) { peer.base().send(faults::request_bytes<&add>(5, 1, 2)); }}};
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

}  // namespace weft::carrier_testing
