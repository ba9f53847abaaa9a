// SPDX-License-Identifier: Apache-2.0
#include "bulk/bulk_table.hpp"

#include <random>
#include <string>

namespace weft::detail {

namespace {

constexpr FixedFailure kNoSuchRegion{StatusCode::kNotFound, Layer::kRpc, Retry::kNever,
                                     "no memory is shared under this bulk handle: it was revoked, or it is "
                                     "another server's"};

constexpr FixedFailure kTooManyRegions{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kNever,
    "BulkHost::share: as many regions are shared as "
    "BulkHostOptions::regions_max says; revoke some, or let there be more"};

std::uint64_t random_word(std::random_device& source) {
  return std::uint64_t{source()} << 32 | source();
}

}  // namespace

Status check_access(const BulkHandle& handle, BulkRights right, std::uint64_t offset, std::uint64_t bytes) {
  if ((static_cast<unsigned>(handle.rights) & static_cast<unsigned>(right)) == 0) {
    return {StatusCode::kPermissionDenied, Layer::kRpc,
            right == BulkRights::kRead ? "the bulk handle gives no right to read"
                                       : "the bulk handle gives no right to write"};
  }
  if (offset <= handle.bytes && bytes <= handle.bytes - offset) return {};
  return {StatusCode::kOutOfRange, Layer::kRpc, [&] {
            return std::to_string(bytes) + " bytes at " + std::to_string(offset) +
                   " leave the memory of the bulk handle, which has " + std::to_string(handle.bytes);
          }};
}

Result<void> BulkTable::add(const std::shared_ptr<SharedRegion>& region) {
  std::random_device source;
  region->handle.key_high = random_word(source);
  region->handle.key_low = random_word(source);
  const std::lock_guard lock{mutex_};
  if (regions_.size() >= regions_max_) return Status::of<kTooManyRegions>();
  region->handle.region = ++last_;
  regions_.emplace(last_, region);
  return {};
}

// The memory may end with it, which is not done under the lock: its release is the user's.
void BulkTable::remove(std::uint64_t region) noexcept {
  std::shared_ptr<SharedRegion> removed;
  const std::lock_guard lock{mutex_};
  const auto found = regions_.find(region);
  if (found == regions_.end()) return;
  removed = std::move(found->second);
  regions_.erase(found);
}

Result<std::shared_ptr<SharedRegion>> BulkTable::find(const BulkHandle& handle, BulkRights right,
                                                      std::uint64_t offset, std::uint64_t bytes) {
  std::shared_ptr<SharedRegion> region;
  {
    const std::lock_guard lock{mutex_};
    const auto found = regions_.find(handle.region);
    if (found != regions_.end()) region = found->second;
  }
  // Compare both words in any case, so that the time reveals nothing about the first.
  const bool matches = region != nullptr && ((region->handle.key_high ^ handle.key_high) |
                                             (region->handle.key_low ^ handle.key_low)) == 0;
  if (!matches) return Status::of<kNoSuchRegion>();
  if (Status bad = check_access(region->handle, right, offset, bytes); !bad.ok()) return bad;
  return region;
}

}  // namespace weft::detail
