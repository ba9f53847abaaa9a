// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>
#include <ucp/api/ucp.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace weft::detail::ucx_carrier {

/// Runs of memory as UCX takes them, one or many. UCX reads the list as long as it has the operation, so it
/// stays as it is until then. Room for a long one is kept for the next.
class RunList {
 public:
  /// Lists the first `bytes` of `runs`, as far as these go, and has room for one run more. False when memory
  /// is exhausted; nothing is listed then.
  bool list(std::span<const iovec> runs, std::size_t bytes) noexcept;
  /// Adds a run, once since list().
  void add(void* data, std::size_t bytes) noexcept {
    entries()[size_++] = {data, bytes};
    bytes_ += bytes;
  }

  std::size_t size() const noexcept { return size_; }
  /// Sum of the runs.
  std::size_t bytes() const noexcept { return bytes_; }

  // An operation's arguments: a single run is given as it is.
  void* buffer() noexcept { return is_list() ? static_cast<void*>(entries()) : entries()->buffer; }
  std::size_t count() noexcept { return is_list() ? size_ : bytes_; }
  void describe(ucp_request_param_t& params) const noexcept {
    if (!is_list()) return;
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    params.datatype = ucp_dt_make_iov();
  }

 private:
  static constexpr std::size_t kFew = 2;

  bool is_list() const noexcept { return size_ != 1; }
  bool reserve(std::size_t runs) noexcept;
  ucp_dt_iov_t* entries() noexcept { return many_ != nullptr ? many_.get() : few_.data(); }

  std::array<ucp_dt_iov_t, kFew> few_;
  std::unique_ptr<ucp_dt_iov_t[]> many_;
  std::size_t room_ = kFew;
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace weft::detail::ucx_carrier
