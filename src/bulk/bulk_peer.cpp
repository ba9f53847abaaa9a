// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/bulk/bulk_peer.hpp"

#include "bulk/bulk_table.hpp"

namespace weft {

namespace {

constexpr auto& bulk_read =
    remote<"weft.bulk/read", Result<void>(const BulkHandle&, std::uint64_t, std::uint64_t)>;
constexpr auto& bulk_write =
    remote<"weft.bulk/write", Result<void>(IncomingAttachment&, BulkHandle, std::uint64_t)>;

constexpr FixedFailure kOtherLength{StatusCode::kInternal, Layer::kRpc, Retry::kNever,
                                    "the server answered a bulk read with fewer bytes than were asked for"};

}  // namespace

Task<Result<void>> BulkPeer::read(BulkHandle handle, std::uint64_t offset, LandingView into,
                                  CallOptions options) {
  const std::uint64_t bytes = into.bytes();
  if (Status bad = detail::check_access(handle, BulkRights::kRead, offset, bytes); !bad.ok()) co_return bad;
  options.attachment = {};
  options.landing = into;
  auto answer = co_await client_->call<bulk_read>(options, handle, offset, bytes).with_attachment();
  if (!answer.ok()) co_return answer.status();
  if (answer->attachment_bytes != bytes) co_return Status::of<kOtherLength>();
  co_return Result<void>{};
}

Task<Result<void>> BulkPeer::write(BulkHandle handle, std::uint64_t offset, AttachmentView from,
                                   CallOptions options) {
  Status bad = detail::check_access(handle, BulkRights::kWrite, offset, from.bytes());
  if (!bad.ok()) co_return bad;
  options.attachment = from;
  options.landing = {};
  co_return co_await client_->call<bulk_write>(options, handle, offset);
}

}  // namespace weft
