// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/calls/call_context.hpp"
#include "weft/detail/calls/call_peer.hpp"
#include "weft/detail/functions/function_caller.hpp"

namespace weft {

/// Calls functions of a peer: a detail::CallPeer whose arguments and results are written and read by the
/// codec. A client registers them (Client::register_handler), and a server calls them: `co_await
/// context.peer().call<f>(x)`. Thread, life: as detail::CallPeer.
///
/// Calls have the time of ServerOptions::peer_call_timeout, or what their options or the handler's caller
/// leave. They carry no metadata but what CallOptions give them. Errors: those of FunctionCaller::call;
/// kUnimplemented when the client has not registered the function; kResourceExhausted when it has too much to
/// send; kUnavailable, never repeated by itself, when the peer is gone.
class Peer final : public detail::CallPeer, public detail::FunctionCaller<Peer> {
 public:
  using detail::CallPeer::CallPeer;
  Peer(const Peer& other) noexcept : detail::CallPeer(other), detail::FunctionCaller<Peer>() {}
  Peer& operator=(const Peer& other) noexcept {
    detail::CallPeer::operator=(other);
    return *this;
  }
};

inline Peer CallContext::peer() const {
  return Peer{peer_target()};
}

}  // namespace weft
