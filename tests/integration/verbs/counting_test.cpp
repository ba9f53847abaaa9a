// SPDX-License-Identifier: Apache-2.0
// CR-18: what a small call costs by RDMA, counted and not timed, both sides together: doorbells, completions,
// inline sends. On simulated devices.
#include <gtest/gtest.h>

#include <array>

#include "integration/verbs/simulated_testing.hpp"

namespace weft::verbs_testing {
namespace {

using Payload = std::array<std::uint64_t, 16>;

Payload echo(Payload payload) {
  return payload;
}

struct Costs {
  double doorbells = 0;
  double signalled = 0;
  double completions = 0;
  double inlined = 0;
};

class Cr18Counts : public SimulatedTest {
 protected:
  static constexpr int kCalls = 10'000;

  static Task<void> call_again_and_again(RpcClient* client, int times) {
    Payload payload{};
    for (int i = 0; i < times; ++i) {
      const Result<Payload> answer = co_await client->call<echo>(payload);
      EXPECT_TRUE(answer.ok()) << answer.status().to_string();
    }
  }
  void run(RpcClient& caller, std::size_t in_flight, int calls) {
    std::vector<Task<void>> callers;
    const int each = calls / static_cast<int>(in_flight);
    for (std::size_t i = 0; i < in_flight; ++i) callers.push_back(call_again_and_again(&caller, each));
    loop().block_on(when_all(std::move(callers)));
  }
  Costs costs(std::size_t in_flight) {
    RpcServer& server = world.serve(options(), World::Where::kHere, "verbs://127.0.0.1:0",
                                    [](RpcServer& its) { its.register_handler<echo>(); });
    RpcClient& caller = world.client(server.urls().front(), options());
    run(caller, in_flight, kCalls / 2);
    const SimulatedRdmaCounters before = rdma.counters();
    run(caller, in_flight, kCalls);
    const SimulatedRdmaCounters after = rdma.counters();
    EXPECT_EQ(after.rnr_naks, 0u);
    const auto per_call = [](std::uint64_t now, std::uint64_t then) {
      return static_cast<double>(now - then) / kCalls;
    };
    const Costs made{per_call(after.of(Call::kPostSend), before.of(Call::kPostSend)),
                     per_call(after.sends_signalled, before.sends_signalled),
                     per_call(after.completions_polled, before.completions_polled),
                     per_call(after.sends_inline, before.sends_inline)};
    std::printf(
        "%zu in flight, for each call of 128 B: %.3f doorbells, %.3f signalled, %.3f completions, "
        "%.3f inline\n",
        in_flight, made.doorbells, made.signalled, made.completions, made.inlined);
    return made;
  }
};

INSTANTIATE_TEST_SUITE_P(Verbs, Cr18Counts, ::testing::Values("plain"), name_of);

TEST_P(Cr18Counts, CR18_a_small_call_is_one_inline_message_each_way_and_few_completions) {
  const Costs one = costs(1);
  EXPECT_GE(one.doorbells, 2.0) << "a request and an answer: otherwise nothing was counted";
  EXPECT_LE(one.doorbells, 2.2) << "hardly a message that only says credit";
  EXPECT_GE(one.inlined, 2.0);
  EXPECT_LE(one.signalled, one.doorbells / 4);
  EXPECT_LE(one.completions, one.doorbells * 1.25 + 0.01) << "those of receives, and every eighth send's";
}

TEST_P(Cr18Counts, CR18_many_small_calls_share_doorbells_and_completions) {
  const Costs many = costs(256);
  EXPECT_LE(many.doorbells, 0.2);
  EXPECT_LE(many.completions, 0.4);
}

// Up into memory of the transport's, down into the caller's: each is one read, and what goes besides is
// inline. Unregistered, each is more than sixty messages of 16 KiB.
TEST_P(Cr18Counts, CR18_registered_attachments_are_moved_by_the_device_alone) {
  constexpr std::size_t kMega = std::size_t{1} << 20;
  std::vector<std::byte> lent = pattern(kMega, 3);
  RpcServer& server = world.serve(options(), World::Where::kHere, "verbs://127.0.0.1:0", [&](RpcServer& its) {
    its.register_handler("lend", [&lent](CallContext& context) {
      context.set_attachment(Buffer::adopt(MutableBytes{lent}, nullptr, [](void*) noexcept {}));
      return 0;
    });
  });
  RpcClient& caller = world.client(server.urls().front(), options());
  world.expect_alive(caller);
  std::vector<std::byte> sent = pattern(kMega);
  std::vector<std::byte> landing(kMega);
  const MemoryLease of_sent = caller.register_memory(sent).value();
  const MemoryLease of_landing = caller.register_memory(landing).value();
  const MemoryLease of_lent = server.register_memory(lent).value();
  const auto moved = [&](auto call) {
    const SimulatedRdmaCounters before = rdma.counters();
    EXPECT_TRUE(world.wait_for(std::move(call)).ok());
    const SimulatedRdmaCounters after = rdma.counters();
    return (after.sends_posted - after.sends_inline) - (before.sends_posted - before.sends_inline);
  };
  EXPECT_EQ(moved(caller.start<sum_up>({.attachment = Bytes{sent}})), 1u);
  EXPECT_EQ(moved(caller.start<remote<"lend", int()>>({.landing = landing})), 1u);
  EXPECT_TRUE(landing == lent);
}

}  // namespace
}  // namespace weft::verbs_testing
