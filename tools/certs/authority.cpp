// SPDX-License-Identifier: Apache-2.0
#include "certs/authority.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

namespace weft::certs {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_CRL* list) const { X509_CRL_free(list); }
  void operator()(X509_REVOKED* entry) const { X509_REVOKED_free(entry); }
  void operator()(ASN1_TIME* time) const { ASN1_TIME_free(time); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

constexpr long kDaySeconds = 86'400;
constexpr unsigned kCaDays = 3650;

Status wrong(const std::string& text) {
  return {StatusCode::kInvalidArgument, Layer::kTransport, text};
}

Status openssl_failed(const std::string& what) {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return {StatusCode::kInternal, Layer::kTransport,
          what + ": " + (reason != nullptr ? reason : "OpenSSL failed")};
}

// A name becomes part of a file's name and of an extension's text.
bool is_plain(const std::string& name) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view{".:-_*"}.find(static_cast<char>(c)) != std::string_view::npos;
  };
  return !name.empty() && name.front() != '.' && name.size() <= 64 && std::ranges::all_of(name, plain);
}

struct Wanted {
  std::string name;
  std::string alternatives{};
  std::string purpose{};
  unsigned days = 30;
  bool is_ca = false;
};

bool extend(X509* certificate, X509* issuer, int what, const std::string& value) {
  if (value.empty()) return true;
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
  const bool well = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return well;
}

bool number(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  bytes[0] &= 0x7f;
  BIGNUM* const big = BN_bin2bn(bytes, sizeof bytes, nullptr);
  const bool well = big != nullptr && BN_to_ASN1_INTEGER(big, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(big);
  return well;
}

// Signed by `issuer` with `issuer_key`; null: by itself.
Owned<X509> make(const Wanted& wanted, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key) {
  Owned<X509> made{X509_new()};
  X509* const x = made.get();
  if (x == nullptr) return nullptr;
  X509* const signer = issuer != nullptr ? issuer : x;
  X509_NAME* const name = X509_get_subject_name(x);
  const bool well =
      X509_set_version(x, X509_VERSION_3) == 1 && number(x) &&
      X509_gmtime_adj(X509_getm_notBefore(x), -kDaySeconds) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(x), kDaySeconds * static_cast<long>(wanted.days)) != nullptr &&
      X509_set_pubkey(x, key) == 1 &&
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(wanted.name.c_str()), -1, -1,
                                 0) == 1 &&
      X509_set_issuer_name(x, X509_get_subject_name(signer)) == 1 &&
      extend(x, signer, NID_basic_constraints, wanted.is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
      extend(x, signer, NID_key_usage,
             wanted.is_ca ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") &&
      extend(x, signer, NID_subject_key_identifier, "hash") &&
      extend(x, signer, NID_authority_key_identifier, wanted.is_ca ? "" : "keyid") &&
      extend(x, signer, NID_subject_alt_name, wanted.alternatives) &&
      extend(x, signer, NID_ext_key_usage, wanted.purpose) &&
      X509_sign(x, issuer_key != nullptr ? issuer_key : key, EVP_sha256()) > 0;
  return well ? std::move(made) : nullptr;
}

/// The folder and what is in it. A file is replaced whole, so that who reads it never sees a part.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  Status open() const {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    return error ? weft::detail::errno_status(Layer::kTransport, "make the folder " + path_, error.value())
                 : Status{};
  }
  bool has(const std::string& name) const { return std::filesystem::exists(file(name)); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  Owned<std::FILE> read(const std::string& name) const {
    return Owned<std::FILE>{std::fopen(file(name).c_str(), "re")};
  }
  template <typename Write>
  Status write(const std::string& name, bool secret, const Write& contents) {
    const std::string whole = file(name);
    const std::string part = whole + ".part";
    const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, secret ? 0600 : 0644);
    if (fd < 0) return weft::detail::errno_status(Layer::kTransport, "write " + whole, errno);
    Owned<std::FILE> opened{::fdopen(fd, "w")};
    const bool well = contents(opened.get()) == 1 && std::fflush(opened.get()) == 0;
    opened.reset();
    if (!well) return openssl_failed("write " + whole);
    if (::rename(part.c_str(), whole.c_str()) != 0) {
      return weft::detail::errno_status(Layer::kTransport, "write " + whole, errno);
    }
    written_.push_back(whole);
    return {};
  }
  Status write(const std::string& name, X509* certificate) {
    return write(name, false, [&](std::FILE* file) { return PEM_write_X509(file, certificate); });
  }
  Status write(const std::string& name, EVP_PKEY* key) {
    return write(name, true, [&](std::FILE* file) {
      return PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    });
  }
  std::vector<std::string> take_written() { return std::move(written_); }

 private:
  const std::string path_;
  std::vector<std::string> written_;
};

