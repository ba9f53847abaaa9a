// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/fitness.hpp"

#include "transport/tls/openssl.hpp"

namespace weft::detail::tls {

namespace {

constexpr FixedFailure kExpired{StatusCode::kFailedPrecondition, Layer::kTransport, Retry::kNever,
                                "TlsOptions::certificates: the certificate has expired; renew it"};
constexpr FixedFailure kNotYetValid{
    StatusCode::kFailedPrecondition, Layer::kTransport, Retry::kBackoff,
    "TlsOptions::certificates: the certificate is not yet valid; wait, or set the "
    "clock of this machine"};
constexpr FixedFailure kOtherPurpose{StatusCode::kFailedPrecondition, Layer::kTransport, Retry::kNever,
                                     "TlsOptions::certificates: the certificate is for another purpose: the "
                                     "extended key usage of a server's has to "
                                     "have serverAuth, of a client's clientAuth"};
constexpr FixedFailure kNoValidCa{StatusCode::kFailedPrecondition, Layer::kTransport, Retry::kBackoff,
                                  "TlsOptions::ca_file or ca_pem: no CA in it is valid now; renew it"};
constexpr FixedFailure kOldList{
    StatusCode::kFailedPrecondition, Layer::kTransport, Retry::kBackoff,
    "TlsOptions::crl_file or crl_pem: the list of a CA is out of date, so no certificate "
    "of that CA would be accepted; renew the list"};

bool has_begun(const X509& certificate) noexcept {
  return X509_cmp_current_time(X509_get0_notBefore(&certificate)) < 0;
}

bool has_ended(const X509& certificate) noexcept {
  return X509_cmp_current_time(X509_get0_notAfter(&certificate)) <= 0;
}

Status fitness_of_own(X509& own, Side side) noexcept {
  if (has_ended(own)) return Status::of<kExpired>();
  if (!has_begun(own)) return Status::of<kNotYetValid>();
  const int purpose = side == Side::kServer ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT;
  return X509_check_purpose(&own, purpose, 0) == 1 ? Status{} : Status::of<kOtherPurpose>();
}

bool is_current(const X509_CRL& list) noexcept {
  const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(&list);
  return X509_cmp_current_time(X509_CRL_get0_lastUpdate(&list)) < 0 &&
         (next == nullptr || X509_cmp_current_time(next) > 0);
}

bool has_current_list(const STACK_OF(X509_OBJECT) & objects, const X509_NAME* ca) noexcept {
  for (int i = 0; i < sk_X509_OBJECT_num(&objects); ++i) {
    const X509_CRL* const list = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(&objects, i));
    if (list != nullptr && X509_NAME_cmp(X509_CRL_get_issuer(list), ca) == 0 && is_current(*list))
      return true;
  }
  return false;
}

Status fitness_of_store(const STACK_OF(X509_OBJECT) & objects) noexcept {
  bool has_ca = false;
  bool has_valid_ca = false;
  for (int i = 0; i < sk_X509_OBJECT_num(&objects); ++i) {
    const X509_OBJECT* const object = sk_X509_OBJECT_value(&objects, i);
    if (const X509* const ca = X509_OBJECT_get0_X509(object)) {
      has_ca = true;
      has_valid_ca = has_valid_ca || (has_begun(*ca) && !has_ended(*ca));
    }
    const X509_CRL* const list = X509_OBJECT_get0_X509_CRL(const_cast<X509_OBJECT*>(object));
    if (list != nullptr && !has_current_list(objects, X509_CRL_get_issuer(list)))
      return Status::of<kOldList>();
  }
  return has_ca && !has_valid_ca ? Status::of<kNoValidCa>() : Status{};
}

}  // namespace

Status fitness_of(SSL_CTX& context, Side side) noexcept {
  if (X509* const own = SSL_CTX_get0_certificate(&context)) {
    if (Status fitness = fitness_of_own(*own, side); !fitness.ok()) return fitness;
  }
  // Handshakes on other threads sort the objects of a store that is in use.
  X509_STORE* const store = SSL_CTX_get_cert_store(&context);
  if (X509_STORE_lock(store) != 1) return {};
  const auto* const objects = X509_STORE_get0_objects(store);
  Status fitness = objects != nullptr ? fitness_of_store(*objects) : Status{};
  X509_STORE_unlock(store);
  ERR_clear_error();
  return fitness;
}

}  // namespace weft::detail::tls
