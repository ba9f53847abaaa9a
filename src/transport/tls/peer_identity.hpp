// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/tls/handles.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft::detail::tls {

/// Returns the identity in the peer's certificate, if the peer has shown a valid one; otherwise the anonymous
/// identity, also when memory is exhausted. Call it once the handshake is over.
Identity identity_of_peer(SSL& ssl) noexcept;

}  // namespace weft::detail::tls
