// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/context.hpp"

#include <arpa/inet.h>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/tls/failure.hpp"
#include "transport/tls/openssl.hpp"
#include "weft/detail/base/file_text.hpp"
#include "weft/detail/base/secret.hpp"

namespace weft::detail::tls {

namespace {

constexpr FixedFailure kNoHost{
    StatusCode::kInvalidArgument, Layer::kTransport, Retry::kNever,
    "TlsOptions::server_name or the host of the URL is neither a host name nor an IP address"};

Status wrong(const std::string& text) {
  return {StatusCode::kInvalidArgument, Layer::kTransport, text};
}

constexpr std::size_t kFileBytesMax = std::size_t{64} << 20;

constexpr std::string_view kPemEnd = "-----END ";

// The last line of a PEM text is ended, or the end of an object. A text that was cut within the beginning of
// an object would pass for one without that object.
bool is_whole(std::string_view text) {
  const std::size_t line = text.rfind('\n') + 1;  // zero without one
  const std::string_view last = text.substr(line);
  return last.empty() ||
         (last.starts_with(kPemEnd) && last.size() > kPemEnd.size() && last.ends_with("-----"));
}

// Of an option that is a file or, beside it, its contents.
Result<Secret> read_text(const std::string& option, const std::string& file, const std::string& pem) {
  if (!pem.empty()) return Secret{pem};
  Result<FileText> read = read_file(Layer::kTransport, file, kFileBytesMax);
  if (!read.ok()) {
    const Status& why = read.status();
    return Status{StatusCode::kInvalidArgument, Layer::kTransport, option + ": " + std::string{why.message()},
                  why.native()};
  }
  if (!is_whole(read->text.view())) {
    return wrong(option + ": " + file + " ends within a line, so the file may be cut; end it with a newline");
  }
  return std::move(read->text);
}

Owned<BIO> reader_of(std::string_view bytes) {
  return Owned<BIO>{BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size()))};
}

// The end of a PEM text is an error for OpenSSL, and the last of a list is found by it.
bool at_end_of_pem() {
  const unsigned long error = ERR_peek_last_error();
  const bool end = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (end) ERR_clear_error();
  return end;
}

// Never asks for a password on a terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

Status use_chain(SSL_CTX& context, const std::string& option, std::string_view bytes) {
  const Owned<BIO> reader = reader_of(bytes);
  if (reader == nullptr) return setup_failure(option);
  const Owned<X509> own{PEM_read_bio_X509_AUX(reader.get(), nullptr, no_password, nullptr)};
  if (own == nullptr || SSL_CTX_use_certificate(&context, own.get()) != 1) {
    return setup_failure(option + " is no certificate in PEM that can be used");
  }
  for (;;) {
    const Owned<X509> next{PEM_read_bio_X509(reader.get(), nullptr, no_password, nullptr)};
    if (next == nullptr) return at_end_of_pem() ? Status{} : setup_failure(option);
    if (SSL_CTX_add1_chain_cert(&context, next.get()) != 1) return setup_failure(option);
  }
}

Status use_key(SSL_CTX& context, const std::string& option, std::string_view bytes) {
  const Owned<BIO> reader = reader_of(bytes);
  if (reader == nullptr) return setup_failure(option);
  const Owned<EVP_PKEY> key{PEM_read_bio_PrivateKey(reader.get(), nullptr, no_password, nullptr)};
  if (key == nullptr) return setup_failure(option + " is no private key in PEM without a password");
  if (SSL_CTX_use_PrivateKey(&context, key.get()) != 1 || SSL_CTX_check_private_key(&context) != 1) {
    return setup_failure(option + " does not belong to the certificate");
  }
  return {};
}

Status use_certificate(SSL_CTX& context, const TlsCertificate& certificate) {
  const std::string of = "TlsOptions::certificates: ";
  if (certificate.chain_file.empty() && certificate.chain_pem.empty()) {
    return wrong(of + "chain_file and chain_pem are empty");
  }
  if (certificate.key_file.empty() && certificate.key_pem.empty()) {
    return wrong(of + "key_file and key_pem are empty");
  }
  const std::string chain_option = of + (certificate.chain_pem.empty() ? "chain_file" : "chain_pem");
  const std::string key_option = of + (certificate.key_pem.empty() ? "key_file" : "key_pem");
  const auto chain = read_text(chain_option, certificate.chain_file, certificate.chain_pem);
  if (!chain.ok()) return chain.status();
  const auto key = read_text(key_option, certificate.key_file, certificate.key_pem);
  if (!key.ok()) return key.status();
  if (Status used = use_chain(context, chain_option, chain->view()); !used.ok()) return used;
  return use_key(context, key_option, key->view());
}

