// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"

namespace weft::faults {

/// A peer that speaks bytes and never blocks, so that the loop of the other side may be turned by the same
/// thread. What it reads it keeps only as long as nobody has looked at it: floods take no memory here.
class FloodingPeer {
 public:
  /// Connects to a server.
  explicit FloodingPeer(const std::string& url) : peer_(url) {}
  /// Takes over a socket that was accepted.
  explicit FloodingPeer(int fd) : peer_(fd) {}

  /// Writes as much of `words` as the system takes now, and keeps the rest for the next pour().
  void say(std::string_view words) {
    unsaid_.append(words);
    pour();
  }
  /// Writes more of what is left. False when nothing could be written.
  bool pour() {
    bool some = false;
    while (!unsaid_.empty()) {
      const ssize_t sent = ::send(peer_.fd(), unsaid_.data(), unsaid_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) break;
      unsaid_.erase(0, static_cast<std::size_t>(sent));
      said_ += static_cast<std::uint64_t>(sent);
      some = true;
    }
    return some;
  }
  bool has_said_all() const { return unsaid_.empty(); }
  /// Bytes that the system took.
  std::uint64_t said() const { return said_; }
  void forget_what_is_unsaid() { unsaid_.clear(); }

  /// Reads what is there. False at the end of the stream.
  bool listen() {
    char piece[65536];
    for (;;) {
      const ssize_t got = ::recv(peer_.fd(), piece, sizeof piece, MSG_DONTWAIT);
      if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
      if (got == 0) return false;
      heard_.append(piece, static_cast<std::size_t>(got));
    }
  }
  /// Gives each whole frame that was read and not looked at to `see`.
  template <typename See>
  void look(See see) {
    std::size_t at = 0;
    if (!greeted_) {
      if (heard_.size() < wire::kHelloPrefixBytes) return;
      const std::size_t hello = wire::hello_length(as_bytes(heard_)).value();
      if (heard_.size() < hello) return;
      at = hello;
      greeted_ = true;
    }
    while (at + wire::kHeaderBytes <= heard_.size()) {
      const wire::FrameHeader header = wire::load_header(as_bytes(heard_).data() + at);
      const std::size_t whole =
          wire::head_bytes(header.body_bytes, false) + wire::padded(header.following_bytes());
      if (at + whole > heard_.size()) break;
      see(RawFrame{header, heard_.substr(at + wire::kHeaderBytes, header.body_bytes)});
      at += whole;
    }
    heard_.erase(0, at);
  }
  /// Turns `loop` until a frame of `type` comes that `wanted` is for; others are dropped. Nothing when none
  /// comes.
  template <typename Wanted>
  std::optional<RawFrame> await(Loop& loop, wire::FrameType type, Wanted wanted) {
    std::optional<RawFrame> found;
    turn_until(loop, [&] {
      pour();
      const bool stands = listen();
      look([&](RawFrame frame) {
        if (!found && frame.header.type == type && wanted(frame)) found = std::move(frame);
      });
      return found.has_value() || !stands;
    });
    return found;
  }
  std::optional<RawFrame> await(Loop& loop, wire::FrameType type) {
    return await(loop, type, [](const RawFrame&) { return true; });
  }
  /// The other side has ended the connection, or does so while `loop` turns.
  bool is_left(Loop& loop) {
    return turn_until(loop, [&] {
      pour();
      const bool stands = listen();
      heard_.clear();
      return !stands;
    });
  }
  void close() { peer_.close(); }
  void reset() { peer_.reset(); }
  void end_sending() { peer_.end_sending(); }

 private:
  HostilePeer peer_;
  std::string unsaid_;
  std::string heard_;
  std::uint64_t said_ = 0;
  bool greeted_ = false;
};

/// Turns `loop` and lets `peer` say `words(round)` again and again until it was `rounds` times. False when
/// the other side takes no more before that: neither it nor the system has anything to do.
template <typename Words>
bool flood(Loop& loop, FloodingPeer& peer, std::uint64_t rounds, Words words) {
  constexpr int kStands = 50;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    peer.say(words(round));
    for (int still = 0; !peer.has_said_all(); ++still) {
      if (still == kStands) return false;
      const bool worked = loop.run_once(1ms);
      if (peer.pour() || worked) still = 0;
    }
    loop.run_once(Duration::zero());
  }
  return true;
}

}  // namespace weft::faults
