// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "transport/tls/openssl.hpp"

namespace weft::detail::tls {

/// Gives an object of OpenSSL back.
struct Free {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
  void operator()(SSL_SESSION* session) const noexcept { SSL_SESSION_free(session); }
  void operator()(X509_CRL* list) const noexcept { X509_CRL_free(list); }
  void operator()(BIO_METHOD* method) const noexcept { BIO_meth_free(method); }
};

template <typename T>
using Owned = std::unique_ptr<T, Free>;

/// The two ends of a handshake.
enum class Side : bool { kClient, kServer };

}  // namespace weft::detail::tls
