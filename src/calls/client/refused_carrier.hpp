// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/log.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/transport/connection.hpp"

namespace weft::detail {

/// Warns of connections that go by their stream although both sides offer another carrier: who prefers one
/// should not have to wonder why calls are slow. At most once a second, so that a peer that refuses
/// connection after connection fills no log.
class RefusedCarrier {
 public:
  /// `connection` came up at `now`.
  void tell(const Connection& connection, Logger& logger, TimePoint now);

 private:
  TimePoint quiet_until_{};
};

}  // namespace weft::detail
