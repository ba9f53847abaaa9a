// SPDX-License-Identifier: Apache-2.0
#include "support/test_ca.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <cstdlib>
#include <utility>

namespace weft::testing {

namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509_CRL* list) const { X509_CRL_free(list); }
  void operator()(ASN1_TIME* time) const { ASN1_TIME_free(time); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;

void need(bool well) {
  if (!well) std::abort();
}

std::string contents(BIO* bio) {
  char* data = nullptr;
  const long bytes = BIO_ctrl(bio, BIO_CTRL_INFO, 0, &data);
  return {data, static_cast<std::size_t>(bytes)};
}

std::string pem_of(X509* certificate) {
  const std::unique_ptr<BIO, Free> out{BIO_new(BIO_s_mem())};
  need(PEM_write_bio_X509(out.get(), certificate) == 1);
  return contents(out.get());
}

std::string pem_of(EVP_PKEY* key) {
  const std::unique_ptr<BIO, Free> out{BIO_new(BIO_s_mem())};
  need(PEM_write_bio_PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return contents(out.get());
}

void extend(X509* certificate, X509* issuer, int what, const std::string& value) {
  if (value.empty()) return;
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
  need(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

void add_raw_alternatives(X509* certificate, const std::vector<std::string>& names) {
  GENERAL_NAMES* const all = GENERAL_NAMES_new();
  for (const std::string& text : names) {
    GENERAL_NAME* const name = GENERAL_NAME_new();
    ASN1_IA5STRING* const bytes = ASN1_IA5STRING_new();
    need(ASN1_STRING_set(bytes, text.data(), static_cast<int>(text.size())) == 1);
    GENERAL_NAME_set0_value(name, text.find(':') == text.npos ? GEN_DNS : GEN_URI, bytes);
    need(sk_GENERAL_NAME_push(all, name) > 0);
  }
  need(X509_add1_ext_i2d(certificate, NID_subject_alt_name, all, 0, X509V3_ADD_DEFAULT) == 1);
  GENERAL_NAMES_free(all);
}

// Signed by `issuer` with `issuer_key`; null: by itself.
Certificate make(const Wanted& wanted, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key, bool is_ca) {
  static long serial = 1000;
  Certificate made{X509_new()};
  X509* const x = made.get();
  X509_set_version(x, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(x), wanted.from_days * 86400L);
  X509_gmtime_adj(X509_getm_notAfter(x), wanted.to_days * 86400L);
  X509_set_pubkey(x, key);
  X509_NAME* const name = X509_get_subject_name(x);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(wanted.name.data()),
                             static_cast<int>(wanted.name.size()), -1, 0);
  X509* const signer = issuer != nullptr ? issuer : x;
  X509_set_issuer_name(x, X509_get_subject_name(signer));
  extend(x, signer, NID_basic_constraints, is_ca ? "critical,CA:TRUE" : "CA:FALSE");
  if (is_ca) extend(x, signer, NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(x, signer, NID_subject_key_identifier, "hash");
  if (wanted.raw_alternatives.empty()) {
    extend(x, signer, NID_subject_alt_name, wanted.alternatives);
  } else {
    add_raw_alternatives(x, wanted.raw_alternatives);
  }
  extend(x, signer, NID_ext_key_usage, wanted.purpose);
  need(X509_sign(x, issuer_key != nullptr ? issuer_key : key, EVP_sha256()) > 0);
  return made;
}

Wanted of_ca(const std::string& name) {
  return {.name = name, .alternatives = "", .purpose = ""};
}

}  // namespace

struct TestCa::Keys {
  Key key{EVP_EC_gen("P-256")};
  Certificate certificate;
};

TestCa::TestCa(std::unique_ptr<Keys> keys) : keys_(std::move(keys)), pem_(pem_of(keys_->certificate.get())) {}

TestCa::TestCa(const std::string& name) : keys_(std::make_unique<Keys>()) {
  keys_->certificate = make(of_ca(name), keys_->key.get(), nullptr, nullptr, true);
  pem_ = pem_of(keys_->certificate.get());
}

TestCa::TestCa(TestCa&&) noexcept = default;
TestCa::~TestCa() = default;

TestCa TestCa::intermediate(const std::string& name) const {
  auto keys = std::make_unique<Keys>();
  keys->certificate = make(of_ca(name), keys->key.get(), keys_->certificate.get(), keys_->key.get(), true);
  TestCa made{std::move(keys)};
  made.chain_ = made.pem_ + chain_;
  return made;
}

std::string TestCa::crl(const std::vector<TlsCertificate>& revoked, int to_days) const {
  const std::unique_ptr<X509_CRL, Free> list{X509_CRL_new()};
  X509_CRL_set_version(list.get(), X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(keys_->certificate.get()));
  const std::unique_ptr<ASN1_TIME, Free> time{ASN1_TIME_new()};
  X509_gmtime_adj(time.get(), -86400L * 40);
  X509_CRL_set1_lastUpdate(list.get(), time.get());
  for (const TlsCertificate& one : revoked) {
    const std::unique_ptr<BIO, Free> in{BIO_new_mem_buf(one.chain_pem.data(), -1)};
    const Certificate certificate{PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr)};
    X509_REVOKED* const entry = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate.get()));
    X509_REVOKED_set_revocationDate(entry, time.get());
    X509_CRL_add0_revoked(list.get(), entry);
  }
  X509_gmtime_adj(time.get(), 86400L * to_days);
  X509_CRL_set1_nextUpdate(list.get(), time.get());
  X509_CRL_sort(list.get());
  need(X509_CRL_sign(list.get(), keys_->key.get(), EVP_sha256()) > 0);
  const std::unique_ptr<BIO, Free> out{BIO_new(BIO_s_mem())};
  need(PEM_write_bio_X509_CRL(out.get(), list.get()) == 1);
  return contents(out.get());
}

TlsCertificate TestCa::issue(const Wanted& wanted) const {
  const Key key{wanted.rsa_bits != 0 ? EVP_RSA_gen(wanted.rsa_bits) : EVP_EC_gen("P-256")};
  const Certificate made = make(wanted, key.get(), keys_->certificate.get(), keys_->key.get(), false);
  return {.chain_pem = pem_of(made.get()) + chain_, .key_pem = pem_of(key.get())};
}

TlsCertificate TestCa::self_signed(const Wanted& wanted) {
  const Key key{EVP_EC_gen("P-256")};
  const Certificate made = make(wanted, key.get(), nullptr, nullptr, false);
  return {.chain_pem = pem_of(made.get()), .key_pem = pem_of(key.get())};
}

}  // namespace weft::testing
