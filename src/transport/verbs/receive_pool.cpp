// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/receive_pool.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "transport/verbs/promised_receives.hpp"
#include "transport/verbs/verbs_carrier.hpp"

namespace weft::detail::verbs_carrier {

namespace {

std::size_t most_receives(const VerbsOptions& options, const ibv_device_attr& device) {
  const std::size_t granted = std::min(device.max_srq_wr, device.max_cqe / 2);
  return std::min(granted, options.receive_bytes_max / options.message_bytes);
}

}  // namespace

ReceivePool::ReceivePool(const std::shared_ptr<verbs::ProtectionDomain>& domain, const VerbsOptions& options,
                         CarriersByPair& carriers, UniqueFunction<void()> on_unneeded)
    : options_(options),
      carriers_(carriers),
      on_unneeded_(std::move(on_unneeded)),
      pool_(domain, {options.message_bytes,
                     options.block_bytes,
                     options.receive_bytes_max,
                     {options.usage, &VerbsUsage::receive_bytes}}),
      receives_max_(most_receives(options, domain->device().attributes())) {}

ReceivePool::~ReceivePool() {
  queue_.reset();
  if (completions_ != nullptr) completions_->remove(place_);
}

Status ReceivePool::start(verbs::CompletionQueue& completions) {
  place_ = completions.add(*this);
  completions_ = &completions;  // not before: without memory for a place there is none to give back
  auto queue =
      verbs::SharedReceiveQueue::create(pool_.domain(), completions, {.receives_max = receives_max_});
  if (!queue.ok()) return std::move(queue).status();
  queue_ = *std::move(queue);
  return {};
}

bool ReceivePool::post(std::uint32_t slot) noexcept {
  if (slot >= kept_slots_ && receives_ > promised_) [[unlikely]] {
    --receives_;
    pool_.release(slot);
    return true;
  }
  const SlotPool::Slot memory = pool_.at(slot);
  ibv_sge segment{reinterpret_cast<std::uintptr_t>(memory.data),
                  static_cast<std::uint32_t>(pool_.slot_bytes()), memory.lkey};
  ibv_recv_wr request{};
  request.wr_id = completions_->id_for(place_, slot);
  request.sg_list = &segment;
  request.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  const int error = ibv_post_srq_recv(queue_->handle(), &request, &refused);
  if (error == 0) return true;
  pool_.release(slot);
  if (--receives_ < promised_) {
    carriers_.fail_all(verbs::call_status(error, "a receive that a peer was promised"));
  }
  return false;
}

bool ReceivePool::add() noexcept {
  if (receives_ == receives_max_ || memory_is_out_) return false;
  const SlotPool::Slot slot = pool_.acquire();
  // To ask the system again for each message would cost more than the message.
  memory_is_out_ = !slot;
  if (!slot) return false;
  ++receives_;
  kept_slots_ = std::max<std::size_t>(kept_slots_, slot.index + 1);
  return post(slot.index);
}

bool ReceivePool::provide(std::size_t credits) noexcept {
  while (receives_ < promised_ + credits) {
    if (!add()) return false;
  }
  return true;
}

Status ReceivePool::refusal() const {
  if (receives_ < receives_max_) return pool_.no_memory("memory to receive into");
  return {
      StatusCode::kResourceExhausted, Layer::kTransport,
      receives_max_ < options_.receive_bytes_max / options_.message_bytes
          ? "the device's shared receive queue is full, with " + std::to_string(receives_max_) + " receives"
          : "VerbsOptions::receive_bytes_max: all of it is promised to other connections"};
}

// What connections that may still come have a right to, up to half of all.
std::size_t ReceivePool::kept_for_others() const noexcept {
  const std::size_t others = options_.connections_max - carriers_.size();
  return std::min(others * options_.credits_min, receives_max_ / 2);
}

bool ReceivePool::promise_one(PromisedReceives& asks) noexcept {
  const bool spare = promised_ + kept_for_others() < receives_max_;
  if (spare && (receives_ > promised_ || add())) {
    ++promised_;
    return true;
  }
  // Asks the least recently active carrier first, and not again before it was active.
  while (!spare_.empty()) {
    PromisedReceives& holder = spare_.pop_front();
    if (&holder != &asks && holder.ask_back()) break;
  }
  return false;
}

void ReceivePool::unpromise(std::size_t credits) noexcept {
  promised_ -= credits;
  if (pool_.blocks() > 1) on_unneeded_();
}

void ReceivePool::note_spare(PromisedReceives& holder, bool has) noexcept {
  static_cast<ListHook<SpareTag>&>(holder).unlink();
  if (has) spare_.push_back(holder);
}

// A device returns a receive only by using it. So the receives in the last blocks are not posted again after
// use, as long as there are more than were promised lately; a block is returned to the system when all of its
// receives are.
bool ReceivePool::trim() noexcept {
  const std::size_t needed = std::max(promised_, std::exchange(promised_lately_, promised_));
  kept_slots_ = pool_.in_whole_blocks(std::max<std::size_t>(needed, 1));
  return needed > promised_;
}

// Runs inside a poll, so it only records the completion.
void ReceivePool::on_completion(std::uint32_t slot, const ibv_wc& completion) noexcept {
  VerbsCarrier* const carrier = carriers_.find(completion.qp_num);
  if (completion.status != IBV_WC_SUCCESS) {
    post(slot);
    if (carrier != nullptr) carrier->fail(verbs::to_status(completion.status, "receiving by RDMA"));
    return;
  }
  // A message that was under way when its carrier was shut is not an error.
  if (carrier == nullptr) {
    post(slot);
    return;
  }
  carrier->receiver().arrived(slot, completion.opcode == IBV_WC_RECV ? completion.byte_len : 0);
}

}  // namespace weft::detail::verbs_carrier
