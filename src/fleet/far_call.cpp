// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/far_call.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kFleetEnded{StatusCode::kCancelled, Layer::kRpc, Retry::kNever, "the fleet has ended",
                                   true};
constexpr FixedFailure kLoopStopped{StatusCode::kCancelled, Layer::kRpc, Retry::kNever,
                                    "the fleet's loop was stopped"};

}  // namespace

std::shared_ptr<FleetCore> FarCall::take_up() {
  std::shared_ptr<FleetCore> core = fleet.lock();
  MetadataView& metadata = options.call.metadata;
  if (core == nullptr || carried.empty() || metadata.is_given()) return core;
  if (core->pool_options().client.carries_metadata) metadata = MetadataView{Bytes{carried}};
  return core;
}

Status fleet_has_ended() noexcept {
  return Status::of<kFleetEnded>();
}

Status failure_of_far_call(Status failure, bool lost_its_loop) noexcept {
  if (failure.ok() || !lost_its_loop) return failure;
  Status words = Status::of<kLoopStopped>();
  if (failure.unprocessed()) words.mark_unprocessed();
  return words;
}

bool names_memory(const FleetCallOptions& options) noexcept {
  const CallOptions& call = options.call;
  return options.retry != nullptr || !call.attachment.empty() || !call.landing.empty() ||
         call.metadata.is_given() || call.progress != nullptr || call.answer_metadata != nullptr;
}

}  // namespace weft::detail
