// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/sockets.hpp"
#include "support/wire_bytes.hpp"

namespace weft::testing {

/// The bytes that answer the stream `id` with `items`, and end it well with `result`.
inline std::string stream_bytes(std::uint64_t id, const std::vector<std::string>& items,
                                const std::string& result) {
  std::string bytes;
  for (const std::string& item : items)
    bytes += frame_bytes(wire::ItemHead{.id = id, .of_answer = true}.header(), item);
  bytes += frame_bytes(wire::ItemHead{.id = id, .of_answer = true, .last = true}.header());
  return bytes + frame_bytes(wire::AnswerHead{.id = id}.header(), result);
}

/// A server that writes its frames by hand: it answers each request by the next of its answers, and requests
/// behind the last answer by that again, all with status OK.
class RawStreamServer {
 public:
  struct Answer {
    std::vector<std::string> items;
    std::string result;
    /// False: a call without a stream.
    bool streams = true;
  };

  explicit RawStreamServer(std::vector<Answer> answers) : answers_(std::move(answers)) {
    thread_ = std::thread([this] { run(); });
  }
  /// Answers the first request with the items of `first`, and every later one with those of `later`.
  RawStreamServer(std::vector<std::string> first, std::vector<std::string> later, const std::string& result)
      : RawStreamServer(std::vector<Answer>{{std::move(first), result}, {std::move(later), result}}) {}
  RawStreamServer(const RawStreamServer&) = delete;
  RawStreamServer& operator=(const RawStreamServer&) = delete;
  /// Its client has gone, or goes without an answer.
  ~RawStreamServer() {
    const int fd = fd_.load();
    if (fd >= 0) ::shutdown(fd, SHUT_RDWR);
    thread_.join();
    if (fd >= 0) ::close(fd);
  }

  std::string url() const { return listener_.url(); }
  int requests() const { return requests_.load(); }

 private:
  void run() {
    fd_ = listener_.accept_fd();
    send(hello_bytes());
    const std::string hello = take(wire::kHelloPrefixBytes);
    if (hello.size() < wire::kHelloPrefixBytes) return;
    take(wire::hello_length(as_bytes(hello)).value() - hello.size());
    while (true) {
      const std::string head = take(wire::kHeaderBytes);
      if (head.size() < wire::kHeaderBytes) return;
      const wire::FrameHeader header = wire::load_header(as_bytes(head).data());
      take(wire::head_bytes(header.body_bytes, false) - wire::kHeaderBytes +
           wire::padded(header.following_bytes()));
      if (header.type != wire::FrameType::kRequest) continue;
      const auto position = static_cast<std::size_t>(requests_++);
      const Answer& answer = answers_[std::min(position, answers_.size() - 1)];
      send(answer.streams ? stream_bytes(header.id, answer.items, answer.result)
                          : frame_bytes(wire::AnswerHead{.id = header.id}.header(), answer.result));
    }
  }
  void send(const std::string& bytes) {
    static_cast<void>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  std::string take(std::size_t size) {
    std::string bytes(size, '\0');
    const ssize_t got = size > 0 ? ::recv(fd_, bytes.data(), size, MSG_WAITALL) : 0;
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }

  SilentListener listener_;
  std::atomic<int> fd_{-1};
  std::atomic<int> requests_{0};
  const std::vector<Answer> answers_;
  std::thread thread_;
};

}  // namespace weft::testing
