// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "weft/detail/verbs/completion_queue.hpp"
#include "weft/detail/verbs/device.hpp"
#include "weft/detail/verbs/posted.hpp"

namespace weft::verbs::detail {

/// Parameters of an operation.
struct Asked {
  const ProtectionDomain& domain;
  std::span<const Memory> memory;
  std::size_t segments_max = 1;
  Request request{};
};

/// Returns a record for the request that keeps its memory. Null on failure, with the reason in `why`.
Operation* prepare(OperationTable& table, const Asked& asked, NotPosted& why) noexcept;

/// Gives it to the device, or lets it wait for room in `queue`.
template <OperationFamily Family>
Posted<Family> post(OperationTable& table, WorkQueue& queue, const Asked& asked) noexcept {
  NotPosted not_posted = NotPosted::kNone;
  Operation* const operation = prepare(table, asked, not_posted);
  if (operation == nullptr) return Posted<Family>{not_posted};
  queue.accept(*operation);
  return Posted<Family>{*operation};
}

/// The work request of a receive, for a QueuePair's or a SharedReceiveQueue's queue: `call(request, bad)`.
template <typename Call>
int post_receive(const Operation& operation, Call call) noexcept {
  std::array<ibv_sge, kSegmentsMax> segments;
  std::size_t bytes = 0;
  ibv_recv_wr request{};
  request.num_sge = static_cast<int>(operation.write_segments(segments, bytes));
  request.wr_id = operation.id();
  request.sg_list = segments.data();
  ibv_recv_wr* refused = nullptr;
  return call(&request, &refused);
}

}  // namespace weft::verbs::detail
