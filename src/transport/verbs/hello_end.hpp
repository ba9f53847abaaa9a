// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "transport/verbs/verbs_carrier.hpp"
#include "transport/verbs/way_finder.hpp"
#include "weft/detail/transport/carrier_end.hpp"

namespace weft::detail::verbs_carrier {

/// One end of a carrier whose queue pair is connected by what both sides say on the base carrier.
///
///   made --connect()--> the way to the peer is looked for --> connected    (InfiniBand: connected at once)
///
/// Thread: its loop's.
class HelloEnd final : public CarrierEnd {
 public:
  HelloEnd(std::unique_ptr<VerbsCarrier> carrier, CarrierEndOwner& owner) noexcept
      : owner_(owner), carrier_(std::move(carrier)) {}
  ~HelloEnd() override { shut(); }

  std::string address() const override;
  Status connect(std::string_view peer_address) override;
  bool connecting() const override { return !connected_; }
  bool needs_peer_ready() const override { return true; }
  void on_peer_ready() override { carrier_->sender().peer_ready(); }
  Carrier& carrier() override { return *carrier_; }
  void shut() override;

 private:
  Status connect_pair(const verbs::AddressInfo& peer);

  CarrierEndOwner& owner_;
  const std::unique_ptr<VerbsCarrier> carrier_;
  WayFinder::Search search_;
  bool connected_ = false;
};

}  // namespace weft::detail::verbs_carrier
