// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/failure.hpp"

#include "transport/tls/openssl.hpp"

namespace weft::detail::tls {

namespace {

constexpr FixedFailure kOpensslHasNoMemory{StatusCode::kResourceExhausted, Layer::kTransport,
                                           Retry::kReconnect, "out of memory for TLS"};

// Takes the oldest error of the thread, which says the most, and forgets the others.
unsigned long take_error() noexcept {
  const unsigned long error = ERR_peek_error();
  ERR_clear_error();
  return error;
}

std::string text_of(unsigned long error) {
  if (ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_EE_KEY_TOO_SMALL) {
    return "its key is too weak: use 2048 bits of RSA, or ECDSA";
  }
  if (ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_CA_MD_TOO_WEAK) {
    return "it is signed with a digest that is too weak: use SHA-256";
  }
  const char* const reason = ERR_reason_error_string(error);
  if (reason != nullptr) return reason;
  return error == 0 ? "no reason given" : "error " + std::to_string(error);
}

struct Words {
  long number;
  const char* text;
};

// Of a certificate that this side looked at.
constexpr Words kCertificates[] = {
    {X509_V_ERR_CERT_HAS_EXPIRED, "has expired: renew it, or set the clock of this machine"},
    {X509_V_ERR_CERT_NOT_YET_VALID, "is not yet valid: set the clock of this machine, or wait"},
    {X509_V_ERR_HOSTNAME_MISMATCH,
     "is for another host: connect by a name that it has, or set TlsOptions::server_name"},
    {X509_V_ERR_IP_ADDRESS_MISMATCH,
     "is for another host: it does not have this IP address; connect by a name that it has, or set "
     "TlsOptions::server_name"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
     "is of an unknown CA: add that to TlsOptions::ca_file, or let the peer send the chain"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, "is of an unknown CA: add that to TlsOptions::ca_file"},
    {X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
     "is of an unknown CA: add that to TlsOptions::ca_file, or let the peer send the chain"},
    {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
     "is self-signed: add it to TlsOptions::ca_file to believe exactly it, or have a CA sign one"},
    {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
     "is of a CA that is not believed here: add that to TlsOptions::ca_file"},
    {X509_V_ERR_INVALID_PURPOSE,
     "is for another purpose: the extended key usage of a server's has to have serverAuth, of a client's "
     "clientAuth"},
    {X509_V_ERR_EE_KEY_TOO_SMALL, "has a key that is too weak: use 2048 bits of RSA, or ECDSA"},
    {X509_V_ERR_CA_KEY_TOO_SMALL, "is of a CA whose key is too weak"},
    {X509_V_ERR_CA_MD_TOO_WEAK, "is signed with a digest that is too weak: use SHA-256"},
    {X509_V_ERR_CERT_REVOKED, "was revoked by its CA"},
    {X509_V_ERR_UNABLE_TO_GET_CRL,
     "is of a CA whose list of revoked certificates is not in TlsOptions::crl_file: each CA of the chain "
     "needs "
     "one"},
    {X509_V_ERR_CRL_HAS_EXPIRED,
     "is of a CA whose list of revoked certificates is out of date: renew TlsOptions::crl_file"},
    {X509_V_ERR_CRL_SIGNATURE_FAILURE,
     "is of a CA whose list of revoked certificates, in TlsOptions::crl_file, is not signed by it"},
};

// Of all else: what this side or the peer objects to.
constexpr Words kReasons[] = {
    {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE,
     "the client has no certificate, and TlsOptions::clients requires one"},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
     "the server wants a certificate of this side: set TlsOptions::certificates"},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA, "the peer does not know the CA of this side's certificate"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, "the peer says that this side's certificate has expired"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, "the peer says that this side's certificate was revoked"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, "the peer does not accept this side's certificate"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
     "the peer does not accept this side's certificate, or misses one: look at TlsOptions::certificates"},
    {SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
     "the peer says that this side's certificate is for another purpose"},
};
constexpr Words kVersions[] = {
    {SSL_R_UNSUPPORTED_PROTOCOL,
     "no common version of TLS: this side has TlsOptions::version_min, and the peer ends below it"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
     "no common version of TLS: the peer does not speak those of this side; see TlsOptions::version_min"},
    {SSL_R_NO_SHARED_CIPHER, "no common cipher"},
    {SSL_R_INAPPROPRIATE_FALLBACK,
     "the peer comes back with an older version than both sides speak: somebody between them may want that"},
    {SSL_R_TLSV1_ALERT_INAPPROPRIATE_FALLBACK,
     "this side came back with an older version than both sides speak: somebody between them may want that"},
    {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, "the peer found no common cipher, version or signature"},
    {SSL_R_NO_APPLICATION_PROTOCOL, "the peer wants another protocol than those of TlsOptions::alpn"},
    {SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL,
     "the peer speaks another protocol than those of TlsOptions::alpn"},
};

template <std::size_t kCount>
const char* find(const Words (&table)[kCount], long number) noexcept {
  for (const Words& words : table) {
    if (words.number == number) return words.text;
  }
  return nullptr;
}

Status failed(StatusCode code, const char* text) noexcept {
  return {code, Layer::kTransport, [text] { return std::string{"TLS: "} + text; }};
}

}  // namespace

Status failure_of(SSL& ssl, Side side) noexcept {
  const unsigned long error = take_error();
  const int reason = ERR_GET_REASON(error);
  if (reason == ERR_R_MALLOC_FAILURE) return Status::of<kOpensslHasNoMemory>();
  const long verified = SSL_get_verify_result(&ssl);
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && verified == X509_V_ERR_OUT_OF_MEM) {
    return Status::of<kOpensslHasNoMemory>();
  }
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    return {StatusCode::kUnauthenticated, Layer::kTransport, [&] {
              const char* const words = find(kCertificates, verified);
              const std::string whose = side == Side::kClient ? "server" : "client";
              return "TLS: the certificate of the " + whose + " " +
                     (words != nullptr
                          ? words
                          : std::string{"is not good: "} + X509_verify_cert_error_string(verified));
            }};
  }
  if (const char* const words = find(kReasons, reason)) return failed(StatusCode::kUnauthenticated, words);
  if (const char* const words = find(kVersions, reason)) {
    return failed(StatusCode::kFailedPrecondition, words);
  }
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          [error] { return "TLS: the peer does not keep to it: " + text_of(error); }};
}

Status setup_failure(const std::string& what) noexcept {
  const unsigned long error = take_error();
  if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) return Status::of<kOpensslHasNoMemory>();
  return {StatusCode::kInvalidArgument, Layer::kTransport, [&] { return what + ": " + text_of(error); }};
}

Status not_tls(Side side) noexcept {
  return failed(
      StatusCode::kInvalidArgument,
      side == Side::kClient
          ? "the server does not speak it on this port: use tcp:// there, or listen on tls://"
          : "the client does not speak it, and this port does not serve it without: connect to tls://");
}

}  // namespace weft::detail::tls
