// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "support/sockets.hpp"
#include "support/wire_bytes.hpp"
#include "weft/detail/wire/frame.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::testing {

using namespace weft::detail;

/// A peer that speaks the wire by hand and does only what a test tells it. Never blocks.
class RawPeer {
 public:
  explicit RawPeer(const std::string& url, int receive_buffer_bytes = 0)
      : fd_(connected_socket(Url::parse(url).value(), receive_buffer_bytes)) {
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~RawPeer() { ::close(fd_); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  bool connected() const { return fd_ >= 0; }
  void send(std::string_view bytes) { queue(bytes); }
  void send_hello() { queue(hello_bytes()); }
  void send_request(std::uint64_t id, std::uint64_t method, std::uint32_t schema, std::string_view body,
                    std::string_view attachment = {}, std::uint16_t metadata_bytes = 0) {
    const wire::RequestHead head{
        .metadata_bytes = metadata_bytes, .id = id, .method = method, .schema = schema};
    queue(frame_bytes(head.header(), body, attachment));
  }
  void send_cancel(std::uint64_t id) { queue(control_bytes(wire::FrameType::kCancel, id)); }
  /// Ends its side of the stream; what the server sends still arrives.
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
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
      if (got <= 0) {
        const bool more_may_come = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        take_frames();
        return more_may_come;
      }
      received_.append(piece, static_cast<std::size_t>(got));
    }
  }
  const std::string& received() const { return received_; }
  /// The answer frames without attachments among what was received, in order.
  std::vector<wire::FrameHeader> answers() const { return frames_of(wire::FrameType::kAnswer); }
  std::vector<wire::FrameHeader> frames_of(wire::FrameType type) const {
    std::vector<wire::FrameHeader> found;
    std::ranges::copy_if(frames_, std::back_inserter(found),
                         [&](const wire::FrameHeader& each) { return each.type == type; });
    return found;
  }

 private:
  void queue(std::string_view bytes) { queued_.append(bytes); }
  /// Notes the frames that have become whole, so that nobody walks over all of them at each read.
  void take_frames() {
    if (received_.size() < wire::kHelloPrefixBytes) return;
    if (taken_ == 0) taken_ = wire::hello_length(as_bytes(received_)).value();
    while (taken_ + wire::kHeaderBytes <= received_.size()) {
      wire::FrameHeader header;
      std::memcpy(&header, received_.data() + taken_, sizeof header);
      const std::size_t end =
          taken_ + wire::head_bytes(header.body_bytes, false) + wire::padded(header.following_bytes());
      if (end > received_.size()) break;
      frames_.push_back(header);
      taken_ = end;
    }
  }

  int fd_;
  std::string queued_;
  std::size_t sent_ = 0;
  std::string received_;
  std::size_t taken_ = 0;  // of received_, up to the end of the last whole frame
  std::vector<wire::FrameHeader> frames_;
};

}  // namespace weft::testing