class Authority {
 public:
  explicit Authority(Folder& folder) : folder_(folder) {}

  /// Reads the CA that is there, or makes one.
  Status open() {
    if (folder_.has("ca.pem") && folder_.has("ca.key")) {
      certificate_.reset(PEM_read_X509(folder_.read("ca.pem").get(), nullptr, nullptr, nullptr));
      key_.reset(PEM_read_PrivateKey(folder_.read("ca.key").get(), nullptr, nullptr, nullptr));
      return certificate_ != nullptr && key_ != nullptr ? Status{} : openssl_failed("read ca.pem and ca.key");
    }
    key_.reset(EVP_EC_gen("P-256"));
    if (key_ != nullptr) {
      certificate_ =
          make({.name = "weft demo CA", .days = kCaDays, .is_ca = true}, key_.get(), nullptr, nullptr);
    }
    if (certificate_ == nullptr) return openssl_failed("make a CA");
    Status status = folder_.write("ca.key", key_.get());
    return status.ok() ? folder_.write("ca.pem", certificate_.get()) : status;
  }

  /// Writes NAME.pem and NAME.key; the key first, as who watches the files wants both.
  Status issue(const std::string& file, const Wanted& wanted) {
    const Owned<EVP_PKEY> key{EVP_EC_gen("P-256")};
    Owned<X509> made;
    if (key != nullptr) made = make(wanted, key.get(), certificate_.get(), key_.get());
    if (made == nullptr) return openssl_failed("make a certificate for " + wanted.name);
    Status status = folder_.write(file + ".key", key.get());
    return status.ok() ? folder_.write(file + ".pem", made.get()) : status;
  }

  /// Writes ca.crl: what it had, and the certificates of these clients.
  Status revoke(const std::vector<std::string>& clients, unsigned days) {
    Owned<X509_CRL> list{X509_CRL_new()};
    const Owned<ASN1_TIME> time{X509_gmtime_adj(nullptr, 0)};
    if (list == nullptr || time == nullptr) return openssl_failed("make ca.crl");
    if (folder_.has("ca.crl")) {
      list.reset(PEM_read_X509_CRL(folder_.read("ca.crl").get(), nullptr, nullptr, nullptr));
      if (list == nullptr) return openssl_failed("read ca.crl");
    }
    bool well = X509_CRL_set_version(list.get(), X509_CRL_VERSION_2) == 1 &&
                X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(certificate_.get())) == 1 &&
                X509_CRL_set1_lastUpdate(list.get(), time.get()) == 1;
    for (const std::string& client : clients) {
      const std::string file = client + ".pem";
      if (!folder_.has(file)) {
        return wrong(std::string{"--revoke "}.append(client).append(": there is no ").append(file));
      }
      const Owned<X509> own{PEM_read_X509(folder_.read(file).get(), nullptr, nullptr, nullptr)};
      Owned<X509_REVOKED> entry{X509_REVOKED_new()};
      well = well && own != nullptr && entry != nullptr &&
             X509_REVOKED_set_serialNumber(entry.get(), X509_get_serialNumber(own.get())) == 1 &&
             X509_REVOKED_set_revocationDate(entry.get(), time.get()) == 1 &&
             X509_CRL_add0_revoked(list.get(), entry.get()) == 1;
      // NOLINTNEXTLINE(bugprone-unused-return-value): the list has it
      if (well) static_cast<void>(entry.release());
    }
    const Owned<ASN1_TIME> next{X509_gmtime_adj(nullptr, kDaySeconds * static_cast<long>(days))};
    well = well && next != nullptr && X509_CRL_set1_nextUpdate(list.get(), next.get()) == 1 &&
           X509_CRL_sort(list.get()) == 1 && X509_CRL_sign(list.get(), key_.get(), EVP_sha256()) > 0;
    if (!well) return openssl_failed("make ca.crl");
    return folder_.write("ca.crl", false,
                         [&](std::FILE* file) { return PEM_write_X509_CRL(file, list.get()); });
  }

 private:
  Folder& folder_;
  Owned<EVP_PKEY> key_;
  Owned<X509> certificate_;
};

