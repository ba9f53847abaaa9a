// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/detail/transport/carrier_provider.hpp"
#include "weft/detail/transport/shared_memory.hpp"

namespace weft::detail::shared_memory {

/// Makes the carriers of connections that go by shared memory, for peers of users that the options allow.
/// Thread: any.
class Provider final : public CarrierProvider {
 public:
  explicit Provider(SharedMemoryOptions options) : options_(std::move(options)) {}

  wire::CarrierKind kind() const override { return wire::CarrierKind::kSharedMemory; }
  std::string offer() const override;
  /// Makes memory and a doorbell as a carrier does, and drops them.
  Status require() const override;
  std::size_t descriptors_max() const override;
  Result<std::unique_ptr<CarrierEnd>> open(Loop& loop, CarrierEndOwner& owner,
                                           std::string_view peer_offer) const override;

 private:
  Status check_user(const Identity& peer) const;

  const SharedMemoryOptions options_;
};

}  // namespace weft::detail::shared_memory
