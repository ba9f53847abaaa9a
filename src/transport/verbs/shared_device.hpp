// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "transport/verbs/landing_pool.hpp"
#include "transport/verbs/registrations.hpp"
#include "weft/detail/transport/verbs.hpp"
#include "weft/verbs.hpp"

namespace weft::detail::verbs_carrier {

class LoopDevice;

/// Shares a device among all loops: it is opened once, so that memory is registered once, whichever loop's
/// connections send from it. Thread: any.
class SharedDevice {
 public:
  /// Errors: those of opening it.
  static Result<std::shared_ptr<SharedDevice>> open(std::string_view name, const VerbsOptions& options);
  SharedDevice(std::shared_ptr<verbs::ProtectionDomain> protection, const VerbsOptions& options);
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;

  const std::shared_ptr<verbs::ProtectionDomain>& protection() const noexcept { return protection_; }
  Registrations& registrations() noexcept { return *registrations_; }
  LandingPool& landings() noexcept { return *landings_; }

  /// Returns how many pieces of memory of ours one work request may fill.
  std::size_t read_segments_max() const noexcept;

  /// A device reports each event once, to the first loop that asks, which passes it on to all. `loop_device`
  /// is notified between add() and remove(), which its own thread calls.
  void add(LoopDevice& loop_device);
  void remove(LoopDevice& loop_device) noexcept;
  /// Notifies all loops of an event, on the thread of `here`, which is notified at once.
  void tell(LoopDevice& here, const verbs::DeviceEvent& event) noexcept;
  /// Marks the device, or a loop's part of it, as failed for good. The next user opens it again.
  void mark_broken() noexcept { broken_.store(true, std::memory_order_relaxed); }
  bool broken() const noexcept { return broken_.load(std::memory_order_relaxed); }

 private:
  const std::shared_ptr<verbs::ProtectionDomain> protection_;
  const std::shared_ptr<Registrations> registrations_;
  const std::shared_ptr<LandingPool> landings_;
  std::atomic<bool> broken_{false};
  std::mutex mutex_;
  std::vector<LoopDevice*> loop_devices_;
};

}  // namespace weft::detail::verbs_carrier
