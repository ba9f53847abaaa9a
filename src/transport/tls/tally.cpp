// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/tally.hpp"

namespace weft::detail::tls {

Tally::Counter& Tally::of(const Status& why) noexcept {
  switch (why.code()) {
    case StatusCode::kUnauthenticated:
      return certificates_refused;
    case StatusCode::kFailedPrecondition:
      return nothing_common;
    case StatusCode::kUnavailable:
      return lost;
    case StatusCode::kResourceExhausted:
      return out_of_memory;
    default:
      return broken;
  }
}

TlsStats Tally::stats() const noexcept {
  const auto value = [](const Counter& counter) { return counter.load(std::memory_order_relaxed); };
  return {.handshakes = value(handshakes),
          .resumed = value(resumed),
          .plain = value(plain),
          .not_tls = value(not_tls),
          .certificates_refused = value(certificates_refused),
          .nothing_common = value(nothing_common),
          .broken = value(broken),
          .lost = value(lost),
          .late = value(late),
          .pushed_out = value(pushed_out),
          .over_rate = value(over_rate),
          .out_of_memory = value(out_of_memory),
          .reloads = value(reloads),
          .reloads_failed = value(reloads_failed)};
}

}  // namespace weft::detail::tls
