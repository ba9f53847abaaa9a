// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/server_names.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/tls/openssl.hpp"

namespace weft::detail::tls {

ServerNames::ServerNames(std::vector<Owned<SSL_CTX>> contexts, Duration session_lifetime) noexcept
    : keys_(session_lifetime), contexts_(std::move(contexts)) {}

// The choice is made by the first: all connections begin with it. This object stands still from here on.
bool ServerNames::open() noexcept {
  SSL_CTX* const first = contexts_.front().get();
  SSL_CTX_callback_ctrl(first, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB, reinterpret_cast<void (*)()>(choose));
  SSL_CTX_ctrl(first, SSL_CTRL_SET_TLSEXT_SERVERNAME_ARG, 0, this);
  return std::ranges::all_of(contexts_, [this](const auto& context) { return keys_.use_in(*context); });
}

Owned<SSL> ServerNames::make() const noexcept {
  Owned<SSL> ssl{SSL_new(contexts_.front().get())};
  if (ssl == nullptr) ERR_clear_error();
  return ssl;
}

int ServerNames::choose(SSL* ssl, int*, void* names) noexcept {
  const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (name == nullptr) return SSL_TLSEXT_ERR_NOACK;
  for (const auto& context : static_cast<const ServerNames*>(names)->contexts_) {
    X509* const certificate = SSL_CTX_get0_certificate(context.get());
    if (X509_check_host(certificate, name, std::strlen(name), 0, nullptr) != 1) continue;
    SSL_set_SSL_CTX(ssl, context.get());
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

}  // namespace weft::detail::tls
