// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/loop_device.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "transport/verbs/limits.hpp"
#include "transport/verbs/verbs_carrier.hpp"

namespace weft::detail::verbs_carrier {

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
      receives_(device_->protection(), options_, carriers_, [this] { memory_watch_.begin(); }),
      memory_watch_(loop_, receives_, device_->landings()),
      sends_(device_->protection(), options_),
      lent_(*this, receives_, carriers_),
      retired_(loop_, sends_, receives_),
      reports_(loop_, device_->protection()->shared_device(), *options_.logger) {}

Status LoopDevice::start() {
  device_->add(*this);
  const std::shared_ptr<verbs::Device>& device = device_->protection()->shared_device();
  auto port = options_.port == 0 ? device->active_port() : device->port(options_.port);
  if (!port.ok()) return std::move(port).status();
  port_ = port->number;
  const std::size_t entries = std::min<std::size_t>(
      static_cast<std::size_t>(device->attributes().max_cqe),
      receives_.receives_max() + (options_.sends_max + kControlSends) * options_.connections_max);
  auto completions = verbs::CompletionQueue::create(loop_, device, {.entries = entries});
  if (!completions.ok()) return std::move(completions).status();
  completions_ = *std::move(completions);
  if (Status failed = receives_.start(*completions_); !failed.ok()) return failed;
  Status failed = reports_.start([this](const verbs::DeviceEvent& event) { device_->tell(*this, event); });
  if (!failed.ok()) return failed;
  return sends_.provide();
}

LoopDevice::~LoopDevice() {
  WEFT_ASSERT(carriers_.size() == 0, "a LoopDevice ends after its carriers");
  device_->remove(*this);
}

Status LoopDevice::enter(std::size_t credits) {
  if (carriers_.size() == options_.connections_max) {
    return {StatusCode::kResourceExhausted, Layer::kTransport, [&] {
              return "VerbsOptions::connections_max: " + std::to_string(options_.connections_max) +
                     " connections of this loop use RDMA";
            }};
  }
  // Each has its room in the completion queue.
  while (retired_.size() > 0 && carriers_.size() + retired_.size() >= options_.connections_max) {
    retired_.end_oldest();
  }
  receives_.ask_again();
  while (!receives_.provide(credits)) {
    if (retired_.size() == 0) return receives_.refusal();
    retired_.end_oldest();
  }
  receives_.promise(credits);
  return {};
}

Buffer LoopDevice::landing_memory(std::size_t bytes) noexcept {
  Buffer memory = device_->landings().acquire(bytes, loop_.now());
  if (!memory.empty()) memory_watch_.begin();
  return memory;
}

// A queue pair that is not found belonged to another loop, or has been destroyed since.
void LoopDevice::on_queue_pair_event(const verbs::DeviceEvent& event) {
  VerbsCarrier* const carrier = carriers_.find(event.queue_pair);
  if (carrier == nullptr) return;
  const auto what = [&] {
    return std::string{event.to_string()}.append(", of ").append(carrier->pair().who());
  };
  reports_.log(TextMaker{what});
  carrier->fail(
      {StatusCode::kUnavailable, Layer::kTransport, [&] { return "the RDMA device reports: " + what(); }});
}

void LoopDevice::on_device_event(const verbs::DeviceEvent& event) {
  const Status why{StatusCode::kUnavailable, Layer::kTransport,
                   [&] { return std::string{"the RDMA device reports: "}.append(event.to_string()); }};
  switch (event.type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      on_queue_pair_event(event);
      break;
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      retired_.on_last_receive(event.queue_pair);
      break;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
      if (event.queue != completions_->handle() && event.queue != receives_.queue().handle()) break;
      [[fallthrough]];
    case IBV_EVENT_DEVICE_FATAL:
      broken_ = true;
      carriers_.fail_all(why);
      break;
    default:
      break;
  }
}

}  // namespace weft::detail::verbs_carrier
