// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/bulk/bulk_host.hpp"

#include <utility>

#include "bulk/bulk_table.hpp"
#include "weft/detail/base/assert.hpp"

namespace weft {

namespace {

using Region = std::shared_ptr<detail::SharedRegion>;

MutableBytes part_of(const Region& region, std::uint64_t offset, std::uint64_t bytes) {
  return region->memory.mutable_bytes().subspan(static_cast<std::size_t>(offset),
                                                static_cast<std::size_t>(bytes));
}

/// Serves the method weft.bulk/read.
struct Reads {
  std::shared_ptr<detail::BulkTable> table;

  Result<void> operator()(CallContext& context, const BulkHandle& handle, std::uint64_t offset,
                          std::uint64_t bytes) const {
    Result<Region> found = table->find(handle, BulkRights::kRead, offset, bytes);
    if (!found.ok()) return found.status();
    if (bytes == 0) return {};
    const MutableBytes part = part_of(*found, offset, bytes);
    // The answer holds the region until all of it was sent. Others may write there meanwhile: peers, and the
    // owner that shared it.
    context.set_shared_attachment(
        Buffer::adopt(part, new Region{*std::move(found)},
                      [](void* owner) noexcept { delete static_cast<Region*>(owner); }));
    return {};
  }
};

/// Serves the method weft.bulk/write. A coroutine, which holds the region until all of it has landed.
struct Writes {
  std::shared_ptr<detail::BulkTable> table;

  Task<Result<void>> operator()(IncomingAttachment& data, BulkHandle handle, std::uint64_t offset) const {
    const std::uint64_t bytes = data.size();
    Result<Region> found = table->find(handle, BulkRights::kWrite, offset, bytes);
    if (!found.ok()) co_return found.status();
    const Region region = *std::move(found);
    co_return co_await data.into(LandingView{part_of(region, offset, bytes)}.shared());
  }
};

}  // namespace

BulkHost::BulkHost(Server& server, BulkHostOptions options)
    : server_(server), table_(std::make_shared<detail::BulkTable>(options.regions_max)) {
  WEFT_ASSERT(server.urls().empty(), "make a BulkHost before its server's start()");
  server.register_handler("weft.bulk/read", Reads{table_});
  server.register_handler("weft.bulk/write", Writes{table_});
}

Result<BulkRegion> BulkHost::share(Buffer memory, BulkRights rights) {
  const auto asked = static_cast<unsigned>(rights);
  if (memory.empty() || asked == 0 || asked > static_cast<unsigned>(BulkRights::kReadAndWrite)) {
    return Status{StatusCode::kInvalidArgument, Layer::kRpc,
                  "BulkHost::share: give it memory, and rights to read or to write it"};
  }
  auto region = std::make_shared<detail::SharedRegion>();
  region->memory = std::move(memory);
  Result<MemoryLease> lease = server_.register_memory(region->memory.mutable_bytes());
  if (!lease.ok()) return lease.status();
  region->lease = *std::move(lease);
  region->handle.bytes = region->memory.size();
  region->handle.rights = rights;
  if (Result<void> added = table_->add(region); !added.ok()) return added.status();
  return BulkRegion{table_, std::move(region)};
}

}  // namespace weft
