// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "weft/detail/base/result.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/bulk/bulk_handle.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/transport/memory_lease.hpp"

namespace weft::detail {

/// Memory that is shared, as long as its BulkRegion or an access has it.
struct SharedRegion {
  BulkHandle handle;
  Buffer memory;
  /// Ends before the memory.
  MemoryLease lease;
};

/// Refuses an access of `bytes` at `offset` for which `handle` does not give the right, or that leaves its
/// region.
Status check_access(const BulkHandle& handle, BulkRights right, std::uint64_t offset, std::uint64_t bytes);

/// The regions that one host shares. Thread: any.
class BulkTable {
 public:
  explicit BulkTable(std::size_t regions_max) noexcept : regions_max_(regions_max) {}

  /// Gives `region` its name. Throws std::bad_alloc. Errors: kResourceExhausted while it is full.
  Result<void> add(const std::shared_ptr<SharedRegion>& region);
  void remove(std::uint64_t region) noexcept;
  /// Finds the region of `handle` for an access. Length and rights in the handle are ignored. Errors:
  /// kNotFound, also for the key of another region; those of check_access().
  Result<std::shared_ptr<SharedRegion>> find(const BulkHandle& handle, BulkRights right, std::uint64_t offset,
                                             std::uint64_t bytes);

 private:
  const std::size_t regions_max_;
  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<SharedRegion>> regions_;
};

}  // namespace weft::detail
