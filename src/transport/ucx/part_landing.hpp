// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>
#include <ucp/api/ucp.h>

#include <cstddef>
#include <span>

#include "transport/ucx/arrival.hpp"
#include "transport/ucx/carrier_operation.hpp"
#include "transport/ucx/conversation.hpp"
#include "transport/ucx/run_list.hpp"

namespace weft::detail::ucx_carrier {

/// Landing of a part that still is where its sender has it: in the owner's memory as far as that was named,
/// and the rest in memory of our own.
///
///   idle --place()--> placed --begin()--> active, UCX writes --UCX--> done --fetch()--> idle
///
/// Thread: the loop's.
class PartLanding {
 public:
  explicit PartLanding(Conversation& conversation) noexcept
      : operation_(conversation, CarrierOperation::Ends::kWhenFetched) {}

  /// Chooses the memory for `part`: in `landing`, where that is worth it, otherwise our own. `part` is then
  /// updated to our memory, or to none when all of it lands. Returns false, without a change, when memory is
  /// exhausted.
  bool place(Arrival& part, std::span<const iovec> landing) noexcept;
  /// Receives the placed part out of `descriptor`, which belongs to UCX again afterwards. Returns
  /// UCS_INPROGRESS, or an error.
  ucs_status_t begin(ucp_worker_h worker, void* descriptor) noexcept;
  /// Returns the result of the operation once it is done.
  ucs_status_t fetch() noexcept { return operation_.fetch(); }
  /// The worker is gone, and UCX with it.
  void give_up() noexcept { operation_.give_up(); }

  bool active() const noexcept { return operation_.active(); }
  const CarrierOperation& operation() const noexcept { return operation_; }
  /// Bytes of the last part that went into the owner's memory, or go there.
  std::size_t in_place() const noexcept { return in_place_; }

 private:
  CarrierOperation operation_;
  RunList runs_;
  std::size_t in_place_ = 0;
};

}  // namespace weft::detail::ucx_carrier
