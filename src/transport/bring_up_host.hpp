// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Carries out, on the connection that it belongs to, what a BringUp asks for.
class BringUpHost {
 public:
  /// Queues a whole frame; false when memory is exhausted.
  virtual bool queue_carrier_frame(std::string_view frame) = 0;
  /// Returns how many bytes leave before the next frame that is queued.
  virtual std::size_t queued_bytes() const = 0;
  /// Sends as many queued bytes as possible: the connection is about to end, and the bytes tell the peer why.
  virtual void send_what_is_queued() = 0;
  /// Called when both sides have decided. Everything behind the queued bytes travels by the carrier from
  /// move(), if it moves(); the sink receives the hello and everything after it.
  virtual void on_carrier_decided() = 0;
  /// Answers as Connection::has_looked().
  virtual bool has_looked(TimePoint due) const noexcept = 0;
  /// The connection cannot go on: what the peer may rely on by now does not hold.
  virtual void on_bring_up_failed(Status why) = 0;
  /// The base carrier has ended after move(), and the peer is gone. `error` says how, 0 for an end in order.
  virtual void on_peer_gone(int error) = 0;

 protected:
  ~BringUpHost() = default;
};

}  // namespace weft::detail
