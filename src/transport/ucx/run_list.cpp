// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/run_list.hpp"

#include <algorithm>
#include <new>

namespace weft::detail::ucx_carrier {

bool RunList::list(std::span<const iovec> runs, std::size_t bytes) noexcept {
  size_ = bytes_ = 0;
  if (!reserve(runs.size() + 1)) return false;
  for (const iovec& run : runs) {
    const std::size_t part = std::min(run.iov_len, bytes - bytes_);
    if (part > 0) add(run.iov_base, part);
    if (bytes_ == bytes) break;
  }
  return true;
}

bool RunList::reserve(std::size_t runs) noexcept {
  if (runs <= room_) return true;
  auto* const larger = new (std::nothrow) ucp_dt_iov_t[runs];
  if (larger == nullptr) return false;
  many_.reset(larger);
  room_ = runs;
  return true;
}

}  // namespace weft::detail::ucx_carrier
