// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/peer_identity.hpp"

#include <memory>
#include <new>
#include <string>

#include "transport/tls/openssl.hpp"

namespace weft::detail::tls {

namespace {

struct FreeNames {
  void operator()(GENERAL_NAMES* names) const noexcept { GENERAL_NAMES_free(names); }
};
struct FreeBytes {
  void operator()(unsigned char* bytes) const noexcept { OPENSSL_free(bytes); }
};

// All bytes, including zeros: Identity refuses such a name, and no name is cut at a zero.
std::string asn1_text(const ASN1_STRING& string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(&string)),
          static_cast<std::size_t>(ASN1_STRING_length(&string))};
}

void read_alternatives(const X509& certificate, Identity::Certificate& contents) {
  // Null also where a certificate has the extension twice.
  const std::unique_ptr<GENERAL_NAMES, FreeNames> names{
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr))};
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME& name = *sk_GENERAL_NAME_value(names.get(), i);
    // One URI more than are kept: whether there is only one has to be known.
    const bool more_names = contents.dns_names.size() < Identity::kNamesMax;
    const bool more_uris = contents.uris.size() < Identity::kNamesMax;
    if (name.type == GEN_DNS && more_names) contents.dns_names.push_back(asn1_text(*name.d.dNSName));
    if (name.type == GEN_URI && more_uris)
      contents.uris.push_back(asn1_text(*name.d.uniformResourceIdentifier));
  }
}

// Of several common names none is the certificate's.
std::string common_name(const X509_NAME& subject) {
  const int at = X509_NAME_get_index_by_NID(&subject, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(&subject, NID_commonName, at) >= 0) return {};
  unsigned char* bytes = nullptr;
  const int length = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(&subject, at)));
  if (length < 0) return {};
  const std::unique_ptr<unsigned char, FreeBytes> owner{bytes};
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length)};
}

// Characters other than ASCII letters are escaped.
std::string subject_text(const X509_NAME& subject) {
  const Owned<BIO> out{BIO_new(BIO_s_mem())};
  if (out == nullptr || X509_NAME_print_ex(out.get(), &subject, 0, XN_FLAG_RFC2253) < 0) return {};
  char* bytes = nullptr;
  const long length = BIO_get_mem_data(out.get(), &bytes);
  return length > 0 ? std::string{bytes, static_cast<std::size_t>(length)} : std::string{};
}

}  // namespace

Identity identity_of_peer(SSL& ssl) noexcept {
  const X509* const certificate = SSL_get0_peer_certificate(&ssl);
  const bool checked =
      (SSL_get_verify_mode(&ssl) & SSL_VERIFY_PEER) != 0 && SSL_get_verify_result(&ssl) == X509_V_OK;
  if (certificate == nullptr || !checked) return {};
  try {
    Identity::Certificate contents;
    read_alternatives(*certificate, contents);
    if (const X509_NAME* const subject = X509_get_subject_name(certificate)) {
      contents.common_name = common_name(*subject);
      contents.subject = subject_text(*subject);
    }
    ERR_clear_error();
    return Identity::of_certificate(contents);
  } catch (const std::bad_alloc&) {
    ERR_clear_error();
    return {};
  }
}

}  // namespace weft::detail::tls
