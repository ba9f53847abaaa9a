// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "support/sockets.hpp"
#include "support/wire_bytes.hpp"
#include "weft/detail/codec/codec.hpp"
#include "weft/detail/functions/method.hpp"
#include "weft/detail/transport/url.hpp"
#include "weft/detail/wire/frame.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::faults {

using namespace weft::detail;

using testing::append_padded;
using testing::control_bytes;
using testing::frame_bytes;
using testing::header_bytes;
using testing::hello_bytes;

/// The header of a request of `M`; lengths are still zero.
template <auto M>
wire::FrameHeader request_header(std::uint64_t id) {
  return wire::RequestHead{
      .id = id, .method = detail::method_key<M>.id, .schema = detail::method_key<M>.schema}
      .header();
}

/// The encoded arguments of a request.
template <typename... Arguments>
std::string body_of(const Arguments&... arguments) {
  std::string body(encoded_size(arguments...), '\0');
  encode_to(reinterpret_cast<std::byte*>(body.data()), body.size(), arguments...);
  return body;
}

template <auto M, typename... Arguments>
std::string request_bytes(std::uint64_t id, const Arguments&... arguments) {
  return frame_bytes(request_header<M>(id), body_of(arguments...));
}

/// A frame as a hostile peer reads it.
struct RawFrame {
  wire::FrameHeader header;
  std::string body;
};

/// A peer that speaks bytes and blocks: a plain TCP socket. Nothing here waits longer than half a minute, so
/// a test that waits in vain fails.
class HostilePeer {
 public:
  explicit HostilePeer(const std::string& url, int receive_buffer_bytes = 0)
      : fd_(testing::connected_socket(Url::parse(url).value(), receive_buffer_bytes)) {
    if (fd_ >= 0) set_patience();
  }
  /// Takes over a socket that was accepted.
  explicit HostilePeer(int fd) : fd_(fd) { set_patience(); }
  HostilePeer(HostilePeer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  HostilePeer& operator=(HostilePeer&&) = delete;
  ~HostilePeer() { close(); }

  bool connected() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Exactly `size` bytes, or nothing when the stream ended before.
  std::optional<std::string> receive(std::size_t size) {
    std::string bytes(size, '\0');
    std::size_t there = 0;
    while (there < size) {
      const ssize_t got = ::recv(fd_, bytes.data() + there, size - there, 0);
      if (got <= 0) return std::nullopt;
      there += static_cast<std::size_t>(got);
    }
    return bytes;
  }
  /// Returns what is there, or comes first; empty at the end of the stream.
  std::string receive_some() {
    std::string bytes(16384, '\0');
    const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  bool receive_hello() {
    const std::optional<std::string> begin = receive(wire::kHelloPrefixBytes);
    if (!begin) return false;
    const Result<std::size_t> length = wire::hello_length(as_bytes(*begin));
    return length.ok() && receive(*length - begin->size()).has_value();
  }
  /// The next frame, its attachment dropped; nothing at the end of the stream.
  std::optional<RawFrame> receive_frame(bool checksums = false) {
    const std::optional<std::string> head = receive(wire::kHeaderBytes);
    if (!head) return std::nullopt;
    RawFrame frame{wire::load_header(as_bytes(*head).data()), {}};
    const std::uint64_t rest = wire::head_bytes(frame.header.body_bytes, checksums) - wire::kHeaderBytes;
    std::optional<std::string> body = receive(rest);
    if (!body || !receive(wire::padded(frame.header.following_bytes()))) return std::nullopt;
    frame.body = body->substr(0, frame.header.body_bytes);
    return frame;
  }
  /// Reads to the end. False when the other side neither ended nor reset the stream.
  bool closed_by_other_side() {
    char piece[16384];
    for (;;) {
      const ssize_t got = ::recv(fd_, piece, sizeof piece, 0);
      if (got == 0) return true;
      if (got < 0) return errno != EAGAIN && errno != EWOULDBLOCK;
    }
  }
  /// Something can be read, or the end is there, within `patience`.
  bool readable_within(std::chrono::milliseconds patience) {
    pollfd wanted{fd_, POLLIN, 0};
    return ::poll(&wanted, 1, static_cast<int>(patience.count())) > 0;
  }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
  void reset() {
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  void set_patience() {
    const timeval patience{30, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  int fd_;
};

/// Listens on a port of its own and hands out peers that speak bytes: a server that does what a test says.
class HostileListener : public testing::SilentListener {
 public:
  HostilePeer accept() { return HostilePeer{accept_fd()}; }
};

}  // namespace weft::faults
