// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "support/loopback.hpp"

namespace weft::testing {

/// An answer as it was received.
struct HttpAnswer {
  int status = 0;
  std::string head;
  std::string body;
};

/// A socket that sends bytes and reads HTTP answers. Blocks; a read ends after ten seconds without bytes.
class RawHttp {
 public:
  /// Connects to the port of `url`, "tcp://127.0.0.1:4242".
  explicit RawHttp(std::string_view url) : fd_(connect_to_loopback(url)) {}
  ~RawHttp() { ::close(fd_); }
  RawHttp(const RawHttp&) = delete;
  RawHttp& operator=(const RawHttp&) = delete;

  bool is_connected() const { return fd_ >= 0; }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// Sends a POST of `json` to `path`, with more header lines, each with its line end.
  void post(std::string_view path, std::string_view json, std::string_view headers = {}) {
    std::string text = "POST ";
    text.append(path).append(" HTTP/1.1\r\nHost: localhost\r\nContent-Length: ");
    text.append(std::to_string(json.size())).append("\r\n").append(headers).append("\r\n").append(json);
    send(text);
  }
  /// Reads the next answer with a body of Content-Length; status 0 if none came.
  HttpAnswer read() {
    HttpAnswer answer;
    std::size_t end = 0;
    while ((end = rest_.find("\r\n\r\n")) == std::string::npos) {
      if (!receive()) return answer;
    }
    answer.head = rest_.substr(0, end + 2);
    rest_.erase(0, end + 4);
    answer.status = std::atoi(answer.head.c_str() + 9);
    const std::size_t length = answer.head.find("Content-Length: ");
    if (length == std::string::npos) return answer;
    const auto bytes = static_cast<std::size_t>(std::atol(answer.head.c_str() + length + 16));
    while (rest_.size() < bytes) {
      if (!receive()) return {};
    }
    answer.body = rest_.substr(0, bytes);
    rest_.erase(0, bytes);
    return answer;
  }
  /// Reads the data of the next chunk of a body; "" for the last one, "<cut>" if the body ends without it.
  std::string read_chunk() {
    std::size_t end = 0;
    while ((end = rest_.find("\r\n")) == std::string::npos) {
      if (!receive()) return "<cut>";
    }
    const auto bytes = static_cast<std::size_t>(std::strtoul(rest_.c_str(), nullptr, 16));
    while (rest_.size() < end + 2 + bytes + 2) {
      if (!receive()) return "<cut>";
    }
    std::string data = rest_.substr(end + 2, bytes);
    rest_.erase(0, end + 2 + bytes + 2);
    return data;
  }
  /// Reads everything up to the end of the connection.
  std::string read_rest() {
    while (receive()) continue;
    return std::exchange(rest_, {});
  }
  /// Sends `data` as a chunk of a body; "" ends the body.
  void send_chunk(std::string_view data) {
    char size[24];
    std::snprintf(size, sizeof size, "%zx\r\n", data.size());
    send(std::string{size}.append(data).append("\r\n"));
  }
  HttpAnswer call(std::string_view path, std::string_view json, std::string_view headers = {}) {
    post(path, json, headers);
    return read();
  }
  /// Returns true if the server ends the connection without further bytes.
  bool is_ended() { return rest_.empty() && !receive() && ended_; }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
  /// Appends the received bytes to `into` and does not wait for more. Returns false once the server has ended
  /// the connection.
  bool read_now(std::string& into) {
    char bytes[4096];
    for (;;) {
      const ssize_t got = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (got == 0) return false;
      if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
      into.append(bytes, static_cast<std::size_t>(got));
    }
  }

 private:
  bool receive() {
    char bytes[4096];
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
    ended_ = got == 0;
    if (got <= 0) return false;
    rest_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  const int fd_;
  bool ended_ = false;
  std::string rest_;
};

}  // namespace weft::testing
