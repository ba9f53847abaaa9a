// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "integration/faults/hostile_peer.hpp"
#include "weft/wire/path.hpp"

namespace weft::path_testing {

/// A client of a data path as far as the stream goes: hellos and path frames, which say what a test wants.
class RawPathPeer {
 public:
  RawPathPeer(const std::string& url, wire::DataPath kind) : stream_(url), kind_(kind) {}
  RawPathPeer(const RawPathPeer&) = delete;
  RawPathPeer& operator=(const RawPathPeer&) = delete;

  faults::HostilePeer& stream() { return stream_; }
  wire::DataPath kind() const { return kind_; }

  /// Hellos. `offer` is what follows the flag byte.
  bool greet(const std::string& offer) {
    wire::Hello hello;
    hello.body_bytes_max = hello.attachment_bytes_max = 1u << 30;
    hello.calls_in_flight_max = 1000;
    hello.paths = {{kind_, std::string(1, '\0') + offer}};
    return stream_.send(wire::encode_hello(hello)) && stream_.receive_hello();
  }
  bool say(wire::PathStep step, std::string_view text = {}) {
    return stream_.send(wire::encode_path_frame({step, kind_, text}));
  }
  /// The text of the next path frame, if it is a `step`.
  std::optional<std::string> hear(wire::PathStep step) {
    const auto frame = stream_.receive_frame();
    if (!frame || frame->header.type != wire::FrameType::kPath) return std::nullopt;
    const auto message = wire::decode_path_body(as_bytes(frame->body));
    if (!message.ok() || message->step != step) return std::nullopt;
    return std::string{message->text};
  }
  /// The other side has ended the stream.
  bool stream_has_ended() {
    char letter = 0;
    const ssize_t got = ::recv(stream_.fd(), &letter, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }

 protected:
  ~RawPathPeer() = default;
  /// False when it does not come true within a time that is never needed.
  template <typename Condition, typename Turn>
  static bool turn_until_here(Condition condition, Turn turn) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds{15};
    while (!condition()) {
      if (std::chrono::steady_clock::now() > patience) return false;
      turn();
    }
    return true;
  }

 private:
  faults::HostilePeer stream_;
  const wire::DataPath kind_;
};

}  // namespace weft::path_testing
