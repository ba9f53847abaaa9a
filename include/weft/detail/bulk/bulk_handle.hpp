// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft {

/// Accesses that a BulkHandle gives a right to.
enum class BulkRights : std::uint8_t { kRead = 1, kWrite = 2, kReadAndWrite = 3 };

/// Name of memory that a process shares (BulkHost::share()): a value that travels inside messages. Every
/// holder may use it, at the server that shares the memory, until that server revokes it; so pass it on like
/// a key. It holds no address and nothing that a device would accept.
struct BulkHandle {
  /// Number of the region at its host.
  std::uint64_t region = 0;
  /// 128 random bits, without which the number is of no use.
  std::uint64_t key_high = 0;
  std::uint64_t key_low = 0;
  /// Length of the memory, and the rights. The host checks its own record of them: smaller values make
  /// BulkPeer refuse accesses beyond them, and larger ones have no effect.
  std::uint64_t bytes = 0;
  BulkRights rights = BulkRights::kRead;
};

}  // namespace weft
