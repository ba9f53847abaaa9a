// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "weft/detail/base/status.hpp"
#include "weft/detail/transport/tls_stats.hpp"

namespace weft::detail::tls {

/// Counts what becomes of handshakes. Thread: any.
class Tally {
 public:
  using Counter = std::atomic<std::uint64_t>;

  static void count(Counter& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }
  /// Returns the counter of failures such as `why`.
  Counter& of(const Status& why) noexcept;
  TlsStats stats() const noexcept;

  Counter handshakes{0};
  Counter resumed{0};
  Counter plain{0};
  Counter not_tls{0};
  Counter certificates_refused{0};
  Counter nothing_common{0};
  Counter broken{0};
  Counter lost{0};
  Counter late{0};
  Counter pushed_out{0};
  Counter over_rate{0};
  Counter out_of_memory{0};
  Counter reloads{0};
  Counter reloads_failed{0};
};

}  // namespace weft::detail::tls
