// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/client.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/bulk/bulk_handle.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft {

/// Reads and writes memory that the server of a client shares (BulkHost). Bytes go as attachments do: by RDMA
/// between registered memory, in pieces that let small calls pass, bounded by the call's deadline.
/// Thread: the client's loop.
class BulkPeer {
 public:
  /// `client` must outlive this and its calls.
  explicit BulkPeer(Client& client) noexcept : client_(&client) {}

  /// Reads from `offset` of the region, as many bytes as `into` has. Cancel, lease of `into`: as for a call's
  /// landing. `options` give times, metadata, progress and landing_rate. Errors: kNotFound when the server
  /// does not have the region, or no longer; kPermissionDenied; kOutOfRange when the region ends before;
  /// kInvalidArgument when `options` contain an attachment or a landing; kUnimplemented when the server has
  /// no BulkHost; those of a call. After a failure `into` may be partly filled.
  Task<Result<void>> read(BulkHandle handle, std::uint64_t offset, LandingView into,
                          CallOptions options = {});
  /// Writes `from` to the region, at `offset`. Otherwise like read(), with attachment_rate instead of
  /// landing_rate; for kUnavailable, Status::unprocessed() tells whether some of it may have been written.
  Task<Result<void>> write(BulkHandle handle, std::uint64_t offset, AttachmentView from,
                           CallOptions options = {});

 private:
  Client* client_;
};

}  // namespace weft
