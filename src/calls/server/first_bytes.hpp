// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "calls/serve/protocol.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/base_carrier.hpp"
#include "weft/detail/transport/connection.hpp"

namespace weft::detail {

class FirstBytes;
struct FirstBytesTag;

/// Decides about a connection once its protocol is known. Destroys the FirstBytes later, outside of its
/// callbacks.
class FirstBytesOwner {
 public:
  /// The peer speaks `protocol`; null: Weft's own, or an unknown one. The owner takes the carrier.
  virtual void on_protocol(FirstBytes& first, const Protocol* protocol) = 0;
  /// The peer has left, or sent nothing in time.
  virtual void on_no_protocol(FirstBytes& first, const Status& why) = 0;

 protected:
  ~FirstBytesOwner() = default;
};

/// A connection that was accepted and whose protocol is not known yet: receives the first bytes of the peer,
/// or learns the protocol from TLS (ALPN). Tells its owner outside of the carrier's callbacks, so that the
/// owner may destroy the carrier.
///
///   kWaiting --the protocol is known--> kKnown --in the same turn--> kTold
///      '--the peer left, or was silent-----------'--the carrier failed--^
///
/// Thread: its loop's.
class FirstBytes final : public ListHook<FirstBytesTag>, private CarrierOwner, private Timer, private Ready {
 public:
  /// `protocols` are not empty, and outlive it like `loop` and `owner`. The peer has `timeout` to send
  /// something. `options` are for a connection of Weft's protocol.
  FirstBytes(Loop& loop, FirstBytesOwner& owner, std::span<const std::shared_ptr<const Protocol>> protocols,
             std::unique_ptr<BaseCarrier> carrier, ConnectionOptions options, Duration timeout);
  ~FirstBytes() { abandon(); }

  /// Ends the connection now; the owner is not told any more.
  void abandon() noexcept;
  std::unique_ptr<BaseCarrier> take_carrier() { return std::move(carrier_); }
  /// Returns the URL of the peer. Call it before take_carrier() only.
  std::string remote_endpoint() const { return carrier_->remote_endpoint(); }
  const ConnectionOptions& options() const { return options_; }
  /// Returns the bytes that were received.
  Bytes received() const { return {bytes_.data(), count_}; }

 private:
  enum class State : std::uint8_t { kWaiting, kKnown, kTold };

  bool receives() const override { return true; }
  void on_readable() override { look(); }
  void on_writable() override;
  void on_failed(Status why) override { leave(why); }
  void on_timer() override;

  void run() noexcept;
  void look();
  bool decide_by_name();
  bool decide_by_bytes();
  void decide(const Protocol* protocol);
  void leave(const Status& why);
  void told() noexcept;

  Loop& loop_;
  FirstBytesOwner& owner_;
  const std::span<const std::shared_ptr<const Protocol>> protocols_;
  std::unique_ptr<BaseCarrier> carrier_;
  const ConnectionOptions options_;
  std::array<std::byte, Protocol::kFirstBytesMax> bytes_;
  std::size_t count_ = 0;
  /// The protocol, once it is known; null: Weft's own, or an unknown one.
  const Protocol* protocol_ = nullptr;
  State state_ = State::kWaiting;
};

}  // namespace weft::detail
