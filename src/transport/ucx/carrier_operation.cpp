// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/carrier_operation.hpp"

#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/posted.hpp"

namespace weft::detail::ucx_carrier {

void CarrierOperation::begin(std::size_t bytes) noexcept {
  bytes_ = bytes;
  began_ = conversation_.loop().now();
  active_ = true;
  done_ = false;
}

ucs_status_t CarrierOperation::answered(ucs_status_ptr_t answer) noexcept {
  if (answer == nullptr) {
    active_ = false;
    return UCS_OK;
  }
  if (ucx::detail::is_error(answer)) {
    active_ = false;
    conversation_.fail(ucx::detail::error_of(answer));
    return ucx::detail::error_of(answer);
  }
  return UCS_INPROGRESS;
}

void CarrierOperation::complete(ucs_status_t status) noexcept {
  done_ = true;
  status_ = status;
  if (ends_ == Ends::kByItself) active_ = false;
  if (status != UCS_OK) return conversation_.fail(status);
  conversation_.touch();
}

ucs_status_t CarrierOperation::fetch() noexcept {
  active_ = done_ = false;
  return status_;
}

void CarrierOperation::on_sent(void* request, ucs_status_t status, void* operation) noexcept {
  ucx::detail::library.ucp_request_free(request);
  static_cast<CarrierOperation*>(operation)->complete(status);
}

void CarrierOperation::on_received(void* request, ucs_status_t status, std::size_t,
                                   void* operation) noexcept {
  on_sent(request, status, operation);
}

}  // namespace weft::detail::ucx_carrier
