// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/codec/codec.hpp"
#include "weft/rpc/method.hpp"
#include "weft/transport/url.hpp"
#include "weft/wire/frame.hpp"
#include "weft/wire/hello.hpp"

namespace weft::faults {

/// The bytes of a well-behaved hello.
inline std::string hello_bytes(std::uint64_t features_required = 0) {
  wire::Hello hello;
  hello.features_supported = wire::Features::kAll;
  hello.features_required = features_required;
  hello.body_bytes_max = 16u << 20;
  hello.attachment_bytes_max = 1u << 30;
  hello.calls_in_flight_max = 1u << 20;
  return wire::encode_hello(hello);
}

/// The bytes of a header alone, whatever it says.
inline std::string header_bytes(const wire::FrameHeader& header) {
  std::string bytes(wire::kHeaderBytes, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

inline void append_padded(std::string& to, std::string_view part) {
  to.append(part);
  to.resize(wire::padded(to.size()));
}

/// A whole frame without checksums; lengths and the attachment's flag are filled in.
inline std::string frame_bytes(wire::FrameHeader header, std::string_view body = {},
                               std::string_view attachment = {}) {
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  header.attachment_bytes = attachment.size();
  if (!attachment.empty()) header.flags |= wire::FrameFlags::kAttachment;
  std::string bytes = header_bytes(header);
  append_padded(bytes, body);
  append_padded(bytes, attachment);
  return bytes;
}

inline std::string control_bytes(wire::FrameType type, std::uint64_t id = wire::kNoId) {
  wire::FrameHeader header;
  header.type = type;
  header.id = id;
  return frame_bytes(header);
}

/// The header of a request of `M`; lengths are still zero.
template <auto M>
wire::FrameHeader request_header(std::uint64_t id) {
  wire::FrameHeader header;
  header.type = wire::FrameType::kRequest;
  header.id = id;
  header.method = method_key<M>.id;
  header.schema = method_key<M>.schema;
  return header;
}

/// The encoded arguments of a request.
template <typename... Arguments>
std::string body_of(const Arguments&... arguments) {
  std::string body(encoded_size(arguments...), '\0');
  encode_to(reinterpret_cast<std::byte*>(body.data()), arguments...);
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
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer_bytes != 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(Url::parse(url).value().port);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) close();
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
    if (!body || !receive(wire::padded(frame.header.attachment_bytes))) return std::nullopt;
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
class HostileListener {
 public:
  HostileListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ::bind(fd_, reinterpret_cast<sockaddr*>(&address), length);
    ::listen(fd_, 16);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
  }
  HostileListener(const HostileListener&) = delete;
  HostileListener& operator=(const HostileListener&) = delete;
  ~HostileListener() { ::close(fd_); }

  std::string url() const { return "tcp://127.0.0.1:" + std::to_string(port_); }
  HostilePeer accept() { return HostilePeer{::accept(fd_, nullptr, nullptr)}; }

 private:
  int fd_;
  int port_ = 0;
};

}  // namespace weft::faults
