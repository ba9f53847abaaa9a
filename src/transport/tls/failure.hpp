// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "transport/tls/handles.hpp"
#include "transport/tls/openssl.hpp"
#include "weft/detail/base/status.hpp"

namespace weft::detail::tls {

/// Returns the failure of a call of OpenSSL on `ssl`, of `side`, with advice; empties the thread's queue of
/// errors. kUnauthenticated for a certificate's fault, kResourceExhausted when memory is exhausted, else
/// kInvalidArgument: the peer violated the protocol.
Status failure_of(SSL& ssl, Side side) noexcept;

/// Returns what went wrong in a call of OpenSSL that set something up. `what` names the option.
Status setup_failure(const std::string& what) noexcept;

/// Failure of a connection for whose TLS there is no memory.
inline constexpr FixedFailure kNoMemoryForTls{StatusCode::kResourceExhausted, Layer::kTransport,
                                              Retry::kBackoff, "out of memory for TLS"};

/// Failure for a peer whose first byte is not a TLS record's.
Status not_tls(Side side) noexcept;

}  // namespace weft::detail::tls
