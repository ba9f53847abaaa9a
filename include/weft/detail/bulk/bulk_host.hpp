// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "weft/detail/base/result.hpp"
#include "weft/detail/bulk/bulk_region.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/server.hpp"

namespace weft {

/// Limits of a BulkHost.
struct BulkHostOptions {
  /// Maximum number of regions shared at the same time. Each takes a few hundred bytes, and the resources of
  /// its registration with devices; regions are often created on a peer's request, so their number must be
  /// bounded.
  std::size_t regions_max = 65'536;
};

/// Lets peers read and write memory of this process by handles: registers the methods `weft.bulk/read` and
/// `weft.bulk/write` with a server. Peers use BulkPeer. Thread: any, after the constructor.
class BulkHost {
 public:
  /// Serves on `server`, before its start(), which must outlive this. The regions stay when this ends, and
  /// may end after the server.
  explicit BulkHost(Server& server, BulkHostOptions options = {});

  /// Shares `memory` until the returned region ends. Share memory owned by another object as
  /// Buffer::adopt(memory, owner, release): `release` is called when the memory is not used any more, on the
  /// thread that used it last. It is registered with the server's transports meanwhile. Errors: those of
  /// Server::register_memory(); kInvalidArgument for empty memory, or for empty rights; kResourceExhausted
  /// while `regions_max` are shared.
  Result<BulkRegion> share(Buffer memory, BulkRights rights);

 private:
  Server& server_;
  std::shared_ptr<detail::BulkTable> table_;
};

}  // namespace weft
