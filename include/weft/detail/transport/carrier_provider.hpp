// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/transport/carrier_end.hpp"
#include "weft/detail/transport/carrier_policy.hpp"
#include "weft/detail/transport/carrier_report.hpp"
#include "weft/detail/transport/memory_lease.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

/// Makes carriers of one kind. Immutable; every thread may use it.
class CarrierProvider {
 public:
  virtual ~CarrierProvider() = default;
  virtual wire::CarrierKind kind() const = 0;
  /// Returns the data for the hello by which the peer decides whether it can use the carrier.
  virtual std::string offer() const = 0;
  /// Checks, before there is a peer, that the carrier is available on this machine; used where the carrier is
  /// required. Errors: the reason why it is not.
  virtual Status require() const { return {}; }
  /// Validates the options for a listener that offers the carrier; may take milliseconds. Errors: the invalid
  /// option. A machine without the hardware is no error here.
  virtual Status try_out() const { return {}; }
  /// This end of a carrier to the peer that made `peer_offer`, on `loop`, whose thread must be the calling
  /// one. Errors: the carrier cannot be used with this peer, or not at all on this machine.
  virtual Result<std::unique_ptr<CarrierEnd>> open(Loop& loop, CarrierEndOwner& owner,
                                                   std::string_view peer_offer) const = 0;
  /// Most descriptors that the peer is to pass for one of its ends, see CarrierEnd::take_descriptors(). The
  /// peer that passes more is let go.
  virtual std::size_t descriptors_max() const { return 0; }
  /// See Transport::register_memory().
  virtual Result<MemoryLease> register_memory(MutableBytes memory) const {
    static_cast<void>(memory);
    return MemoryLease{};
  }
};

/// Returns the policy of the sender of an offer: kPrefer or kRequire; kForbid when its parameters are not
/// those of an offer, which then counts as none.
CarrierPolicy policy_of(const wire::CarrierOffer& offer) noexcept;

/// Checks the offers in the peer's hello for a side without offers. Errors: kFailedPrecondition when the peer
/// requires a carrier.
Status refuse_demands(const std::vector<wire::CarrierOffer>& theirs);

/// The carriers that a connection may use, in any order: both sides sort them alike, see CarrierCandidates.
struct CarrierChoices {
  struct Choice {
    std::shared_ptr<const CarrierProvider> provider;
    CarrierPolicy policy = CarrierPolicy::kPrefer;
  };
  std::vector<Choice> choices;
  /// Bringing one up may take so long, from the peer's hello on.
  Duration bring_up_timeout = std::chrono::seconds{2};
  /// True of connections that this side begins, not the peer.
  bool connecting = false;
};

}  // namespace weft::detail
