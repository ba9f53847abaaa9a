// SPDX-License-Identifier: Apache-2.0
// Registered memory that several loops share: what is known by address, and what attachments land in.
// Capabilities: CR-17.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "support/simulated_rdma.hpp"
#include "transport/verbs/landing_pool.hpp"
#include "transport/verbs/registrations.hpp"
#include "transport/verbs/shared_device.hpp"
#include "weft/detail/transport/verbs.hpp"

namespace weft::detail::verbs_carrier {
namespace {

using std::chrono::seconds;

constexpr std::size_t kKilo = 1024;
constexpr TimePoint kBegin{seconds{100}};

class VerbsRegistrations : public ::testing::Test {
 protected:
  std::shared_ptr<const Registration> add(std::size_t begin, std::size_t size, bool peers_may_read = true) {
    return registrations->add(part(begin, size), {.remote_read = peers_may_read}).value();
  }
  MutableBytes part(std::size_t begin, std::size_t size) { return MutableBytes{memory}.subspan(begin, size); }
  std::shared_ptr<LandingPool> pool(std::size_t bytes_max) {
    return std::make_shared<LandingPool>(registrations, LandingPool::Limits{.bytes_max = bytes_max});
  }

  testing::SimulatedRdma rdma{{testing::roce_device("sim", 1)}};
  std::shared_ptr<verbs::ProtectionDomain> domain =
      verbs::ProtectionDomain::create(verbs::Device::open("sim", rdma).value()).value();
  std::shared_ptr<Registrations> registrations = std::make_shared<Registrations>(domain);
  std::vector<std::byte> memory = std::vector<std::byte>(1000);
};

TEST_F(VerbsRegistrations, MemoryIsKnownWhenAllOfItLiesInOneRegistration) {
  Registrations::View view{*registrations};
  EXPECT_EQ(view.find(part(0, 1)), nullptr);
  const auto left = add(100, 100);
  const auto right = add(200, 100, false);
  EXPECT_EQ(view.find(part(100, 100)), left);
  EXPECT_EQ(view.find(part(199, 1)), left);
  EXPECT_EQ(view.find(part(200, 1)), right);
  EXPECT_EQ(view.find(part(99, 2)), nullptr);
  EXPECT_EQ(view.find(part(199, 2)), nullptr) << "two registrations are not one";
  EXPECT_EQ(view.find(part(299, 2)), nullptr);
  EXPECT_TRUE(left->peers_may_read());
  EXPECT_FALSE(right->peers_may_read());
}

TEST_F(VerbsRegistrations, ALargeRegistrationIsFoundBehindSmallOnesWithinIt) {
  const auto large = add(0, 1000);
  std::vector<std::shared_ptr<const Registration>> small;
  for (std::size_t i = 0; i < 90; ++i) small.push_back(add(10 * i, 5));
  Registrations::View view{*registrations};
  EXPECT_EQ(view.find(part(895, 50)), large);
  EXPECT_EQ(view.find(part(891, 2)), small[89]);
}

TEST_F(VerbsRegistrations, WhatNobodyHoldsAnyMoreIsKnownNoLongerAndNotRegistered) {
  Registrations::View view{*registrations};
  auto first = add(0, 100);
  const auto around = add(0, 500);
  EXPECT_EQ(view.find(part(0, 100)), around) << "either would do";
  const std::size_t regions = rdma.live().regions;
  auto found = view.find(part(50, 10));
  first.reset();
  found.reset();
  EXPECT_EQ(rdma.live().regions, regions - 1);
  EXPECT_EQ(view.find(part(50, 10)), around);
}

TEST_F(VerbsRegistrations, LandingsAreUsedAgainForWhatIsAboutAsLarge) {
  const auto landings = pool(1024 * kKilo);
  const std::byte* first = nullptr;
  {
    const Buffer buffer = landings->acquire(100 * kKilo, kBegin);
    ASSERT_EQ(buffer.size(), 100 * kKilo);
    first = buffer.data();
    const auto known = Registrations::View{*registrations}.find(buffer.bytes());
    ASSERT_NE(known, nullptr);
    EXPECT_FALSE(known->peers_may_read()) << "it will hold another peer's bytes";
  }
  const std::size_t registered = landings->registered_bytes();
  const Buffer again = landings->acquire(99 * kKilo, kBegin);
  EXPECT_EQ(again.data(), first);
  EXPECT_EQ(landings->registered_bytes(), registered);
  EXPECT_NE(landings->acquire(99 * kKilo, kBegin).data(), first);
}

TEST_F(VerbsRegistrations, LandingsAreWrittenInAnyOrderUnlessTheOptionsForbidIt) {
  for (const bool relaxed : {true, false}) {
    VerbsOptions options;
    options.driver = &rdma;
    options.relaxed_ordering = relaxed;
    const auto device = SharedDevice::open("sim", options).value();
    const Buffer landing = device->landings().acquire(64 * kKilo, kBegin);
    const auto known = Registrations::View{device->registrations()}.find(landing.bytes());
    ASSERT_NE(known, nullptr);
    EXPECT_EQ((testing::SimulatedRdma::access_of(known->handle()) & IBV_ACCESS_RELAXED_ORDERING) != 0,
              relaxed);
  }
}

TEST_F(VerbsRegistrations, LandingsStayWithinTheirBudgetAndUnusedOnesMakeWay) {
  const auto landings = pool(300 * kKilo);
  EXPECT_TRUE(landings->acquire(301 * kKilo, kBegin).empty());
  {
    const Buffer one = landings->acquire(128 * kKilo, kBegin);
    const Buffer other = landings->acquire(128 * kKilo, kBegin);
    EXPECT_FALSE(other.empty());
    EXPECT_TRUE(landings->acquire(64 * kKilo, kBegin).empty()) << "all of it is in use";
  }
  EXPECT_EQ(landings->registered_bytes(), 256 * kKilo);
  EXPECT_FALSE(landings->acquire(256 * kKilo, kBegin).empty());
  EXPECT_LE(landings->registered_bytes(), 300 * kKilo);
  EXPECT_LE(rdma.registered_bytes(), 300 * kKilo);
}

TEST_F(VerbsRegistrations, LandingsThatNobodyUsesGoBackToTheSystem) {
  const auto landings = pool(1024 * kKilo);
  Buffer used = landings->acquire(64 * kKilo, kBegin);
  landings->acquire(128 * kKilo, kBegin);
  EXPECT_TRUE(landings->trim(kBegin + seconds{9}));
  EXPECT_EQ(rdma.registered_bytes(), 192 * kKilo);
  EXPECT_TRUE(landings->trim(kBegin + seconds{10})) << "what is used may come back yet";
  EXPECT_EQ(rdma.registered_bytes(), 64 * kKilo);
  used = Buffer{};
  EXPECT_TRUE(landings->trim(kBegin + seconds{19}));
  EXPECT_FALSE(landings->trim(kBegin + seconds{20}));
  EXPECT_EQ(rdma.registered_bytes(), 0u);
}

TEST_F(VerbsRegistrations, LandingsThatNobodyLooksAfterAreNotKept) {
  const auto landings = pool(1024 * kKilo);
  Buffer used = landings->acquire(64 * kKilo, kBegin);
  landings->acquire(64 * kKilo, kBegin);
  landings->attend(false);
  EXPECT_EQ(rdma.registered_bytes(), 64 * kKilo);
  used = Buffer{};
  EXPECT_EQ(rdma.registered_bytes(), 0u);
  landings->attend(true);
  landings->acquire(64 * kKilo, kBegin);
  EXPECT_EQ(rdma.registered_bytes(), 64 * kKilo);
}

TEST_F(VerbsRegistrations, UnusedLandingsDoNotMakeWayInVain) {
  const auto landings = pool(256 * kKilo);
  const Buffer used = landings->acquire(128 * kKilo, kBegin);
  landings->acquire(64 * kKilo, kBegin);
  EXPECT_TRUE(landings->acquire(192 * kKilo, kBegin).empty());
  EXPECT_EQ(landings->registered_bytes(), 192 * kKilo);
}

TEST_F(VerbsRegistrations, ASystemThatGivesNoMemoryIsNotAskedForEachAttachment) {
  const auto landings = pool(1024 * kKilo);
  rdma.limit_registered_bytes(0);
  EXPECT_TRUE(landings->acquire(64 * kKilo, kBegin).empty());
  rdma.limit_registered_bytes(1024 * kKilo);
  EXPECT_TRUE(landings->acquire(64 * kKilo, kBegin + std::chrono::milliseconds{999}).empty());
  EXPECT_FALSE(landings->acquire(64 * kKilo, kBegin + seconds{1}).empty());
}

TEST_F(VerbsRegistrations, ALandingOutlivesItsPoolAndEndsOnAnyThread) {
  std::optional<Buffer> buffer = pool(1024 * kKilo)->acquire(64 * kKilo, kBegin);
  registrations.reset();
  std::thread{[&] { buffer.reset(); }}.join();
  EXPECT_EQ(rdma.registered_bytes(), 0u);
}

}  // namespace
}  // namespace weft::detail::verbs_carrier
