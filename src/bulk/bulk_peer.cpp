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

constexpr FixedFailure kMemoryInOptions{StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
                                        "the memory of a bulk access is an argument of BulkPeer::read() or "
                                        "write(), so its options name no attachment and no landing",
                                        true};

bool name_memory(const CallOptions& options) {
  const auto is_given = [](const auto& runs) {
    return runs.count() != 0 || runs.fault() != detail::RunsFault::kNone;
  };
  return is_given(options.attachment) || is_given(options.landing);
}

/// Says why the server knows neither method.
Status without_host(const Status& failure) {
  if (failure.code() != StatusCode::kUnimplemented || failure.layer() != Layer::kRpc) return failure;
  Status told{StatusCode::kUnimplemented, Layer::kRpc,
              "the server has no BulkHost, which is made for it before its start()", failure.native(),
              failure.retry()};
  if (failure.unprocessed()) told.mark_unprocessed();
  return told;
}

}  // namespace

Task<Result<void>> BulkPeer::read(BulkHandle handle, std::uint64_t offset, LandingView into,
                                  CallOptions options) {
  if (name_memory(options)) co_return Status::of<kMemoryInOptions>();
  const std::uint64_t bytes = into.bytes();
  if (Status bad = detail::check_access(handle, BulkRights::kRead, offset, bytes); !bad.ok()) co_return bad;
  options.landing = into;
  auto answer = co_await client_->call<bulk_read>(options, handle, offset, bytes).with_attachment();
  if (!answer.ok()) co_return without_host(answer.status());
  if (answer->attachment_bytes != bytes) co_return Status::of<kOtherLength>();
  co_return Result<void>{};
}

Task<Result<void>> BulkPeer::write(BulkHandle handle, std::uint64_t offset, AttachmentView from,
                                   CallOptions options) {
  if (name_memory(options)) co_return Status::of<kMemoryInOptions>();
  Status bad = detail::check_access(handle, BulkRights::kWrite, offset, from.bytes());
  if (!bad.ok()) co_return bad;
  options.attachment = from;
  Result<void> written = co_await client_->call<bulk_write>(options, handle, offset);
  if (!written.ok()) co_return without_host(written.status());
  co_return written;
}

}  // namespace weft
