// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "transport/tls/credentials.hpp"
#include "transport/tls/handles.hpp"
#include "transport/tls/handshake_turns.hpp"
#include "transport/tls/handshakes.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail::tls {

/// Terms of a handshake.
struct Terms {
  /// Counts what becomes of it.
  std::shared_ptr<Credentials> credentials;
  /// Null: a client's.
  std::shared_ptr<Handshakes> under_way;
  /// Steps of the loop's handshakes, one by one.
  std::shared_ptr<HandshakeTurns> turns;

  const TlsOptions& options() const noexcept { return credentials->options(); }
  Tally& tally() const noexcept { return credentials->tally(); }
  void enter(Handshake& handshake) const noexcept {
    if (under_way != nullptr) under_way->enter(handshake);
  }
  void leave(Handshake& handshake) const noexcept {
    if (under_way != nullptr) under_way->leave(handshake);
  }
};

}  // namespace weft::detail::tls
