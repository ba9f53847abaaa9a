// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/part_landing.hpp"

#include <algorithm>
#include <cstdlib>

#include "transport/ucx/limits.hpp"
#include "weft/detail/ucx/library.hpp"

namespace weft::detail::ucx_carrier {

namespace {

// Returns how many of `bytes` are to go to `landing`: as many as it has room for, or none where its runs are
// so short that copying is cheaper than listing them.
std::size_t bytes_to_land(std::span<const iovec> landing, std::size_t bytes) noexcept {
  std::size_t room = 0;
  std::size_t runs = 0;
  for (; runs < landing.size() && room < bytes; ++runs) room += landing[runs].iov_len;
  room = std::min(room, bytes);
  return room >= runs * kLandingRunMin ? room : 0;
}

}  // namespace

bool PartLanding::place(Arrival& part, std::span<const iovec> landing) noexcept {
  std::size_t lands = bytes_to_land(landing, part.bytes);
  // Without memory to list many runs, the first run is used alone, and bytes behind it are copied.
  if (!runs_.list(landing.first(lands > 0 ? landing.size() : 0), lands)) {
    lands = std::min(lands, landing.front().iov_len);
    runs_.list(landing.first(1), lands);
  }
  const std::size_t rest = part.bytes - lands;
  void* const own = rest > 0 ? std::malloc(rest) : nullptr;
  if (rest > 0 && own == nullptr) return false;
  if (rest > 0) runs_.add(own, rest);
  in_place_ = lands;
  part.memory = rest > 0 ? Arrival::Memory::kCopied : Arrival::Memory::kNone;
  part.data = static_cast<std::byte*>(own);
  part.bytes = rest;
  return true;
}

ucs_status_t PartLanding::begin(ucp_worker_h worker, void* descriptor) noexcept {
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  params.cb.recv_am = &CarrierOperation::on_received;
  params.user_data = &operation_;
  runs_.describe(params);
  operation_.begin(runs_.bytes());
  return operation_.answered(
      ucx::detail::library.ucp_am_recv_data_nbx(worker, descriptor, runs_.buffer(), runs_.count(), &params));
}

}  // namespace weft::detail::ucx_carrier
