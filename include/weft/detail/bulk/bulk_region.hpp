// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/bulk/bulk_handle.hpp"

namespace weft {

namespace detail {
class BulkTable;
struct SharedRegion;
}  // namespace detail

/// Memory that is shared with peers while this lives. Movable. Thread: any, one at a time.
class BulkRegion {
 public:
  BulkRegion() = default;
  BulkRegion(BulkRegion&&) = default;
  BulkRegion& operator=(BulkRegion&& other) noexcept {
    revoke();
    table_ = std::move(other.table_);
    region_ = std::move(other.region_);
    return *this;
  }
  ~BulkRegion() { revoke(); }

  /// Returns the name by which peers reach it, with all rights that share() was given.
  BulkHandle handle() const noexcept;
  /// Returns the memory; empty once it is revoked. Peers may write to it at any time if they have the right.
  MutableBytes memory() const noexcept;
  /// Ends the region: every access that begins later fails with kNotFound. Accesses under way continue, and
  /// keep the memory; the Buffer passed to share() ends with the last of them, in this call if there is none.
  void revoke() noexcept;

 private:
  friend class BulkHost;
  BulkRegion(std::shared_ptr<detail::BulkTable> table, std::shared_ptr<detail::SharedRegion> region) noexcept
      : table_(std::move(table)), region_(std::move(region)) {}

  std::shared_ptr<detail::BulkTable> table_;
  std::shared_ptr<detail::SharedRegion> region_;
};

}  // namespace weft
