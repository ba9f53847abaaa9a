// SPDX-License-Identifier: Apache-2.0
// CR-19: 10,000 addresses of queue pairs that are none, or lead nowhere. On simulated devices only, because
// each of them costs a connection.
#include <gtest/gtest.h>

#include <random>

#include "integration/verbs/hostile_testing.hpp"

namespace weft::verbs_testing {

using namespace weft::detail;
namespace {

constexpr int kAddresses = 10'000;

class VerbsAddresses : public HostileTest {};
INSTANTIATE_TEST_SUITE_P(Verbs, VerbsAddresses, ::testing::Values("plain"), name_of);

/// Either noise, or what an honest peer says with some of its bits turned.
std::string address_of_nobody(const std::string& honest, std::mt19937& random) {
  const auto below = [&](std::size_t end) { return random() % end; };
  if (below(3) == 0) {
    std::string noise(below(2) == 0 ? honest.size() : below(200), '\0');
    for (char& letter : noise) letter = static_cast<char>(random());
    return noise;
  }
  std::string turned = honest;
  for (std::size_t i = 0; i <= below(4); ++i)
    turned[below(turned.size())] ^= static_cast<char>(1 << below(8));
  if (below(8) == 0) turned.resize(below(turned.size()));
  return turned;
}

TEST_P(VerbsAddresses, TenThousandAddressesOfNobodyDisturbNobody) {
  std::mt19937 random{20};
  const auto model = peer();
  ASSERT_TRUE(model->greet() && model->open());
  const std::string honest = model->address();
  for (int i = 0; i < kAddresses; ++i) {
    RawVerbsPeer one{server_.urls().front(), testing::rdma_devices(), loop()};
    ASSERT_TRUE(one.greet() && one.hear(wire::CarrierStep::kAddress)) << i;
    ASSERT_TRUE(one.say(wire::CarrierStep::kAddress, address_of_nobody(honest, random))) << i;
    if (i % 1000 == 0) expect_others_fine();
  }
  model->base().close();
  expect_alone();
}

}  // namespace
}  // namespace weft::verbs_testing
