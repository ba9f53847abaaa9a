// SPDX-License-Identifier: Apache-2.0
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "raw/wire.hpp"

namespace weft::raw {

namespace {

constexpr std::size_t kRecordBytes = 16 * 1024;
constexpr std::size_t kReadAheadBytes = 128 * 1024;

Status failed(const std::string& what) {
  const unsigned long error = ERR_peek_error();
  const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  ERR_clear_error();
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          what + (reason == nullptr ? std::string{} : ": " + std::string{reason})};
}

std::shared_ptr<SSL_CTX> make(const SSL_METHOD* method) {
  std::shared_ptr<SSL_CTX> context{SSL_CTX_new(method), SSL_CTX_free};
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_default_read_buffer_len(context.get(), kReadAheadBytes);
  SSL_CTX_set_num_tickets(context.get(), 0);
  return context;
}

Status use_own(SSL_CTX& context, const load::TlsFlags& flags) {
  if (SSL_CTX_use_certificate_chain_file(&context, flags.cert.c_str()) != 1)
    return failed("--cert " + flags.cert);
  if (SSL_CTX_use_PrivateKey_file(&context, flags.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return failed("--key " + flags.key);
  }
  return {};
}

// 1: done; 0: the socket has no more now; -1: the end.
int outcome_of(SSL* tls, int result) {
  if (result == 1) return 1;
  const int error = SSL_get_error(tls, result);
  ERR_clear_error();
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

}  // namespace

Result<std::shared_ptr<TlsContext>> TlsContext::of_server(const load::TlsFlags& flags) {
  auto context = make(TLS_server_method());
  if (flags.cert.empty() || flags.key.empty()) return failed("tls:// needs --cert and --key");
  if (Status status = use_own(*context, flags); !status.ok()) return status;
  if (!flags.ca.empty()) {
    if (SSL_CTX_load_verify_file(context.get(), flags.ca.c_str()) != 1) return failed("--ca " + flags.ca);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return std::make_shared<TlsContext>(std::move(context));
}

Result<std::shared_ptr<TlsContext>> TlsContext::of_client(const load::TlsFlags& flags) {
  auto context = make(TLS_client_method());
  if (!flags.cert.empty()) {
    if (Status status = use_own(*context, flags); !status.ok()) return status;
  }
  if (!flags.insecure) SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const int loaded = flags.ca.empty() ? SSL_CTX_set_default_verify_paths(context.get())
                                      : SSL_CTX_load_verify_file(context.get(), flags.ca.c_str());
  if (loaded != 1) return failed("--ca " + flags.ca);
  return std::make_shared<TlsContext>(std::move(context));
}

void Wire::Free::operator()(ssl_st* tls) const noexcept {
  SSL_free(tls);
}

Status Wire::accept_tls(const TlsContext& context) {
  tls_.reset(SSL_new(context.get()));
  if (tls_ == nullptr || SSL_set_fd(tls_.get(), fd()) != 1) return failed("TLS");
  SSL_set_accept_state(tls_.get());
  return {};
}

Status Wire::blocking_connect_tls(const TlsContext& context, const std::string& host) {
  tls_.reset(SSL_new(context.get()));
  if (tls_ == nullptr || SSL_set_fd(tls_.get(), fd()) != 1) return failed("TLS");
  X509_VERIFY_PARAM* const checks = SSL_get0_param(tls_.get());
  if (!host.empty() && X509_VERIFY_PARAM_set1_ip_asc(checks, host.c_str()) != 1) {
    ERR_clear_error();
    SSL_set1_host(tls_.get(), host.c_str());
    SSL_ctrl(tls_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
             const_cast<char*>(host.c_str()));
  }
  SSL_set_connect_state(tls_.get());
  while (true) {
    const int result = SSL_do_handshake(tls_.get());
    if (result == 1) return {};
    const int error = SSL_get_error(tls_.get(), result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return failed("the handshake failed");
    pollfd ready{fd(), static_cast<short>(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
    ::poll(&ready, 1, -1);
  }
}

ssize_t Wire::receive_tls(std::byte* to, std::size_t room) {
  std::size_t total = 0;
  has_more_ = false;
  while (total < room) {
    std::size_t got = 0;
    const int outcome = outcome_of(tls_.get(), SSL_read_ex(tls_.get(), to + total, room - total, &got));
    if (outcome == 0) return static_cast<ssize_t>(total);
    if (outcome < 0) return total > 0 ? static_cast<ssize_t>(total) : -1;
    total += got;
  }
  has_more_ = SSL_has_pending(tls_.get()) == 1;
  return static_cast<ssize_t>(total);
}

// A record at a time, of the same bytes when one was not taken whole, as OpenSSL wants it.
ssize_t Wire::send_tls(Bytes bytes) {
  std::size_t total = 0;
  while (total < bytes.size()) {
    const Bytes record = bytes.subspan(total, std::min(bytes.size() - total, kRecordBytes));
    std::size_t taken = 0;
    const int outcome =
        outcome_of(tls_.get(), SSL_write_ex(tls_.get(), record.data(), record.size(), &taken));
    if (outcome < 0) return -1;
    if (outcome == 0) break;
    total += taken;
  }
  return static_cast<ssize_t>(total);
}

// The first record is of all pieces, so that a small head costs none of its own.
ssize_t Wire::send_tls(std::span<const iovec> pieces) {
  std::array<std::byte, kRecordBytes> first;
  std::size_t gathered = 0;
  Bytes rest;
  for (const iovec& piece : pieces) {
    const Bytes bytes{static_cast<const std::byte*>(piece.iov_base), piece.iov_len};
    const std::size_t part = std::min(bytes.size(), first.size() - gathered);
    if (part > 0) std::memcpy(first.data() + gathered, bytes.data(), part);
    gathered += part;
    rest = bytes.subspan(part);  // only the last piece is longer than a record
  }
  const ssize_t sent = send_tls(Bytes{first.data(), gathered});
  if (sent < static_cast<ssize_t>(gathered) || rest.empty()) return sent;
  const ssize_t more = send_tls(rest);
  return more < 0 ? more : sent + more;
}

}  // namespace weft::raw
