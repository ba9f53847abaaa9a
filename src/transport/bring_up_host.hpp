// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weft/detail/base/status.hpp"

namespace weft::detail {

/// Carries out, on the connection that it belongs to, what a BringUp asks for.
class BringUpHost {
 public:
  /// Queues a whole frame; false when memory is out.
  virtual bool queue_carrier_frame(std::string_view frame) = 0;
  /// Returns how many bytes leave before the next frame that is queued.
  virtual std::size_t queued_bytes() const = 0;
  /// Lets out what it can of what is queued: the connection is about to end, and that tells the peer why.
  virtual void send_what_is_queued() = 0;
  /// Both sides have decided. Everything after what is queued goes by what move() gives, if it moves(); the
  /// sink is to have the hello and all that follows.
  virtual void on_carrier_decided() = 0;
  /// The connection cannot go on: what the peer may rely on by now does not hold.
  virtual void on_bring_up_failed(Status why) = 0;
  /// The base carrier has ended after move(), and the peer is gone. `error` says how, 0 for an end in order.
  virtual void on_peer_gone(int error) = 0;

 protected:
  ~BringUpHost() = default;
};

}  // namespace weft::detail