std::string alternatives_of(const std::vector<std::string>& hosts) {
  std::string text;
  for (const std::string& host : hosts) {
    ASN1_OCTET_STRING* const address = a2i_IPADDRESS(host.c_str());
    text += (text.empty() ? "" : ",") + std::string{address != nullptr ? "IP:" : "DNS:"} + host;
    ASN1_OCTET_STRING_free(address);
  }
  ERR_clear_error();
  return text;
}

// "DNS:..." or "IP:..."; empty for what is neither, or would be no name here.
std::string alternative_of(const GENERAL_NAME* name) {
  int kind = 0;
  const auto* const value = static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(name, &kind));
  if (kind != GEN_DNS && kind != GEN_IPADD) return {};
  const unsigned char* const data = ASN1_STRING_get0_data(value);
  const auto size = static_cast<std::size_t>(ASN1_STRING_length(value));
  if (kind == GEN_DNS) {
    const std::string host{reinterpret_cast<const char*>(data), size};
    return is_plain(host) ? "DNS:" + host : "";
  }
  char address[INET6_ADDRSTRLEN] = {};
  if (size != 4 && size != 16) return {};
  return inet_ntop(size == 4 ? AF_INET : AF_INET6, data, address, sizeof address) != nullptr
             ? std::string{"IP:"} + address
             : "";
}

// A certificate that is renewed stays good for the hosts that it was good for. Empty when there is none.
std::string alternatives_that_are_there(const Folder& folder) {
  if (!folder.has("server.pem")) return {};
  const Owned<std::FILE> file = folder.read("server.pem");
  if (file == nullptr) return {};
  const Owned<X509> server{PEM_read_X509(file.get(), nullptr, nullptr, nullptr)};
  if (server == nullptr) {
    ERR_clear_error();
    return {};
  }
  const Owned<GENERAL_NAMES> names{
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(server.get(), NID_subject_alt_name, nullptr, nullptr))};
  std::string text;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const std::string one = alternative_of(sk_GENERAL_NAME_value(names.get(), i));
    if (!one.empty()) text += (text.empty() ? "" : ",") + one;
  }
  return text;
}

Status check(const Options& options) {
  std::vector<std::string> names = options.hosts;
  names.insert(names.end(), options.clients.begin(), options.clients.end());
  names.insert(names.end(), options.revoked.begin(), options.revoked.end());
  if (!options.spiffe_domain.empty()) names.push_back(options.spiffe_domain);
  for (const std::string& name : names) {
    if (!is_plain(name))
      return wrong("\"" + name + "\" is no name: letters, digits, dots, colons and dashes, 64 at most");
  }
  for (const std::string& client : options.clients) {
    if (client == "ca" || client == "server")
      return wrong("a client cannot have the name \"" + client + "\"");
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> blocking_make(const Options& options) {
  if (Status status = check(options); !status.ok()) return status;
  Folder folder{options.folder};
  if (Status status = folder.open(); !status.ok()) return status;
  Authority authority{folder};
  if (Status status = authority.open(); !status.ok()) return status;
  if (Status status = authority.revoke(options.revoked, options.days); !status.ok()) return status;
  std::string hosts =
      options.hosts.empty() ? alternatives_that_are_there(folder) : alternatives_of(options.hosts);
  if (hosts.empty()) hosts = alternatives_of({"localhost", "127.0.0.1", "::1"});
  Status status = authority.issue(
      "server",
      {.name = "server", .alternatives = std::move(hosts), .purpose = "serverAuth", .days = options.days});
  if (!status.ok()) return status;
  std::vector<std::string> clients = options.clients;
  if (clients.empty() && options.revoked.empty()) clients = {"client"};
  for (const std::string& client : clients) {
    if (std::ranges::find(options.revoked, client) != options.revoked.end()) continue;
    const std::string id =
        options.spiffe_domain.empty() ? "" : "URI:spiffe://" + options.spiffe_domain + "/" + client;
    status = authority.issue(
        client, {.name = client, .alternatives = id, .purpose = "clientAuth", .days = options.days});
    if (!status.ok()) return status;
  }
  return folder.take_written();
}

}  // namespace weft::certs
