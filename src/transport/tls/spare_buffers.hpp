// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/tls/openssl.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail::tls {

/// Gives OpenSSL's buffers of a connection back, 33 KiB, when it has had no record for a second or two: the
/// next record brings them again. OpenSSL itself could do so after each record, and that costs four
/// allocations for a call. Thread: the loop's.
class SpareBuffers final : Timer {
 public:
  /// Both outlive it.
  SpareBuffers(Loop& loop, SSL& ssl) noexcept : loop_(loop), ssl_(ssl) {}

  /// A record comes or goes.
  void used() noexcept {
    used_ = true;
    if (!armed()) arm();
  }

 private:
  void arm() noexcept;
  void on_timer() override;

  Loop& loop_;
  SSL& ssl_;
  /// A record came or went since the timer was armed, which is done once a second and not for each record.
  bool used_ = false;
};

}  // namespace weft::detail::tls
