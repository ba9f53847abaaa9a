// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>
#if WEFT_HAVE_TLS
#include <openssl/ssl.h>
#endif

#include "integration/protocols/hex.hpp"
#include "support/loopback.hpp"

namespace weft::testing {

/// A client of the text protocol on a socket that blocks, in the clear or over TLS. A read ends after ten
/// seconds without bytes.
class RawText {
 public:
  /// Connects to the port of `url`, "tcp://127.0.0.1:4242" or "tls://…". `buffer`: bytes of the socket's
  /// receive buffer; 0: the system's choice.
  explicit RawText(std::string_view url, int buffer = 0)
      : fd_(connect_to_loopback(url, buffer)), is_connected_(fd_ >= 0) {
#if WEFT_HAVE_TLS
    if (is_connected_ && url.starts_with("tls://")) begin_tls();
#endif
  }
  ~RawText() {
#if WEFT_HAVE_TLS
    SSL_free(ssl_);
    SSL_CTX_free(context_);
#endif
    ::close(fd_);
  }
  RawText(const RawText&) = delete;
  RawText& operator=(const RawText&) = delete;

  bool is_connected() const { return is_connected_; }
  /// Sends a line.
  void say(std::string line) {
    line += '\n';
    for (std::string_view rest = line; !rest.empty();) {
      const long sent = send_some(rest);
      if (sent <= 0) return;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// Calls `name` with `arguments` in hexadecimal digits.
  void call(int id, std::string_view name, std::string_view arguments, int timeout_ms = 0,
            std::string_view metadata = {}) {
    std::string line = "call " + std::to_string(id) + ' ' + std::to_string(timeout_ms) + " protocol_demo::";
    line.append(name).append(" ").append(arguments);
    if (!metadata.empty()) line.append(" ").append(metadata);
    say(line);
  }
  /// Returns the next line; "<end>" when the server has ended the connection, "<none>" when nothing came.
  std::string read() {
    for (;;) {
      if (const std::size_t end = rest_.find('\n'); end != std::string::npos) {
        std::string line = rest_.substr(0, end);
        rest_.erase(0, end + 1);
        return line;
      }
      char bytes[4096];
      const long got = receive_some(bytes, sizeof bytes);
      if (got <= 0) return got == 0 ? "<end>" : "<none>";
      rest_.append(bytes, static_cast<std::size_t>(got));
    }
  }
  /// Ends the sending side of a connection in the clear.
  void end_sending() { ::shutdown(fd_, SHUT_WR); }

 private:
#if WEFT_HAVE_TLS
  void begin_tls() {
    context_ = SSL_CTX_new(TLS_client_method());
    ssl_ = SSL_new(context_);
    static constexpr unsigned char kNames[] = {4, 't', 'e', 'x', 't'};
    SSL_set_alpn_protos(ssl_, kNames, sizeof kNames);
    SSL_set_fd(ssl_, fd_);
    is_connected_ = SSL_connect(ssl_) == 1;
  }
  long send_some(std::string_view bytes) {
    if (ssl_ != nullptr) return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  long receive_some(char* bytes, std::size_t room) {
    if (ssl_ == nullptr) return ::recv(fd_, bytes, room, 0);
    const int got = SSL_read(ssl_, bytes, static_cast<int>(room));
    if (got > 0) return got;
    return SSL_get_error(ssl_, got) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
  }

  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
#else
  long send_some(std::string_view bytes) { return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  long receive_some(char* bytes, std::size_t room) { return ::recv(fd_, bytes, room, 0); }
#endif
  const int fd_;
  bool is_connected_;
  std::string rest_;
};

}  // namespace weft::testing
