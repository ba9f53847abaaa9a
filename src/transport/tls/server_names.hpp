// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "transport/tls/handles.hpp"
#include "transport/tls/ticket_keys.hpp"

namespace weft::detail::tls {

/// Contexts of a server, one for each of its certificates, chosen by the client's server name (SNI), and the
/// keys of their tickets.
class ServerNames {
 public:
  ServerNames(std::vector<Owned<SSL_CTX>> contexts, Duration session_lifetime) noexcept;
  ServerNames(const ServerNames&) = delete;
  ServerNames& operator=(const ServerNames&) = delete;

  /// Called before the first connection. False when memory is exhausted.
  bool open() noexcept;
  const std::vector<Owned<SSL_CTX>>& contexts() const noexcept { return contexts_; }
  TicketKeys& ticket_keys() noexcept { return keys_; }

  /// Makes the TLS of one connection. Null when memory is exhausted. Thread: any.
  Owned<SSL> make() const noexcept;

 private:
  static int choose(SSL* ssl, int* alert, void* names) noexcept;

  TicketKeys keys_;
  const std::vector<Owned<SSL_CTX>> contexts_;
};

}  // namespace weft::detail::tls
