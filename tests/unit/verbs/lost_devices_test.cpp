// SPDX-License-Identifier: Apache-2.0
// UX-7: what only a simulated device can be made to do: keep nothing of the dead, and vanish.
#include <gtest/gtest.h>

#include <cerrno>

#include "support/simulated_rdma.hpp"
#include "unit/verbs/pair.hpp"

namespace weft::verbs {
namespace {

using testing::Pair;
using weft::testing::Call;
using weft::testing::SimulatedRdma;

class VerbsLostDevices : public ::testing::TestWithParam<bool> {
 protected:
  SimulatedRdma& rdma() { return static_cast<SimulatedRdma&>(weft::testing::rdma_devices()); }
  void TearDown() override { rdma().keep_completions_of_destroyed_pairs(true); }
};

INSTANTIATE_TEST_SUITE_P(CompletionsOfTheDead, VerbsLostDevices, ::testing::Bool(),
                         [](const auto& made) { return made.param ? "stay" : "go"; });

TEST_P(VerbsLostDevices, a_shared_receive_that_a_queue_pair_used_is_heard_of_after_its_end) {
  rdma().keep_completions_of_destroyed_pairs(GetParam());
  Pair pair;
  auto shared = SharedReceiveQueue::create(pair.domain, *pair.completions, {.receives_max = 4}).value();
  QueuePairOptions options;
  options.shared_receives = shared.get();
  auto one = pair.make(options);
  const auto other = pair.make();
  Pair::join(*one, *other);
  const Memory into = pair.region(16).memory();
  auto receiving = shared->receive(into);
  auto sending = other->send(pair.text("last words"));
  one.reset();  // before the loop looked
  const auto received = pair.run([](auto posted) -> Task<Result<Received>> {
    co_return co_await std::move(posted);
  }(std::move(receiving)));
  ASSERT_TRUE(received.ok()) << received.status().to_string();
  EXPECT_EQ(testing::text_of(into, received->bytes), "last words");
  EXPECT_EQ(shared->posted(), 0U);
}

TEST_P(VerbsLostDevices, the_end_of_what_was_made_on_a_device_that_is_gone_is_no_misuse) {
  rdma().keep_completions_of_destroyed_pairs(GetParam());
  SimulatedRdma gone{{weft::testing::roce_device("gone", 7)}};
  ibv_qp* kept = nullptr;
  {
    auto loop = Loop::create().value();
    auto device = Device::open({}, gone).value();
    auto domain = ProtectionDomain::create(device).value();
    auto completions = CompletionQueue::create(*loop, device).value();
    auto pair = QueuePair::create(domain, *completions).value();
    kept = pair->handle();
    gone.fail(Call::kDestroyQp, EIO);
    pair.reset();
    EXPECT_EQ(gone.live().queue_pairs, 1U) << "the simulation keeps what it was told not to destroy";
    EXPECT_EQ(gone.destroy_qp(kept), 0);
  }
  EXPECT_EQ(gone.live().total(), 0U);
}

TEST(VerbsSharedReceives, complete_into_the_queue_of_their_queue_pairs) {
  Pair pair;
  auto shared = SharedReceiveQueue::create(pair.domain, *pair.completions, {.receives_max = 4}).value();
  auto another = CompletionQueue::create(*pair.loop, pair.device).value();
  QueuePairOptions options;
  options.shared_receives = shared.get();
  const auto refused = QueuePair::create(pair.domain, *another, options);
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument) << refused.status().to_string();
}

}  // namespace
}  // namespace weft::verbs
