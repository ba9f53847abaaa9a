// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/sockets.hpp"
#include "support/wire_bytes.hpp"

namespace weft::testing {

/// Behaviours of a server that writes its bytes by hand.
enum class Habit {
  kSaysNoHello,     ///< sends other bytes
  kSendsNoFrames,   ///< sends bytes that are no frames when the first request comes
  kSendsNoResults,  ///< answers with status OK and a body that its caller cannot decode
  kLeavesAtOnce,    ///< closes each connection that it accepts
  kLeavesAfterItsHello,
  kLeavesAtTheFirstCall,
};

/// One connection of a SickListener.
class SickVisit {
 public:
  SickVisit(int fd, Habit habit) : fd_(fd), habit_(habit) {
    if (habit_ == Habit::kSaysNoHello) send(kGarbage);
    if (habit_ != Habit::kSaysNoHello && habit_ != Habit::kLeavesAtOnce) send(hello_bytes());
    if (habit_ == Habit::kLeavesAtOnce || habit_ == Habit::kLeavesAfterItsHello) close();
  }
  SickVisit(const SickVisit&) = delete;
  SickVisit& operator=(const SickVisit&) = delete;
  ~SickVisit() { close(); }

  /// Reads all bytes that the socket holds, and reacts to complete requests. Does not block.
  void serve() {
    char bytes[4096];
    while (fd_ >= 0) {
      const ssize_t got = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (got == 0) close();
      if (got <= 0) return;
      received_.append(bytes, static_cast<std::size_t>(got));
      while (fd_ >= 0 && take_one()) {
      }
    }
  }

 private:
  static constexpr const char* kGarbage = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

  /// Takes the hello or a frame from the received bytes. False if it has not arrived as a whole.
  bool take_one() {
    if (!has_hello_) {
      if (received_.size() < wire::kHelloPrefixBytes) return false;
      has_hello_ = take(wire::hello_length(as_bytes(received_)).value());
      return has_hello_;
    }
    if (received_.size() < wire::kHeaderBytes) return false;
    const wire::FrameHeader header = wire::load_header(as_bytes(received_).data());
    if (!take(wire::head_bytes(header.body_bytes, false) + wire::padded(header.following_bytes())))
      return false;
    if (header.type == wire::FrameType::kRequest) on_request(header.id);
    return true;
  }
  bool take(std::size_t size) {
    if (received_.size() < size) return false;
    received_.erase(0, size);
    return true;
  }
  void on_request(std::uint64_t id) {
    if (habit_ == Habit::kSendsNoFrames) send(kGarbage);
    if (habit_ == Habit::kSendsNoResults)
      send(frame_bytes(wire::AnswerHead{.id = id}.header(), "\xff\xff\xff\xff"));
    if (habit_ == Habit::kLeavesAtTheFirstCall) close();
  }
  void send(const std::string& bytes) {
    static_cast<void>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  int fd_;
  const Habit habit_;
  bool has_hello_ = false;
  std::string received_;
};

/// A server that accepts connections over TCP and serves nothing. It does its work in serve().
class SickListener {
 public:
  explicit SickListener(Habit habit) : habit_(habit) {}

  void serve() {
    while (listener_.has_waiting()) {
      visits_.push_back(std::make_unique<SickVisit>(listener_.accept_fd(), habit_));
    }
    for (const auto& visit : visits_) visit->serve();
  }
  std::string url() const { return listener_.url(); }
  /// Returns the number of connections that it has accepted.
  std::size_t visits() const { return visits_.size(); }

 private:
  SilentListener listener_;
  const Habit habit_;
  std::vector<std::unique_ptr<SickVisit>> visits_;
};

}  // namespace weft::testing
