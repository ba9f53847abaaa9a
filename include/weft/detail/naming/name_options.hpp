// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/detail/base/log.hpp"
#include "weft/detail/base/time.hpp"

namespace weft {

struct NameOptions {
  /// An answer with more servers, or with more bytes of URLs and zones, is refused whole.
  std::size_t endpoints_max = 10'000;
  std::size_t bytes_max = std::size_t{4} << 20;
  /// The list changes at most so often; of changes in between the last one counts.
  Duration change_interval = std::chrono::milliseconds{100};
  /// Wait after a failed attempt: doubled with each one, and jittered down to its half.
  Duration backoff_min = std::chrono::milliseconds{100};
  Duration backoff_max = std::chrono::seconds{30};
  /// Time that one question to a DNS server or to etcd may take.
  Duration request_timeout = std::chrono::seconds{5};
  /// Names are resolved again by DNS when their TTL has passed, within these bounds; by etcd, which reports
  /// changes itself, after `ttl_max`.
  Duration ttl_min = std::chrono::seconds{1};
  Duration ttl_max = std::chrono::minutes{5};
  /// A watch of etcd that brings nothing for this long, neither a change nor a progress notification, may be
  /// cut off behind a proxy: the keys are listed again, and watched over another connection. An etcd with
  /// `--experimental-watch-progress-notify-interval` below it is listed less often. Above zero.
  Duration watch_silence_max = std::chrono::minutes{1};
  /// `127.0.0.1:5353,[::1]:53`; empty: those of the system.
  std::string dns_servers{};
  /// Scheme of the URLs that are made of addresses from DNS.
  std::string dns_scheme = "tcp";
  /// Outlives every object created with these options.
  Logger* logger = &stderr_logger();
};

/// Counters of one watch, since it was made.
struct NameWatchStats {
  /// Answers that became the list, or were the same as it.
  std::uint64_t answers = 0;
  /// Lists that differed from the one before.
  std::uint64_t changes = 0;
  /// Answers that were refused, and left the last good list in place: empty, malformed, beyond the limits.
  std::uint64_t refused_empty = 0;
  std::uint64_t refused_malformed = 0;
  std::uint64_t refused_huge = 0;
  /// Attempts that had no answer.
  std::uint64_t failures = 0;
  /// Entries of good answers that were left out, because they were malformed or there already.
  std::uint64_t skipped = 0;
  std::uint64_t duplicates = 0;
};

}  // namespace weft
