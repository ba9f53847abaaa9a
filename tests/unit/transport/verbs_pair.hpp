// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/simulated_rdma.hpp"
#include "weft/detail/base/log.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/verbs.hpp"

namespace weft::verbs_carrier_testing {

using namespace weft::detail;

/// One end of a carrier, without the connection that it would belong to.
class End final : public CarrierEndOwner {
 public:
  std::unique_ptr<CarrierEnd> end;
  Carrier* carrier = nullptr;
  bool here = false;
  bool heard = false;
  int readable = 0;
  int writable = 0;
  Status why;

  bool send(std::string_view bytes) {
    const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    return carrier->send({&piece, 1}, 0).kind == Moved::Kind::kSome;
  }
  /// All that is there.
  std::string receive() {
    std::string all;
    std::vector<char> room(64 * 1024);
    for (;;) {
      const iovec place{room.data(), room.size()};
      const Moved moved = carrier->receive({&place, 1}, {});
      if (moved.kind != Moved::Kind::kSome) return all;
      all.append(room.data(), moved.bytes);
    }
  }

  bool receives() const override { return true; }
  void on_heard() override { heard = true; }
  void on_readable() override { ++readable; }
  void on_writable() override { ++writable; }
  void on_failed(Status status) override { why = std::move(status); }
};

/// Two machines with a device each, whose carriers share a loop: every order of what they do is the test's.
class World {
 public:
  explicit World(VerbsOptions options = {}, Clock* clock = nullptr)
      : rdma{{testing::roce_device("here", 1), testing::roce_device("there", 2)}},
        loop(Loop::create({.mode = WaitMode::kWait, .clock = clock}).value()) {
    options.driver = &rdma;
    options.devices = {"here"};
    EXPECT_TRUE(check(options).ok()) << check(options).to_string();
    here_ = detail::make_verbs_carriers(options);
    options.devices = {"there"};
    there_ = detail::make_verbs_carriers(options);
  }

  /// Opens a carrier on the world's loop, or on another one.
  Status open(End& end, bool here, Loop* its_loop = nullptr) {
    const auto& provider = here ? here_ : there_;
    end.here = here;
    auto carrier = provider->open(its_loop != nullptr ? *its_loop : *loop, end, provider->offer());
    if (!carrier.ok()) return std::move(carrier).status();
    end.end = *std::move(carrier);
    end.carrier = &end.end->carrier();
    return {};
  }
  /// Brings a carrier between the two up.
  void join(End& here, End& there) {
    ASSERT_TRUE(open(here, true).ok());
    ASSERT_TRUE(open(there, false).ok());
    ASSERT_TRUE(here.end->connect(there.end->address()).ok());
    ASSERT_TRUE(there.end->connect(here.end->address()).ok());
    while (here.end->connecting() || there.end->connecting()) loop->run_once(std::chrono::seconds{1});
    here.end->on_peer_ready();
    there.end->on_peer_ready();
    run_until_idle();
    ASSERT_TRUE(here.heard && there.heard);
  }
  MemoryLease register_memory(bool here, MutableBytes bytes) {
    auto lease = (here ? here_ : there_)->register_memory(bytes);
    EXPECT_TRUE(lease.ok() && !lease->empty());
    return std::move(lease).value();
  }
  /// Turns both loops until nothing is left to do.
  void run_until_idle() {
    for (int quiet = 0; quiet < 3;) quiet = loop->run_until_idle() == 0 ? quiet + 1 : 0;
  }
  std::uint64_t receivers_not_ready() const { return rdma.counters().rnr_naks; }

  testing::SimulatedRdma rdma;
  std::unique_ptr<Loop> loop;

 private:
  std::shared_ptr<const CarrierProvider> here_;
  std::shared_ptr<const CarrierProvider> there_;
};

}  // namespace weft::verbs_carrier_testing
