// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/tls/handles.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft::detail::tls {

/// Returns who the certificate of the peer is made out for, if the peer has shown one and it was checked and
/// found good; else nobody, also when memory is out. Once the handshake is over.
Identity identity_of_peer(SSL& ssl) noexcept;

}  // namespace weft::detail::tls