// `tell`: a server tells its clients which CAs it believes.
Status use_cas(SSL_CTX& context, const TlsOptions& options, bool tell) {
  const std::string option = options.ca_pem.empty() ? "TlsOptions::ca_file" : "TlsOptions::ca_pem";
  const auto text = read_text(option, options.ca_file, options.ca_pem);
  if (!text.ok()) return text.status();
  const Owned<BIO> reader = reader_of(text->view());
  if (reader == nullptr) return setup_failure(option);
  X509_STORE* const store = SSL_CTX_get_cert_store(&context);
  for (bool first = true;; first = false) {
    const Owned<X509> ca{PEM_read_bio_X509_AUX(reader.get(), nullptr, no_password, nullptr)};
    if (ca == nullptr)
      return !first && at_end_of_pem() ? Status{} : setup_failure(option + " has no certificate in PEM");
    if (X509_STORE_add_cert(store, ca.get()) != 1) return setup_failure(option);
    if (tell && SSL_CTX_add_client_CA(&context, ca.get()) != 1) return setup_failure(option);
  }
}

// Each certificate of a chain is looked up, so that a CA may be revoked as well.
Status use_revoked(SSL_CTX& context, const TlsOptions& options) {
  if (options.crl_file.empty() && options.crl_pem.empty()) return {};
  const std::string option = options.crl_pem.empty() ? "TlsOptions::crl_file" : "TlsOptions::crl_pem";
  const auto text = read_text(option, options.crl_file, options.crl_pem);
  if (!text.ok()) return text.status();
  const Owned<BIO> reader = reader_of(text->view());
  if (reader == nullptr) return setup_failure(option);
  X509_STORE* const store = SSL_CTX_get_cert_store(&context);
  if (X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) != 1) {
    return setup_failure(option);
  }
  for (bool first = true;; first = false) {
    const Owned<X509_CRL> list{PEM_read_bio_X509_CRL(reader.get(), nullptr, no_password, nullptr)};
    if (list == nullptr) {
      return !first && at_end_of_pem() ? Status{} : setup_failure(option + " has no CRL in PEM");
    }
    if (X509_STORE_add_crl(store, list.get()) != 1) return setup_failure(option);
  }
}

// As ALPN has it: each name behind its length.
Result<std::string> protocols_of(const TlsOptions& options) {
  std::string list;
  for (const std::string& name : options.alpn) {
    if (name.empty() || name.size() > 255) {
      return wrong("TlsOptions::alpn: a name has from 1 to 255 bytes");
    }
    list += static_cast<char>(name.size());
    list += name;
  }
  return list;
}

void free_protocols(void*, void* list, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<std::string*>(list);
}

int protocols_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_protocols);
  return index;
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes,
                    const unsigned char* theirs, unsigned theirs_bytes, void* list) noexcept {
  const auto& ours = *static_cast<const std::string*>(list);
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, chosen_bytes, reinterpret_cast<const unsigned char*>(ours.data()),
                            static_cast<unsigned>(ours.size()), theirs,
                            theirs_bytes) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

Status use_protocols(SSL_CTX& context, const TlsOptions& options, Side side) {
  auto list = protocols_of(options);
  if (!list.ok()) return list.status();
  if (list->empty()) return {};
  if (side == Side::kClient) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(list->data());
    // Of all its functions this one says 0 when it is well.
    return SSL_CTX_set_alpn_protos(&context, bytes, static_cast<unsigned>(list->size())) == 0
               ? Status{}
               : setup_failure("TlsOptions::alpn");
  }
  auto kept = std::make_unique<std::string>(*std::move(list));
  if (SSL_CTX_set_ex_data(&context, protocols_index(), kept.get()) != 1) {
    return setup_failure("TlsOptions::alpn");
  }
  SSL_CTX_set_alpn_select_cb(&context, choose_protocol, kept.release());
  return {};
}

// 112 bits of security: weaker keys of both sides are refused, regardless of the system's settings.
constexpr int kSecurityLevel = 2;

// One ticket for each handshake: a client that connects again uses it, and gets the next.
Status resume_sessions(SSL_CTX& context, const TlsOptions& options) {
  constexpr unsigned char kName[] = "weft";
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.session_lifetime).count();
  SSL_CTX_set_timeout(&context, static_cast<long>(seconds));
  if (SSL_CTX_set_num_tickets(&context, seconds > 0 ? 1 : 0) != 1 ||
      SSL_CTX_set_session_id_context(&context, kName, sizeof kName - 1) != 1 ||
      // An eavesdropper could replay calls in a client's first message.
      SSL_CTX_set_max_early_data(&context, 0) != 1) {
    return setup_failure("TlsOptions::session_lifetime");
  }
  if (seconds == 0) SSL_CTX_set_options(&context, SSL_OP_NO_TICKET);
  return {};
}

Status check_rate(const std::optional<Rate>& rate, const char* option) {
  const char* const fault = rate ? fault_of(*rate) : nullptr;
  return fault != nullptr ? wrong(std::string{option} + ": " + fault) : Status{};
}

