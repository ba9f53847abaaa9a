// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "transport/tls/client_context.hpp"
#include "transport/tls/handles.hpp"
#include "transport/tls/server_names.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/transport/tls.hpp"

namespace weft::detail::tls {

/// Reads the files of `options` and makes what connections to servers have in common. Errors:
/// kInvalidArgument, which names the option; kResourceExhausted.
Result<std::shared_ptr<ClientContext>> make_client_context(const TlsOptions& options);
/// The same for connections of clients.
Result<std::shared_ptr<ServerNames>> make_server_contexts(const TlsOptions& options);

/// Makes the TLS of one connection to `host`, whose certificate has to be made out for it. Errors:
/// kInvalidArgument when `host` is empty or longer than a name can be; kResourceExhausted.
Result<Owned<SSL>> make_client_ssl(SSL_CTX& context, const std::string& host, bool checked) noexcept;

}  // namespace weft::detail::tls
