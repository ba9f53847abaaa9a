// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/shared_device.hpp"

#include <algorithm>
#include <utility>

#include "transport/verbs/limits.hpp"
#include "transport/verbs/loop_device.hpp"

namespace weft::detail::verbs_carrier {

Result<std::shared_ptr<SharedDevice>> SharedDevice::open(std::string_view name, const VerbsOptions& options) {
  verbs::Driver& driver = options.driver != nullptr ? *options.driver : verbs::system_driver();
  auto device = verbs::Device::open(name, driver);
  if (!device.ok()) return std::move(device).status();
  auto protection = verbs::ProtectionDomain::create(*std::move(device));
  if (!protection.ok()) return std::move(protection).status();
  return std::make_shared<SharedDevice>(*std::move(protection), options);
}

SharedDevice::SharedDevice(std::shared_ptr<verbs::ProtectionDomain> protection, const VerbsOptions& options)
    : protection_(std::move(protection)),
      registrations_(std::make_shared<Registrations>(protection_)),
      landings_(std::make_shared<LandingPool>(
          registrations_,
          LandingPool::Limits{.bytes_max = options.attachment_bytes_max,
                              .access = {.relaxed_ordering = options.relaxed_ordering},
                              .counted_in = {options.usage, &VerbsUsage::attachment_bytes}})) {}

// Some devices report no limit for reads: they get one.
std::size_t SharedDevice::read_segments_max() const noexcept {
  const ibv_device_attr& device = protection_->device().attributes();
  const auto most = static_cast<std::size_t>(std::max(1, std::min(device.max_sge, device.max_sge_rd)));
  return std::min(most, kReadSegmentsMax);
}

void SharedDevice::add(LoopDevice& loop_device) {
  const std::lock_guard lock{mutex_};
  loop_devices_.push_back(&loop_device);
  landings_->attend(true);
}

void SharedDevice::remove(LoopDevice& loop_device) noexcept {
  const std::lock_guard lock{mutex_};
  std::erase(loop_devices_, &loop_device);
  if (loop_devices_.empty()) landings_->attend(false);
}

// A LoopDevice that is ending, on another thread, is not found by its weak pointer any more.
void SharedDevice::tell(LoopDevice& here, const verbs::DeviceEvent& event) noexcept {
  if (event.type == IBV_EVENT_DEVICE_FATAL) mark_broken();
  {
    const std::lock_guard lock{mutex_};
    for (LoopDevice* const loop_device : loop_devices_) {
      if (loop_device == &here) continue;
      try {
        loop_device->loop().post([weak = loop_device->weak_from_this(), event] {
          if (const auto there = weak.lock()) there->on_device_event(event);
        });
      } catch (const std::bad_alloc&) {  // its carriers meet their own failures; nothing new begins here
        mark_broken();
      }
    }
  }
  here.on_device_event(event);
}

}  // namespace weft::detail::verbs_carrier
