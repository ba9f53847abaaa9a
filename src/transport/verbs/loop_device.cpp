// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/loop_device.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "transport/message_header.hpp"
#include "transport/verbs/limits.hpp"
#include "transport/verbs/verbs_carrier.hpp"

namespace weft::verbs_carrier {

namespace {

constexpr Duration kLogInterval = std::chrono::seconds{1};

std::size_t receives_max(const VerbsOptions& options, const ibv_device_attr& device) {
  const std::size_t granted = std::min(device.max_srq_wr, device.max_cqe / 2);
  return std::min(granted, options.receive_bytes_max / options.message_bytes);
}

Status no_memory(const SlotPool& pool, const char* what) {
  if (!pool.refusal().ok()) return pool.refusal().with_context(what);
  return {StatusCode::kResourceExhausted, Layer::kTransport, std::string{what} + ": memory is out"};
}

}  // namespace

Result<std::shared_ptr<LoopDevice>> LoopDevice::make(Loop& loop, std::shared_ptr<SharedDevice> device,
                                                     const VerbsOptions& options,
                                                     std::shared_ptr<WayFinder> ways) {
  auto loop_device = std::make_shared<LoopDevice>(loop, std::move(device), options, std::move(ways));
  if (Status failed = loop_device->start(); !failed.ok()) return failed;
  return loop_device;
}

LoopDevice::LoopDevice(Loop& loop, std::shared_ptr<SharedDevice> device, const VerbsOptions& options,
                       std::shared_ptr<WayFinder> ways)
    : loop_(loop),
      options_(options),
      device_(std::move(device)),
      ways_(std::move(ways)),
      registrations_(device_->registrations()),
      pool_(protection(), {options.message_bytes,
                           options.block_bytes,
                           options.receive_bytes_max,
                           {options.usage, &VerbsUsage::receive_bytes}}),
      sends_(protection(), {options.message_bytes,
                            options.block_bytes,
                            options.send_bytes_max,
                            {options.usage, &VerbsUsage::send_bytes}}),
      controls_(protection(), {kControlBytes,
                               kControlBlockBytes,
                               verbs_memory(options).control_bytes_max,
                               {options.usage, &VerbsUsage::control_bytes}}) {}

// Who waits for memory to send from hears when somebody gives some back: there has to be some.
Status LoopDevice::provide(SlotPool& pool) {
  const SlotPool::Slot slot = pool.acquire();
  if (!slot) return no_memory(pool, "memory to send from");
  pool.release(slot.index);
  return {};
}

Status LoopDevice::start() {
  device_->enlist(*this);
  const std::shared_ptr<verbs::Device>& device = protection()->shared_device();
  auto port = options_.port == 0 ? device->active_port() : device->port(options_.port);
  if (!port.ok()) return std::move(port).status();
  port_ = port->number;
  const ibv_device_attr& limits = device->attributes();
  receives_max_ = receives_max(options_, limits);
  const std::size_t entries =
      std::min<std::size_t>(static_cast<std::size_t>(limits.max_cqe),
                            receives_max_ + (options_.sends_max + kControlSends) * options_.connections_max);
  auto completions = verbs::CompletionQueue::create(loop_, device, {.entries = entries});
  if (!completions.ok()) return std::move(completions).status();
  completions_ = *std::move(completions);
  place_ = completions_->add(*this);
  auto receives =
      verbs::SharedReceiveQueue::create(protection(), *completions_, {.receives_max = receives_max_});
  if (!receives.ok()) return std::move(receives).status();
  receives_ = *std::move(receives);
  auto events = verbs::DeviceEvents::watch(loop_, device, [this](const verbs::DeviceEvent& event) {
    report(event);
    device_->tell(*this, event);
  });
  if (!events.ok()) return std::move(events).status();
  events_ = *std::move(events);
  if (Status failed = provide(sends_); !failed.ok()) return failed;
  return provide(controls_);
}

LoopDevice::~LoopDevice() {
  WEFT_ASSERT(carriers_.empty() && lent_ == 0, "a LoopDevice ends after its carriers");
  loop_.disarm(trimming_);
  device_->strike(*this);
  while (!retired_.empty()) bury_oldest();
  events_.reset();
  receives_.reset();
  if (completions_ != nullptr) completions_->remove(place_);
}

bool LoopDevice::post(std::uint32_t slot) noexcept {
  if (slot >= kept_slots_ && slots_ > promised_) [[unlikely]] {
    --slots_;
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
  const int error = ibv_post_srq_recv(receives_->handle(), &request, &refused);
  if (error == 0) return true;
  pool_.release(slot);
  if (--slots_ < promised_) {
    fail_all(verbs::call_status(error, "a receive that a peer was promised"));
  }
  return false;
}

void LoopDevice::fail_all(const Status& why) noexcept {
  for (const auto& [number, carrier] : carriers_) carrier->fail(why);
}

bool LoopDevice::add_receive() noexcept {
  if (slots_ == receives_max_ || memory_is_out_) return false;
  const SlotPool::Slot slot = pool_.acquire();
  // To ask the system again for each message would cost more than the message.
  memory_is_out_ = !slot;
  if (!slot) return false;
  ++slots_;
  kept_slots_ = std::max<std::size_t>(kept_slots_, slot.index + 1);
  return post(slot.index);
}

// A device gives no receive back but by using it. So those in the last blocks are not posted again once
// messages have come to them, as long as more are there than were promised lately; a block goes back to the
// system when all of it has. True while there is to be another look; then there is none before fewer are
// promised, so that a loop at rest wakes nobody.
bool LoopDevice::trim_receives() noexcept {
  const std::size_t needed = std::max(promised_, std::exchange(promised_lately_, promised_));
  kept_slots_ = pool_.in_whole_blocks(std::max<std::size_t>(needed, 1));
  return needed > promised_;
}

void LoopDevice::watch_memory() noexcept {
  if (!trimming_.armed()) loop_.arm(trimming_, loop_.now() + kTrimInterval);
}

Status LoopDevice::enter(std::size_t credits) {
  if (carriers_.size() == options_.connections_max) {
    return {StatusCode::kResourceExhausted, Layer::kTransport,
            "VerbsOptions::connections_max: " + std::to_string(options_.connections_max) +
                " connections of this loop use RDMA"};
  }
  // Each has its room in the completion queue.
  while (!retired_.empty() && carriers_.size() + retired_.size() >= options_.connections_max) bury_oldest();
  memory_is_out_ = false;
  while (slots_ < promised_ + credits) {
    if (add_receive()) continue;
    if (!retired_.empty()) {
      bury_oldest();
      continue;
    }
    if (slots_ < receives_max_) return no_memory(pool_, "memory to receive into");
    return {
        StatusCode::kResourceExhausted, Layer::kTransport,
        receives_max_ < options_.receive_bytes_max / options_.message_bytes
            ? "the device's shared receive queue is full, with " + std::to_string(receives_max_) + " receives"
            : "VerbsOptions::receive_bytes_max: all of it is promised to other connections"};
  }
  promised_ += credits;
  return {};
}

void LoopDevice::join(std::uint32_t queue_pair, VerbsCarrier& carrier) {
  carriers_[queue_pair] = &carrier;
}

void LoopDevice::leave(std::uint32_t queue_pair) noexcept {
  carriers_.erase(queue_pair);
}

void LoopDevice::retire(Retired retired) noexcept {
  retired.until = loop_.now() + kRetirement;
  try {
    retired_.push_back(std::move(retired));
  } catch (const std::bad_alloc&) {
    return bury(std::move(retired));
  }
  loop_.arm(*this, retired_.front().until);
}

void LoopDevice::bury(Retired retired) noexcept {
  retired.pair.reset();
  for (const std::uint32_t slot : retired.sends) sends_.release(slot);
  for (const std::uint32_t slot : retired.controls) controls_.release(slot);
  unpromise(retired.credits);
  serve_starved();
}

void LoopDevice::bury_oldest() noexcept {
  Retired oldest = std::move(retired_.front());
  retired_.pop_front();
  if (retired_.empty()) loop_.disarm(*this);
  bury(std::move(oldest));
}

// It has taken no receive whose completion does not lie there by now.
void LoopDevice::on_last_receive(std::uint32_t queue_pair) noexcept {
  const auto found = std::find_if(retired_.begin(), retired_.end(), [&](const Retired& retired) {
    return retired.pair->number() == queue_pair;
  });
  if (found == retired_.end()) return;
  Retired retired = std::move(*found);
  retired_.erase(found);
  if (retired_.empty()) loop_.disarm(*this);
  bury(std::move(retired));
}

void LoopDevice::on_timer() {
  while (!retired_.empty() && retired_.front().until <= loop_.now()) bury_oldest();
  if (!retired_.empty()) loop_.arm(*this, retired_.front().until);
}

// What connections that may still come have a right to, up to half of all.
std::size_t LoopDevice::kept_for_others() const noexcept {
  const std::size_t others = options_.connections_max - carriers_.size();
  return std::min(others * options_.credits_min, receives_max_ / 2);
}

bool LoopDevice::promise_one(VerbsCarrier& carrier) noexcept {
  const bool spare = promised_ + kept_for_others() < receives_max_;
  if (spare && (slots_ > promised_ || add_receive())) {
    ++promised_;
    return true;
  }
  // Whoever used his longest ago is asked first, and not again before he has used them again.
  while (!spare_.empty()) {
    VerbsCarrier& holder = spare_.pop_front();
    if (&holder != &carrier && holder.reclaim()) break;
  }
  return false;
}

void LoopDevice::unpromise(std::size_t credits) noexcept {
  promised_ -= credits;
  if (pool_.blocks() > 1) watch_memory();
}

void LoopDevice::note_spare(VerbsCarrier& carrier, bool has) noexcept {
  static_cast<ListHook<SpareTag>&>(carrier).unlink();
  if (has) spare_.push_back(carrier);
}

VerbsCarrier* LoopDevice::find(std::uint32_t queue_pair) const noexcept {
  const auto found = carriers_.find(queue_pair);
  return found == carriers_.end() ? nullptr : found->second;
}

// Inside a poll: only notes what came.
void LoopDevice::on_completion(std::uint32_t slot, const ibv_wc& completion) noexcept {
  VerbsCarrier* const carrier = find(completion.qp_num);
  if (completion.status != IBV_WC_SUCCESS) {
    post(slot);
    if (carrier != nullptr) carrier->fail(verbs::to_status(completion.status, "receiving by RDMA"));
    return;
  }
  // What was on its way when a carrier was shut is nobody's fault.
  if (carrier == nullptr) {
    post(slot);
    return;
  }
  carrier->arrived(slot, completion.opcode == IBV_WC_RECV ? completion.byte_len : 0);
}

ChunkRef LoopDevice::lend(std::uint32_t slot, MutableBytes bytes, VerbsCarrier& carrier) noexcept {
  ChunkRef chunk = loop_.chunks().lend(bytes, *this);
  if (!chunk) return {};
  // Where the message's head was, which nobody needs any more.
  std::byte* const head = bytes.data() - kMessageHeaderBytes;
  store_le(head, slot);
  store_le(head + 4, carrier.queue_pair());
  store_le(head + 8, carrier.serial());
  if (lent_++ == 0) self_ = shared_from_this();
  return chunk;
}

void LoopDevice::on_chunk_returned(MutableBytes memory) noexcept {
  const std::byte* const head = memory.data() - kMessageHeaderBytes;
  VerbsCarrier* const carrier = find(load_le<std::uint32_t>(head + 4));
  const auto serial = load_le<std::uint64_t>(head + 8);
  post(load_le<std::uint32_t>(head));
  // A device gives the number of a queue pair that is gone to another one.
  if (carrier != nullptr && carrier->serial() == serial) {
    carrier->lent_returned();
  } else {
    unpromise(1);
  }
  if (--lent_ == 0) self_.reset();
}

Buffer LoopDevice::landing_memory(std::size_t bytes) noexcept {
  Buffer memory = device_->landings().acquire(bytes, loop_.now());
  if (!memory.empty()) watch_memory();
  return memory;
}

void LoopDevice::Trimming::on_timer() {
  const bool receives = loop_device.trim_receives();
  const bool landings = loop_device.device_->landings().trim(loop_device.loop_.now());
  if (receives || landings) loop_device.watch_memory();
}

void LoopDevice::wait_for_send_slot(VerbsCarrier& carrier) noexcept {
  if (!static_cast<ListHook<StarvedTag>&>(carrier).linked()) starved_.push_back(carrier);
}

void LoopDevice::release_send_slot(std::uint32_t slot) noexcept {
  sends_.release(slot);
  serve_starved();
}

void LoopDevice::release_control_slot(std::uint32_t slot) noexcept {
  controls_.release(slot);
  if (!starved_.empty()) starved_.pop_front().served();
}

void LoopDevice::serve_starved() noexcept {
  if (!starved_.empty() && sends_.has_free()) starved_.pop_front().served();
}

// For people, once: all domains hear of it, but one of them first. Of a queue pair the one knows more that
// has it.
void LoopDevice::report(const verbs::DeviceEvent& event) {
  if (event.queue_pair == 0) log(event.to_string());
}

void LoopDevice::log(std::string_view what) {
  const TimePoint now = loop_.clock().now();
  if (now < quiet_until_) return;
  quiet_until_ = now + kLogInterval;
  options_.logger->write(
      LogLevel::kWarning,
      std::string{"verbs: "}.append(protection()->device().name()).append(" reports: ").append(what));
}

// A queue pair of which nobody is found was another loop's, or has ended since.
void LoopDevice::on_queue_pair_event(const verbs::DeviceEvent& event) {
  VerbsCarrier* const carrier = find(event.queue_pair);
  if (carrier == nullptr) return;
  const std::string what = std::string{event.to_string()}.append(", of ").append(carrier->who());
  log(what);
  carrier->fail({StatusCode::kUnavailable, Layer::kTransport, "the RDMA device reports: " + what});
}

void LoopDevice::on_device_event(const verbs::DeviceEvent& event) {
  const Status why{StatusCode::kUnavailable, Layer::kTransport,
                   std::string{"the RDMA device reports: "}.append(event.to_string())};
  switch (event.type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      on_queue_pair_event(event);
      break;
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      on_last_receive(event.queue_pair);
      break;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
      if (event.queue != completions_->handle() && event.queue != receives_->handle()) break;
      [[fallthrough]];
    case IBV_EVENT_DEVICE_FATAL:
      broken_ = true;
      fail_all(why);
      break;
    default:
      break;
  }
}

}  // namespace weft::verbs_carrier
