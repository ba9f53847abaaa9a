// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "transport/tls/handles.hpp"

namespace weft::detail::tls {

/// Contexts of a server, one for each of its certificates, of which a client's name (SNI) picks one.
class ServerNames {
 public:
  explicit ServerNames(std::vector<Owned<SSL_CTX>> contexts) noexcept;

  /// Makes the TLS of one connection. Null when memory is out. Thread: any.
  Owned<SSL> make() const noexcept;

 private:
  static int choose(SSL* ssl, int* alert, void* names) noexcept;

  const std::vector<Owned<SSL_CTX>> contexts_;
};

}  // namespace weft::detail::tls
