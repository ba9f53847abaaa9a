// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "weft/transport/url.hpp"
#include "weft/wire/frame.hpp"
#include "weft/wire/hello.hpp"

namespace weft::testing {

/// A socket that listens on 127.0.0.1 and accepts nobody by itself: the system takes the connections in.
class SilentListener {
 public:
  SilentListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), length) == 0 && ::listen(fd_, 16) == 0) {
      ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length);
      port_ = ntohs(address.sin_port);
    }
  }
  ~SilentListener() { ::close(fd_); }
  SilentListener(const SilentListener&) = delete;
  SilentListener& operator=(const SilentListener&) = delete;

  std::string url() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

 private:
  int fd_;
  int port_ = 0;
};

/// A peer that speaks the wire by hand and does only what a test tells it. Never blocks.
class RawPeer {
 public:
  explicit RawPeer(const std::string& url, int receive_buffer_bytes = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer_bytes != 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(Url::parse(url).value().port);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~RawPeer() { ::close(fd_); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  bool connected() const { return connected_; }
  void send_hello() {
    wire::Hello hello;
    hello.features_supported = wire::Features::kChecksum;
    hello.body_bytes_max = 4u << 20;
    hello.attachment_bytes_max = 1u << 30;
    hello.calls_in_flight_max = 65536;
    queue(wire::encode_hello(hello));
  }
  void send_request(std::uint64_t id, std::uint64_t method, std::uint32_t schema, std::string_view body,
                    std::string_view attachment = {}) {
    wire::FrameHeader header;
    header.type = wire::FrameType::kRequest;
    header.id = id;
    header.method = method;
    header.schema = schema;
    header.body_bytes = static_cast<std::uint32_t>(body.size());
    header.attachment_bytes = attachment.size();
    if (!attachment.empty()) header.flags = wire::FrameFlags::kAttachment;
    std::string frame(wire::kHeaderBytes, '\0');
    std::memcpy(frame.data(), &header, sizeof header);
    append_padded(frame, body);
    append_padded(frame, attachment);
    queue(frame);
  }
  void send_cancel(std::uint64_t id) {
    wire::FrameHeader header;
    header.type = wire::FrameType::kCancel;
    header.id = id;
    std::string frame(wire::kHeaderBytes, '\0');
    std::memcpy(frame.data(), &header, sizeof header);
    queue(frame);
  }
  /// Writes what is queued as far as the system takes it. False when the connection is gone.
  bool write_some() {
    while (sent_ < queued_.size()) {
      const ssize_t sent = ::send(fd_, queued_.data() + sent_, queued_.size() - sent_, MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
      sent_ += static_cast<std::size_t>(sent);
    }
    return true;
  }
  bool all_written() const { return sent_ == queued_.size(); }
  /// Reads what is there into received(). False at the end of the stream.
  bool read_some() {
    char piece[65536];
    for (;;) {
      const ssize_t got = ::recv(fd_, piece, sizeof piece, 0);
      if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
      if (got == 0) return false;
      received_.append(piece, static_cast<std::size_t>(got));
    }
  }
  const std::string& received() const { return received_; }
  /// The response frames without attachments among what was received, in order.
  std::vector<wire::FrameHeader> responses() const {
    std::vector<wire::FrameHeader> found;
    if (received_.size() < wire::kHelloPrefixBytes) return found;
    std::size_t at = wire::hello_length(as_bytes(received_)).value();
    while (at + wire::kHeaderBytes <= received_.size()) {
      wire::FrameHeader header;
      std::memcpy(&header, received_.data() + at, sizeof header);
      at += wire::head_bytes(header.body_bytes, false) + wire::padded(header.attachment_bytes);
      if (at > received_.size()) break;
      if (header.type == wire::FrameType::kResponse) found.push_back(header);
    }
    return found;
  }

 private:
  static void append_padded(std::string& frame, std::string_view part) {
    frame.append(part);
    frame.resize(wire::padded(frame.size()));
  }
  void queue(std::string_view bytes) { queued_.append(bytes); }

  int fd_;
  bool connected_ = false;
  std::string queued_;
  std::size_t sent_ = 0;
  std::string received_;
};

}  // namespace weft::testing
