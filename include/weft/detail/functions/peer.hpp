// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/calls/peers/call_peer.hpp"
#include "weft/detail/calls/serve/call_context.hpp"
#include "weft/detail/functions/function_caller.hpp"

namespace weft {

/// Calls functions of a peer: a detail::CallPeer that encodes arguments and decodes results with the codec. A
/// client registers the functions (Client::register_handler), and a server calls them: `co_await
/// context.peer().call<f>(x)`. Thread and lifetime: as for detail::CallPeer.
///
/// Calls have the timeout of ServerOptions::peer_call_timeout, or that of their options or of the handler's
/// caller, if shorter. They carry only metadata from CallOptions. Errors: those of FunctionCaller::call;
/// kUnimplemented when the client has not registered the function; kResourceExhausted when the peer has too
/// much to send; kUnavailable, never repeated automatically, when the peer is gone.
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
