// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/bulk/bulk_region.hpp"

#include "bulk/bulk_table.hpp"

namespace weft {

BulkHandle BulkRegion::handle() const noexcept {
  return region_ != nullptr ? region_->handle : BulkHandle{};
}

MutableBytes BulkRegion::memory() const noexcept {
  return region_ != nullptr ? region_->memory.mutable_bytes() : MutableBytes{};
}

void BulkRegion::revoke() noexcept {
  if (region_ == nullptr) return;
  table_->remove(region_->handle.region);
  region_.reset();
  table_.reset();
}

}  // namespace weft
