// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "transport/verbs/carriers_by_pair.hpp"
#include "transport/verbs/device_reports.hpp"
#include "transport/verbs/lent_messages.hpp"
#include "transport/verbs/memory_watch.hpp"
#include "transport/verbs/receive_pool.hpp"
#include "transport/verbs/reclaim_time.hpp"
#include "transport/verbs/retired_pairs.hpp"
#include "transport/verbs/send_memory.hpp"
#include "transport/verbs/shared_device.hpp"
#include "transport/verbs/way_finder.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/verbs.hpp"
#include "weft/verbs.hpp"

namespace weft::detail::verbs_carrier {

/// Shares a device among the carriers of one loop: the completion queue, the receives, and registered memory.
/// Destroyed with the last carrier.
///
///   receives()  shared receives, and the carriers to which they are promised
///   lent()      messages that are read in place
///   sends()     memory to send from, and the carriers that wait for it
///   retired()   queue pairs that outlive their carriers
///   carriers()  the carrier of each completion or event
///
/// Thread: the loop's.
class LoopDevice final : public std::enable_shared_from_this<LoopDevice> {
 public:
  /// Errors: what the device does not give.
  static Result<std::shared_ptr<LoopDevice>> make(Loop& loop, std::shared_ptr<SharedDevice> device,
                                                  const VerbsOptions& options,
                                                  std::shared_ptr<WayFinder> ways);
  LoopDevice(Loop& loop, std::shared_ptr<SharedDevice> device, const VerbsOptions& options,
             std::shared_ptr<WayFinder> ways);
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  ~LoopDevice();

  Loop& loop() const noexcept { return loop_; }
  SharedDevice& device() const noexcept { return *device_; }
  verbs::CompletionQueue& completions() const noexcept { return *completions_; }
  CarriersByPair& carriers() noexcept { return carriers_; }
  ReceivePool& receives() noexcept { return receives_; }
  LentMessages& lent() noexcept { return lent_; }
  SendMemory& sends() noexcept { return sends_; }
  RetiredPairs& retired() noexcept { return retired_; }
  ReclaimTime& reclaim_time() noexcept { return reclaim_time_; }
  /// Memory that the device can use in place.
  Registrations::View& registrations() noexcept { return registrations_; }
  WayFinder& ways() const noexcept { return *ways_; }
  std::uint8_t port() const noexcept { return port_; }
  const VerbsOptions& options() const noexcept { return options_; }

  /// Promises `credits` receives to another carrier. Errors: kResourceExhausted.
  Status enter(std::size_t credits);
  Buffer landing_memory(std::size_t bytes) noexcept;

  /// The device failed, or a queue of all carriers did: there is no use in a new one.
  bool broken() const noexcept { return broken_ || completions_->failed() != 0; }
  void on_device_event(const verbs::DeviceEvent& event);

 private:
  Status start();
  void on_queue_pair_event(const verbs::DeviceEvent& event);

  Loop& loop_;
  const VerbsOptions options_;
  const std::shared_ptr<SharedDevice> device_;
  const std::shared_ptr<WayFinder> ways_;
  Registrations::View registrations_;
  CarriersByPair carriers_;
  std::unique_ptr<verbs::CompletionQueue> completions_;
  ReceivePool receives_;
  MemoryWatch memory_watch_;
  SendMemory sends_;
  LentMessages lent_;
  RetiredPairs retired_;
  DeviceReports reports_;
  ReclaimTime reclaim_time_;
  std::uint8_t port_ = 0;
  bool broken_ = false;
};

}  // namespace weft::detail::verbs_carrier
