// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <mutex>

#include "transport/tls/openssl.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail::tls {

/// Keys by which a server encrypts the sessions that its clients bring back to it (tickets, RFC 5077 section
/// 4). A key is used for one lifetime, read for another, and zeroed then. Thread: any.
class TicketKeys {
 public:
  explicit TicketKeys(Duration lifetime) noexcept : lifetime_(lifetime) {}
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;
  ~TicketKeys();

  /// Takes a new key when that of now is older than its lifetime, or there is none.
  void see(TimePoint now) noexcept;
  /// Has connections of `context` use them; they must outlive these. False when memory is exhausted.
  bool use_in(SSL_CTX& context) noexcept;

 private:
  static constexpr std::size_t kNameBytes = 16;
  struct Key {
    std::array<unsigned char, kNameBytes> name;
    std::array<unsigned char, 32> cipher;
    std::array<unsigned char, 32> digest;
    bool good = false;
  };

  static TicketKeys* of(SSL* ssl) noexcept;
  static int on_ticket(SSL* ssl, unsigned char* name, unsigned char* vector, EVP_CIPHER_CTX* cipher,
                       EVP_MAC_CTX* digest, int encrypts) noexcept;
  static SSL_TICKET_RETURN on_session(SSL* ssl, SSL_SESSION* session, const unsigned char* name,
                                      std::size_t bytes, SSL_TICKET_STATUS status, void* arg) noexcept;
  int set_up(unsigned char* name, unsigned char* vector, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* digest,
             bool encrypts) noexcept;

  const Duration lifetime_;
  std::mutex mutex_;
  Key now_;
  Key before_;
  TimePoint taken_{};
};

/// The certificate that `session` was begun with, the peer's, has expired meanwhile.
bool peer_has_expired(const SSL_SESSION& session) noexcept;

}  // namespace weft::detail::tls
