// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "integration/carrier_misdeeds.hpp"
#include "integration/verbs/raw_verbs_peer.hpp"
#include "integration/verbs/verbs_testing.hpp"
#include "support/wire_bytes.hpp"

namespace weft::verbs_testing {

/// A server that also has an honest client, whom nothing may happen to.
class HostileTest : public VerbsTest {
 protected:
  HostileTest() : server_(world.serve(options())), honest_(world.client(server_.urls().front(), options())) {
    world.expect_alive(honest_);
  }
  std::unique_ptr<RawVerbsPeer> peer() {
    return std::make_unique<RawVerbsPeer>(server_.urls().front(), testing::rdma_devices(), loop());
  }
  std::unique_ptr<RawVerbsPeer> peer_on_carrier() {
    auto made = peer();
    EXPECT_TRUE(made->come_up());
    return made;
  }
  void expect_alone() {
    EXPECT_TRUE(eventually([&] { return server_.stats().connections == 1; })) << "F5";
    expect_others_fine();
  }
  void expect_dismissed(RawVerbsPeer& peer) {
    EXPECT_TRUE(peer.dismissed()) << "the connection goes on";
    expect_alone();
  }
  void expect_others_fine() {
    const std::vector<std::byte> bytes = pattern(50'000);
    const auto sum = world.wait_for(honest_.start<sum_up>({.attachment = Bytes{bytes}}));
    EXPECT_TRUE(sum.ok() && *sum == sum_of(bytes)) << "F4: " << sum.status().to_string();
    EXPECT_EQ(honest_.stats().connections, 1u) << "F4";
  }

  Server& server_;
  Client& honest_;
};

}  // namespace weft::verbs_testing
