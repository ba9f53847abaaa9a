// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "integration/faults/hostile_peer.hpp"
#include "weft/detail/wire/carrier.hpp"

namespace weft::carrier_testing {

using namespace weft::detail;

/// A client of a carrier as far as the base carrier goes: hellos and carrier frames, which say what a test
/// wants.
class RawCarrierPeer {
 public:
  RawCarrierPeer(const std::string& url, wire::CarrierKind kind) : base_(url), kind_(kind) {}
  RawCarrierPeer(const RawCarrierPeer&) = delete;
  RawCarrierPeer& operator=(const RawCarrierPeer&) = delete;

  faults::HostilePeer& base() { return base_; }
  wire::CarrierKind kind() const { return kind_; }

  /// Hellos. `offer` is what follows the flag byte.
  bool greet(const std::string& offer) {
    wire::Hello hello;
    hello.body_bytes_max = hello.attachment_bytes_max = 1u << 30;
    hello.calls_in_flight_max = 1000;
    hello.carriers = {{kind_, std::string(1, '\0') + offer}};
    return base_.send(wire::encode_hello(hello)) && base_.receive_hello();
  }
  bool say(wire::CarrierStep step, std::string_view text = {}) {
    return base_.send(wire::encode_carrier_frame({step, kind_, text}));
  }
  /// The text of the next carrier frame, if it is a `step`.
  std::optional<std::string> hear(wire::CarrierStep step) {
    const auto frame = base_.receive_frame();
    if (!frame || frame->header.type != wire::FrameType::kCarrier) return std::nullopt;
    const auto message = wire::decode_carrier_body(as_bytes(frame->body));
    if (!message.ok() || message->step != step) return std::nullopt;
    return std::string{message->text};
  }
  /// The other side has ended the base carrier.
  bool stream_has_ended() {
    char letter = 0;
    const ssize_t got = ::recv(base_.fd(), &letter, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }

 protected:
  ~RawCarrierPeer() = default;
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
  faults::HostilePeer base_;
  const wire::CarrierKind kind_;
};

}  // namespace weft::carrier_testing