Status make_plain(SSL_CTX& context, const TlsOptions& options) {
  Status rate = check_rate(options.handshake_rate, "TlsOptions::handshake_rate");
  if (rate.ok()) {
    rate = check_rate(options.handshake_rate_of_address, "TlsOptions::handshake_rate_of_address");
  }
  if (!rate.ok()) return rate;
  if (options.session_lifetime < Duration{} || options.session_lifetime > std::chrono::days{7}) {
    return wrong("TlsOptions::session_lifetime is below zero, or above a week");
  }
  const int version = options.version_min == TlsVersion::k12 ? TLS1_2_VERSION : TLS1_3_VERSION;
  if (SSL_CTX_set_min_proto_version(&context, version) != 1) return setup_failure("TlsOptions::version_min");
  SSL_CTX_set_security_level(&context, kSecurityLevel);
  SSL_CTX_set_options(&context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  return resume_sessions(context, options);
}

Result<Owned<SSL_CTX>> make_context(const TlsOptions& options, Side side, const TlsCertificate* certificate) {
  if (Status loaded = load_openssl(); !loaded.ok()) return loaded;
  Owned<SSL_CTX> context{SSL_CTX_new(side == Side::kClient ? TLS_client_method() : TLS_server_method())};
  if (context == nullptr) return setup_failure("TLS");
  Status status = make_plain(*context, options);
  if (status.ok() && certificate != nullptr) status = use_certificate(*context, *certificate);
  if (status.ok()) status = use_protocols(*context, options, side);
  if (!status.ok()) return status;
  return context;
}

}  // namespace

Result<std::shared_ptr<ClientContext>> make_client_context(const TlsOptions& options) {
  const TlsCertificate* const own = options.certificates.empty() ? nullptr : &options.certificates.front();
  auto context = make_context(options, Side::kClient, own);
  if (!context.ok()) return std::move(context).status();
  SSL_CTX_set_verify(context->get(), options.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  Status status;
  if (!options.ca_file.empty() || !options.ca_pem.empty()) {
    status = use_cas(**context, options, false);
  } else if (!options.insecure && SSL_CTX_set_default_verify_paths(context->get()) != 1) {
    status = setup_failure("the CAs of the system");
  }
  if (status.ok()) status = use_revoked(**context, options);
  if (!status.ok()) return status;
  const bool resumes = options.session_lifetime > Duration{};
  return std::make_shared<ClientContext>(*std::move(context), resumes ? options.sessions_max : 0);
}

Result<std::shared_ptr<ServerNames>> make_server_contexts(const TlsOptions& options) {
  if (options.certificates.empty()) {
    return wrong("TlsOptions::certificates is empty: a server of tls:// needs a certificate and its key");
  }
  if (options.handshakes_max == 0) return wrong("TlsOptions::handshakes_max is zero");
  if (options.handshakes_of_address_max == 0) return wrong("TlsOptions::handshakes_of_address_max is zero");
  if (options.plain_too && options.clients == TlsClients::kRequired) {
    return wrong("TlsOptions::plain_too lets clients in that TlsClients::kRequired keeps out");
  }
  const bool asks = options.clients != TlsClients::kNotAsked;
  if (asks && options.ca_file.empty() && options.ca_pem.empty()) {
    return wrong("TlsOptions::clients asks for certificates, so ca_file or ca_pem has to say whose");
  }
  std::vector<Owned<SSL_CTX>> contexts;
  for (const TlsCertificate& certificate : options.certificates) {
    auto context = make_context(options, Side::kServer, &certificate);
    if (!context.ok()) return std::move(context).status();
    int verify = SSL_VERIFY_NONE;
    if (asks) verify = SSL_VERIFY_PEER;
    if (options.clients == TlsClients::kRequired) verify |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(context->get(), verify, nullptr);
    if (asks) {
      Status status = use_cas(**context, options, true);
      if (status.ok()) status = use_revoked(**context, options);
      if (!status.ok()) return status;
    }
    contexts.push_back(*std::move(context));
  }
  auto names = std::make_shared<ServerNames>(std::move(contexts), options.session_lifetime);
  if (!names->open()) return setup_failure("TlsOptions::session_lifetime");
  return names;
}

Result<Owned<SSL>> make_client_ssl(SSL_CTX& context, const std::string& host, bool checked) noexcept {
  if (host.empty() || host.size() > TLSEXT_MAXLEN_host_name) return Status::of<kNoHost>();
  Owned<SSL> ssl{SSL_new(&context)};
  in6_addr address;
  const bool numeric =
      ::inet_pton(AF_INET, host.c_str(), &address) == 1 || ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
  bool well = ssl != nullptr;
  if (well && !numeric) {
    well = SSL_ctrl(ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    const_cast<char*>(host.c_str())) == 1;
  }
  if (well && checked && numeric) {
    well = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str()) == 1;
  } else if (well && checked) {
    SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    well = SSL_set1_host(ssl.get(), host.c_str()) == 1;
  }
  if (well) return ssl;
  ERR_clear_error();
  return Status::of<kNoMemoryForTls>();
}

}  // namespace weft::detail::tls
