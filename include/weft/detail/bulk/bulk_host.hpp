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
  /// Regions that are shared at the same time. Each takes a few hundred bytes, and what its registration
  /// takes of devices; they are often made because a peer asked for it, so somebody has to bound them.
  std::size_t regions_max = 65'536;
};

/// Lets peers read and write memory of this process by handles: registers the methods `weft.bulk/read` and
/// `weft.bulk/write` with a server. Peers use BulkPeer. Thread: any, after the constructor.
class BulkHost {
 public:
  /// Serves on `server`, before its start(), which must outlive this. The regions stay when this ends, and
  /// may end after the server.
  explicit BulkHost(Server& server, BulkHostOptions options = {});

  /// Shares `memory` until the region that this returns ends. Memory that belongs to somebody else is shared
  /// as Buffer::adopt(memory, owner, release): `release` says when nobody uses it any more, on the thread
  /// that used it last. It is registered with the server's transports meanwhile. Errors: those of
  /// Server::register_memory(); kInvalidArgument for no memory, or for rights that are none;
  /// kResourceExhausted while `regions_max` are shared.
  Result<BulkRegion> share(Buffer memory, BulkRights rights);

 private:
  Server& server_;
  std::shared_ptr<detail::BulkTable> table_;
};

}  // namespace weft
