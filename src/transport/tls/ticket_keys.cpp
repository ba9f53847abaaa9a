// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/ticket_keys.hpp"

#include <algorithm>
#include <utility>

#include "transport/tls/openssl.hpp"

namespace weft::detail::tls {

namespace {

int keys_index() noexcept {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

}  // namespace

TicketKeys::~TicketKeys() {
  OPENSSL_cleanse(&now_, sizeof now_);
  OPENSSL_cleanse(&before_, sizeof before_);
}

void TicketKeys::see(TimePoint now) noexcept {
  const std::lock_guard lock{mutex_};
  if (now_.good && now < taken_ + lifetime_) return;
  // One that was not used for a lifetime beyond its own has no tickets left that are not too old.
  const bool reads_on = now_.good && now < taken_ + 2 * lifetime_;
  if (reads_on) before_ = now_;
  if (!reads_on) OPENSSL_cleanse(&before_, sizeof before_);
  const auto random = [](auto& bytes) {
    return RAND_priv_bytes(bytes.data(), static_cast<int>(bytes.size()));
  };
  now_.good = random(now_.name) == 1 && random(now_.cipher) == 1 && random(now_.digest) == 1;
  taken_ = now;
}

bool TicketKeys::use_in(SSL_CTX& context) noexcept {
  if (SSL_CTX_set_ex_data(&context, keys_index(), this) != 1) return false;
  return SSL_CTX_set_tlsext_ticket_key_evp_cb(&context, on_ticket) == 1 &&
         SSL_CTX_set_session_ticket_cb(&context, nullptr, on_session, nullptr) == 1;
}

// The context may be another than that of the beginning, by the name that the client asks for; all have
// these.
TicketKeys* TicketKeys::of(SSL* ssl) noexcept {
  return static_cast<TicketKeys*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), keys_index()));
}

int TicketKeys::on_ticket(SSL* ssl, unsigned char* name, unsigned char* vector, EVP_CIPHER_CTX* cipher,
                          EVP_MAC_CTX* digest, int encrypts) noexcept {
  TicketKeys* const keys = of(ssl);
  return keys == nullptr ? 0 : keys->set_up(name, vector, cipher, digest, encrypts == 1);
}

// 1: goes on; 0: no ticket, or not one of ours; below: failed.
int TicketKeys::set_up(unsigned char* name, unsigned char* vector, EVP_CIPHER_CTX* cipher,
                       EVP_MAC_CTX* digest, bool encrypts) noexcept {
  const std::lock_guard lock{mutex_};
  const Key* key = &now_;
  if (encrypts) {
    if (!now_.good) return 0;
    if (RAND_bytes(vector, EVP_MAX_IV_LENGTH) != 1) return -1;
    std::ranges::copy(now_.name, name);
  } else {
    const auto is_of = [&](const Key& one) {
      return one.good && CRYPTO_memcmp(one.name.data(), name, kNameBytes) == 0;
    };
    if (!is_of(now_)) key = &before_;
    if (!is_of(*key)) return 0;
  }
  char sha256[] = "SHA256";
  auto secret = key->digest;
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, secret.data(), secret.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, sha256, 0), OSSL_PARAM_construct_end()};
  const bool well = EVP_MAC_CTX_set_params(digest, parameters) == 1 &&
                    EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key->cipher.data(), vector,
                                      encrypts ? 1 : 0) == 1;
  OPENSSL_cleanse(secret.data(), secret.size());
  return well ? 1 : -1;
}

SSL_TICKET_RETURN TicketKeys::on_session(SSL*, SSL_SESSION* session, const unsigned char*, std::size_t,
                                         SSL_TICKET_STATUS status, void*) noexcept {
  const bool good = status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW;
  return good && !peer_has_expired(*session) ? SSL_TICKET_RETURN_USE_RENEW : SSL_TICKET_RETURN_IGNORE_RENEW;
}

bool peer_has_expired(const SSL_SESSION& session) noexcept {
  // It only reads, and says so nowhere.
  const X509* const certificate = SSL_SESSION_get0_peer(const_cast<SSL_SESSION*>(&session));
  return certificate != nullptr && X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0;
}

}  // namespace weft::detail::tls
