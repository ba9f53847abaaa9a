// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "load/options.hpp"
#include "raw/socket.hpp"
#include "weft/detail/base/bytes.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace weft::raw {

/// Certificates of one side of tls://, as OpenSSL has them. Thread: any, once it is made.
class TlsContext {
 public:
  /// Errors: kInvalidArgument for files that cannot be used; kUnimplemented in a build without OpenSSL.
  static Result<std::shared_ptr<TlsContext>> of_server(const load::TlsFlags& flags);
  static Result<std::shared_ptr<TlsContext>> of_client(const load::TlsFlags& flags);

  explicit TlsContext(std::shared_ptr<ssl_ctx_st> context) noexcept : context_(std::move(context)) {}
  ssl_ctx_st* get() const noexcept { return context_.get(); }

 private:
  const std::shared_ptr<ssl_ctx_st> context_;
};

/// True for tls:// URLs; `url` is then one of tcp://.
bool strip_tls(std::string& url);

/// A connected socket, and OpenSSL on it where there is TLS, as its manual has it: SSL_read() and SSL_write()
/// on the descriptor, with read-ahead.
class Wire {
 public:
  explicit Wire(Fd fd) noexcept : fd_(std::move(fd)) {}

  /// Begins TLS: as a server, whose handshake goes on in receive().
  Status accept_tls(const TlsContext& context);
  /// Does so as a client, whose handshake is done when it returns. `host` is for the server's certificate;
  /// empty: it is not checked.
  Status blocking_connect_tls(const TlsContext& context, const std::string& host);

  int fd() const noexcept { return fd_.get(); }
  /// Bytes received, 0 when nothing is there yet, -1 when the peer has gone.
  ssize_t receive(std::byte* to, std::size_t room) {
    return tls_ == nullptr ? receive_plain(to, room) : receive_tls(to, room);
  }
  /// The last receive() may have left bytes behind of which epoll knows nothing.
  bool has_more() const noexcept { return has_more_; }
  /// Bytes the socket took, -1 when the peer has gone. Fewer than given means that the socket is full: asking
  /// again before epoll says so would cost a system call for nothing.
  ssize_t send(Bytes bytes) { return tls_ == nullptr ? send_plain(bytes) : send_tls(bytes); }
  ssize_t send(std::span<iovec> pieces) { return tls_ == nullptr ? send_plain(pieces) : send_tls(pieces); }

 private:
  struct Free {
    void operator()(ssl_st* tls) const noexcept;
  };

  ssize_t receive_plain(std::byte* to, std::size_t room);
  ssize_t send_plain(Bytes bytes);
  ssize_t send_plain(std::span<iovec> pieces);
  ssize_t receive_tls(std::byte* to, std::size_t room);
  ssize_t send_tls(Bytes bytes);
  ssize_t send_tls(std::span<const iovec> pieces);

  Fd fd_;
  bool has_more_ = false;
  std::unique_ptr<ssl_st, Free> tls_;
};

}  // namespace weft::raw
