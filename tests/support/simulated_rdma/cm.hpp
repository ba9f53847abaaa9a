// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>

#include "support/simulated_cm.hpp"
#include "support/simulated_rdma/network.hpp"

/// Objects behind the handles of the simulated connection manager. Guarded by the mutex of the network.
namespace weft::testing::simulated {

using verbs::CmEvent;

struct CmChannelObject {
  Events<CmEvent> events;
};

/// One side's description of its queue pair.
struct CmSide {
  Device* device = nullptr;
  verbs::CmParameters parameters;
  std::uint32_t packet_sequence = 0;
};

struct CmIdObject {
  enum class State : std::uint8_t { kIdle, kListening, kAddress, kRoute, kAsks, kIsAsked, kConnected, kOver };

  CmChannelObject* channel = nullptr;
  State state = State::kIdle;
  /// Port: of a listener its own, of one that connects the peer's.
  std::uint16_t port = 0;
  CmIdObject* peer = nullptr;
  CmSide own;
  CmSide theirs;
};

/// Every function is called with the mutex held.
struct CmState {
  struct Turn {
    CmEvent::Kind kind;
    /// None: it is lost.
    std::optional<CmEvent::Kind> into;
    int status = 0;
  };

  Pool<CmChannelObject> channels;
  Pool<CmIdObject> ids;
  std::optional<Turn> turn;
  bool hold = false;
  std::deque<std::pair<CmChannelObject*, CmEvent>> held;
  Device* from = nullptr;
  Device* to = nullptr;
  std::uint16_t next_port = 40001;
  std::uint32_t next_sequence = 0x1000;

  CmIdObject* add(CmChannelObject& channel);
  CmIdObject* listener(std::uint16_t port) const;
  /// An event about `id`, on its channel.
  void tell(CmIdObject& id, CmEvent::Kind kind, int status = 0, const verbs::CmParameters& parameters = {});
  void lose(CmIdObject& id, CmEvent::Kind kind);
  /// The two know each other no more; the other one hears of `kind`.
  void part(CmIdObject& id, CmEvent::Kind kind, int status);
  void remove(CmIdObject& id);
};

inline CmChannelObject& object(verbs::CmChannel* channel) {
  return *reinterpret_cast<CmChannelObject*>(channel);
}
inline CmIdObject& object(verbs::CmId* id) {
  return *reinterpret_cast<CmIdObject*>(id);
}
inline verbs::CmId* handle(CmIdObject& id) {
  return reinterpret_cast<verbs::CmId*>(&id);
}

}  // namespace weft::testing::simulated
