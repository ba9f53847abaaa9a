// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "transport/verbs/cm_end.hpp"
#include "transport/verbs/device_turns.hpp"
#include "transport/verbs/loop_device.hpp"
#include "transport/verbs/shared_device.hpp"
#include "weft/detail/transport/carrier_provider.hpp"
#include "weft/detail/transport/verbs.hpp"

namespace weft::detail::verbs_carrier {

/// Makes the carriers of some options. Devices are opened for the first carrier: who only might use RDMA pays
/// nothing for it. Thread: any.
class Provider final : public CarrierProvider, private CmSupport {
 public:
  explicit Provider(VerbsOptions options);

  wire::CarrierKind kind() const override { return wire::CarrierKind::kVerbs; }
  std::string offer() const override;
  /// Errors: there is no device with an active port.
  Status require() const override;
  /// Errors: a configured device does not exist.
  Status try_out() const override;
  Result<std::unique_ptr<CarrierEnd>> open(Loop& loop, CarrierEndOwner& owner,
                                           std::string_view peer_offer) const override;
  Result<MemoryLease> register_memory(MutableBytes memory) const override;

 private:
  Result<std::unique_ptr<CarrierEnd>> open_by_hello(Loop& loop, CarrierEndOwner& owner) const;
  Result<std::unique_ptr<CarrierEnd>> open_by_cm(Loop& loop, CarrierEndOwner& owner,
                                                 const std::string& connected_to) const;
  Status check_cm() const;
  Result<std::shared_ptr<CmHub>> hub_for(Loop& loop) const;
  Result<std::shared_ptr<LoopDevice>> loop_device_of_route(Loop& loop, const std::string& device,
                                                           std::uint8_t port) const override;
  Status find_devices() const;
  Result<std::vector<std::string>> devices_in_turn() const;
  std::vector<std::shared_ptr<SharedDevice>> open_devices() const;
  Result<std::shared_ptr<SharedDevice>> shared_device(const std::string& name) const;
  Result<std::shared_ptr<LoopDevice>> loop_device_for(Loop& loop, const std::string& device) const;

  const VerbsOptions options_;
  const std::shared_ptr<WayFinder> ways_ = std::make_shared<WayFinder>();
  mutable std::mutex mutex_;
  mutable std::vector<std::string> devices_;
  mutable DeviceTurns turns_;
  mutable std::map<std::string, std::weak_ptr<SharedDevice>> shared_;
  mutable std::map<std::pair<Loop*, std::string>, std::weak_ptr<LoopDevice>> loop_devices_;
  mutable std::map<Loop*, std::weak_ptr<CmHub>> hubs_;
};

}  // namespace weft::detail::verbs_carrier
