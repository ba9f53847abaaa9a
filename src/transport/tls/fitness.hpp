// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/tls/handles.hpp"
#include "transport/tls/openssl.hpp"
#include "weft/detail/base/status.hpp"

namespace weft::detail::tls {

/// Checks by the clock that peers can accept the own certificate of `context`, and that its CAs and lists of
/// revoked certificates can let a peer in. Errors: kFailedPrecondition names the option and the fault; its
/// retry() is kBackoff for a fault that time mends, such as a certificate that is not yet valid. Any thread.
Status fitness_of(SSL_CTX& context, Side side) noexcept;

}  // namespace weft::detail::tls
