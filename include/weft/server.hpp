// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

#include <memory>
#include <utility>

#include "weft/detail/calls/server/call_server.hpp"
#include "weft/detail/calls/terms/transfer_progress.hpp"
#include "weft/detail/functions/function_server.hpp"
#include "weft/detail/functions/peer.hpp"
#include "weft/detail/functions/peers.hpp"
#include "weft/transports.hpp"

namespace weft {

/// Serves functions to any number of connections: a detail::CallServer whose arguments and results are read
/// and written by the codec. Handlers are registered before start(). Thread, life: as detail::CallServer.
class Server final : public detail::CallServer, public detail::FunctionServer<Server> {
 public:
  /// Listens over all transports of this build, its own ones.
  explicit Server(ServerOptions options, TransportOptions transports = {});
  /// Listens over these transports, which may be shared with other servers and clients.
  Server(ServerOptions options, Transports transports);

  /// The peers that are connected, on all loops, to find one and to call all. Thread: any, once start() has
  /// returned; what this gives may outlive the server.
  Peers peers() const { return Peers{peer_board()}; }
  /// Calls `connected(Peer)` for each peer after its hello, and `gone(Peer)` after its connection has ended.
  /// Both run on the peer's loop, so concurrently if there are several loops. In `gone` the peer still has
  /// its tag. An exception from either function ends the connection. Objects to which the functions refer
  /// must outlive the server. Call this before start().
  template <typename Connected, typename Gone>
  void on_peers(Connected connected, Gone gone) {
    set_peer_hooks([hook = std::move(connected)](
                       const std::shared_ptr<detail::PeerTarget>& its) mutable { hook(Peer{its}); },
                   [hook = std::move(gone)](const std::shared_ptr<detail::PeerTarget>& its) mutable {
                     hook(Peer{its});
                   });
  }

 private:
  Server(Transports transports, ServerOptions options);
};

}  // namespace weft

#pragma GCC diagnostic pop
