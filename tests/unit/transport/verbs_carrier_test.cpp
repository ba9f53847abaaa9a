// SPDX-License-Identifier: Apache-2.0
// The way of a connection by RDMA, on simulated devices: credit, memory, and what outlives what.
// Capabilities: CR-16, CR-17, CR-18, CR-19, CR-20.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/heap_count.hpp"
#include "transport/verbs/way_finder.hpp"
#include "unit/transport/verbs_pair.hpp"
#include "weft/detail/verbs/status.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using verbs_carrier_testing::End;
using verbs_carrier_testing::World;

const std::string kSmall(100, 'x');
const std::string kLarge(60'000, 'y');

VerbsOptions with_credits(std::size_t min, std::size_t max) {
  VerbsOptions options;
  options.credits_min = min;
  options.credits_max = max;
  return options;
}

VerbsOptions tight() {
  VerbsOptions options = with_credits(4, 6);
  options.message_bytes = 1024;
  options.block_bytes = 4096;
  options.receive_bytes_max = 32 * 1024;
  options.send_bytes_max = 8192;
  options.sends_max = 2;
  return options;
}

/// Several connections of the same two devices, and what each has sent and received.
struct Traffic {
  explicit Traffic(const VerbsOptions& options, std::size_t connections) : world(options) {
    for (std::size_t i = 0; i < connections; ++i) {
      auto& both = ends.emplace_back();
      for (auto& end : both) end = std::make_unique<End>();
      world.join(*both[0], *both[1]);
    }
    sent.resize(connections);
    received.resize(connections);
    kept.resize(connections);
  }

  void step(std::mt19937& random) {
    const std::size_t i = random() % ends.size();
    const std::size_t side = random() % 2;
    End& end = *ends[i][side];
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        sent[i][side] += end.send(kSmall) ? kSmall.size() : 0;
        break;
      case 3: {
        const iovec piece{const_cast<char*>(kLarge.data()), kLarge.size()};
        sent[i][side] += end.carrier->send({&piece, 1}, 0).bytes;
        break;
      }
      case 4:
        received[i][1 - side] += end.receive().size();
        break;
      case 5: {
        bool exhausted = false;
        if (ChunkRef chunk = end.carrier->receive_in_place(exhausted)) {
          received[i][1 - side] += chunk->capacity();
          kept[i].push_back(std::move(chunk));
        }
        break;
      }
      case 6:
        if (random() % 4 == 0) kept[i].clear();
        break;
      default:
        world.loop->run_once(Duration::zero());
    }
  }
  /// Everything that was sent arrives, and everybody can send once more.
  void finish() {
    for (auto& chunks : kept) chunks.clear();
    for (int round = 0; round < 50; ++round) {
      world.run_until_idle();
      for (std::size_t i = 0; i < ends.size(); ++i) {
        for (std::size_t side : {0, 1}) received[i][1 - side] += ends[i][side]->receive().size();
      }
    }
    for (std::size_t i = 0; i < ends.size(); ++i) {
      for (std::size_t side : {0, 1}) {
        EXPECT_TRUE(ends[i][side]->why.ok()) << ends[i][side]->why.to_string();
        EXPECT_EQ(received[i][side], sent[i][side]) << "connection " << i << " side " << side;
        EXPECT_TRUE(ends[i][side]->send(kSmall)) << "connection " << i << " side " << side;
      }
    }
  }

  World world;
  std::vector<std::array<std::unique_ptr<End>, 2>> ends;
  std::vector<std::array<std::size_t, 2>> sent;
  std::vector<std::array<std::size_t, 2>> received;
  std::vector<std::vector<ChunkRef>> kept;
};

class VerbsCredit : public ::testing::TestWithParam<const char*> {
 protected:
  VerbsOptions options() const {
    const std::string_view kind = GetParam();
    if (kind == "tight") return tight();
    if (kind == "little") return with_credits(4, 4);
    return {};
  }
};

TEST_P(VerbsCredit, ThereIsAReceiveForEveryMessageWhateverTheOrder) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random{seed};
    Traffic traffic{options(), 3};
    for (int i = 0; i < 3000; ++i) traffic.step(random);
    traffic.finish();
    EXPECT_EQ(traffic.world.receivers_not_ready(), 0u);
    EXPECT_TRUE(traffic.world.rdma.faults().empty());
    if (HasFailure()) return;
  }
}

TEST_P(VerbsCredit, MessagesThatAreKeptDoNotKeepThePeerFromSending) {
  World world{options()};
  End one;
  End other;
  world.join(one, other);
  std::vector<ChunkRef> kept;
  std::string copied;
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(one.send(kSmall)) << "message " << i << ", " << kept.size() << " kept";
    world.run_until_idle();
    bool exhausted = false;
    while (ChunkRef chunk = other.carrier->receive_in_place(exhausted)) kept.push_back(std::move(chunk));
    copied += other.receive();
    world.run_until_idle();
  }
  EXPECT_EQ(kept.size() * kSmall.size() + copied.size(), 300 * kSmall.size());
}

INSTANTIATE_TEST_SUITE_P(Options, VerbsCredit, ::testing::Values("default", "tight", "little"),
                         [](const auto& made) { return std::string{made.param}; });

TEST(VerbsCarrier, ADeviceThatDropsCompletionsOfTheDeadCostsNoReceive) {
  for (const bool kept : {true, false}) {
    World world{with_credits(4, 4)};
    world.rdma.keep_completions_of_destroyed_pairs(kept);
    End idle_here;
    End idle_there;
    world.join(idle_here, idle_there);
    for (int i = 0; i < 30; ++i) {
      End here;
      End there;
      ASSERT_NO_FATAL_FAILURE(world.join(here, there)) << i;
      while (here.send(kSmall)) {
      }
      there.carrier->shut();
      here.carrier->shut();
    }
    for (int i = 0; i < 30; ++i) {
      ASSERT_TRUE(idle_here.send(kSmall)) << i;
      world.run_until_idle();
      EXPECT_EQ(idle_there.receive(), kSmall);
      world.run_until_idle();
    }
    EXPECT_EQ(world.receivers_not_ready(), 0u);
  }
}

TEST(VerbsCarrier, AMessageOutlivesItsCarrierAndBelongsToNoOther) {
  World world;
  std::vector<ChunkRef> kept;
  {
    End here;
    End there;
    world.join(here, there);
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(here.send(kSmall));
      world.run_until_idle();
      bool exhausted = false;
      if (ChunkRef chunk = there.carrier->receive_in_place(exhausted)) kept.push_back(std::move(chunk));
      there.receive();
    }
    ASSERT_FALSE(kept.empty());
  }
  End here;
  End there;
  world.join(here, there);
  for (const ChunkRef& chunk : kept) EXPECT_EQ(as_text(chunk->memory()), kSmall);
  kept.clear();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(here.send(kSmall)) << i;
    world.run_until_idle();
    EXPECT_EQ(there.receive(), kSmall);
    world.run_until_idle();
  }
  EXPECT_EQ(world.receivers_not_ready(), 0u);
}

TEST(VerbsCarrier, WhoFindsNoMemoryToSendFromWaitsAndGoesOn) {
  VerbsOptions options;
  options.send_bytes_max = options.block_bytes;  // 16 messages
  World world{options};
  std::vector<std::unique_ptr<End>> ends;
  for (int i = 0; i < 4; ++i) {
    End& here = *ends.emplace_back(std::make_unique<End>());
    End& there = *ends.emplace_back(std::make_unique<End>());
    world.join(here, there);
  }
  world.rdma.hold();
  std::size_t taken = 0;
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    for (int n = 0; n < 10; ++n) taken += ends[i]->send(kLarge) ? 1 : 0;
  }
  EXPECT_LE(taken, 16u);
  EXPECT_GT(taken, 0u);
  world.rdma.release();
  world.run_until_idle();
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    EXPECT_TRUE(ends[i]->why.ok()) << ends[i]->why.to_string();
    ends[i + 1]->receive();
    world.run_until_idle();
    EXPECT_TRUE(ends[i]->send(kLarge)) << i;
    world.run_until_idle();
  }
}

TEST(VerbsCarrier, WhenMemoryToReceiveIntoIsUsedUpNoFurtherCarrierComesUp) {
  VerbsOptions options = with_credits(4, 4);
  options.receive_bytes_max = options.block_bytes;  // 16 messages: 4 carriers
  World world{options};
  std::vector<std::unique_ptr<End>> ends;
  for (int i = 0; i < 4; ++i) {
    End& here = *ends.emplace_back(std::make_unique<End>());
    End& there = *ends.emplace_back(std::make_unique<End>());
    world.join(here, there);
  }
  End fifth;
  const Status refused = world.open(fifth, true);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused.to_string();
  ends.resize(6);
  EXPECT_TRUE(world.open(fifth, true).ok());
}

// A device tells an event once, to whoever asks first.
TEST(VerbsCarrier, AnEventReachesTheLoopThatItIsAboutWhicheverHearsOfIt) {
  World world;
  const auto other_loop = Loop::create({.mode = WaitMode::kWait}).value();
  End first;
  End second;
  ASSERT_TRUE(world.open(first, true).ok());
  ASSERT_TRUE(world.open(second, true, other_loop.get()).ok());
  EXPECT_EQ(world.rdma.live().contexts, 1u) << "both loops share it";
  world.rdma.raise_queue_pair_fatal(world.rdma.queue_pairs().back());
  world.run_until_idle();
  EXPECT_TRUE(second.why.ok());
  other_loop->run_until_idle();
  EXPECT_FALSE(second.why.ok());
  EXPECT_TRUE(first.why.ok()) << first.why.to_string();
  second.end.reset();
}

TEST(VerbsCarrier, WhatADeviceReportsOfAQueuePairSaysWhoseItIs) {
  struct : Logger {
    void write(LogLevel, std::string_view message) override { said.emplace_back(message); }
    std::vector<std::string> said;
  } logger;
  VerbsOptions options;
  options.logger = &logger;
  World world{options};
  End here;
  End there;
  ASSERT_NO_FATAL_FAILURE(world.join(here, there));
  auto other_loop = Loop::create({.mode = WaitMode::kWait}).value();
  End elsewhere;
  ASSERT_TRUE(world.open(elsewhere, true, other_loop.get()).ok());
  const std::vector<ibv_qp*> pairs = world.rdma.queue_pairs("here");
  const ibv_qp* const peer = world.rdma.queue_pairs("there").front();
  world.rdma.raise_queue_pair_fatal(pairs.front());
  world.run_until_idle();
  const std::string of_here = "queue pair " + std::to_string(pairs.front()->qp_num) +
                              ", whose peer is queue pair " + std::to_string(peer->qp_num) + " of 10.0.0.2";
  ASSERT_EQ(logger.said.size(), 1u);
  EXPECT_NE(logger.said[0].find(of_here), std::string::npos) << logger.said[0];
  EXPECT_NE(here.why.message().find(of_here), std::string_view::npos) << here.why.to_string();
  // Told by the loop that has it, whichever heard of it first.
  world.rdma.raise_queue_pair_fatal(pairs.back());
  world.run_until_idle();
  other_loop->run_until_idle();
  ASSERT_EQ(logger.said.size(), 2u);
  EXPECT_NE(logger.said[1].find("queue pair " + std::to_string(pairs.back()->qp_num)), std::string::npos)
      << logger.said[1];
  elsewhere.end.reset();
}

/// An event of each sort in a turn of the loop between `begin` and `after`.
template <typename Begin, typename After>
void expect_events_to_cost_their_carriers_only(const VerbsOptions& options, Begin begin, After after) {
  for (const ibv_event_type type : {IBV_EVENT_QP_FATAL, IBV_EVENT_CQ_ERR, IBV_EVENT_DEVICE_FATAL}) {
    World world{options};
    End here;
    ASSERT_TRUE(world.open(here, true).ok());
    auto other_loop = Loop::create({.mode = WaitMode::kWait}).value();
    End elsewhere;
    ASSERT_TRUE(world.open(elsewhere, true, other_loop.get()).ok());
    ibv_qp* const pair = world.rdma.queue_pairs("here").front();
    ibv_async_event event{};
    event.event_type = type;
    if (type == IBV_EVENT_QP_FATAL) event.element.qp = pair;
    if (type == IBV_EVENT_CQ_ERR) event.element.cq = pair->recv_cq;
    world.rdma.raise(pair->context, event);
    begin();
    world.run_until_idle();
    after();
    EXPECT_EQ(here.why.code(), StatusCode::kUnavailable) << here.why.to_string();
    other_loop->run_until_idle();
    elsewhere.end.reset();
  }
}

TEST(VerbsCarrier, AWayThatIsNotLookedForForWantOfMemoryIsAFailure) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  World world;
  const auto device = verbs::Device::open("here", world.rdma);
  ASSERT_TRUE(device.ok());
  const auto domain = verbs::ProtectionDomain::create(*device);
  ASSERT_TRUE(domain.ok());
  verbs_carrier::WayFinder ways;
  std::uint32_t failed = 0;
  for (bool begun = false; !begun; failed += begun ? 0 : 1) {
    UniqueFunction<void(const Status&)> ignored{[](const Status&) {}};
    verbs::Way way{*domain, {}};
    testing::fail_allocation(failed + 1);
    const auto search = ways.look_for(std::move(way), *world.loop, std::move(ignored));
    testing::fail_allocation(0);
    begun = search.ok();
    if (!begun) {
      EXPECT_EQ(search.status().code(), StatusCode::kResourceExhausted);
    }
  }
  EXPECT_GT(failed, 2u);
}

TEST(VerbsCarrier, WhatADeviceReportsWhileMemoryIsOutCostsTheCarriersAndNotTheProcess) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  struct : Logger {
    void write(LogLevel, std::string_view) override {}
  } logger;
  VerbsOptions options;
  options.logger = &logger;
  expect_events_to_cost_their_carriers_only(
      options, [] { testing::fail_allocations(1, testing::kForEver); }, [] { testing::fail_allocations(0); });
}

TEST(VerbsCarrier, WhatADeviceReportsToALoggerThatThrowsCostsTheCarriersAndNotTheProcess) {
  struct : Logger {
    void write(LogLevel, std::string_view) override { throw std::runtime_error{"the disk is full"}; }
  } logger;
  VerbsOptions options;
  options.logger = &logger;
  expect_events_to_cost_their_carriers_only(options, [] {}, [] {});
}

TEST(VerbsCarrier, FailuresOfTheDeviceAreToldWithoutMemoryToo) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  testing::fail_allocations(1, testing::kForEver);
  const Status call = verbs::call_status(ENOMEM, "making a queue pair of a device with a long name");
  const Status work = verbs::to_status(IBV_WC_RETRY_EXC_ERR, "a send to a peer that does not answer");
  testing::fail_allocations(0);
  EXPECT_EQ(call.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(call.native(), ENOMEM);
  EXPECT_EQ(work.code(), StatusCode::kUnavailable);
}

// Its carriers may take long to end; nothing new begins on what is broken.
TEST(VerbsCarrier, WhatAllCarriersShareIsMadeAnewAfterItFailed) {
  using testing::Call;
  World world;
  std::vector<std::unique_ptr<End>> ends;
  for (const ibv_event_type type : {IBV_EVENT_SRQ_ERR, IBV_EVENT_CQ_ERR, IBV_EVENT_DEVICE_FATAL}) {
    End& first = *ends.emplace_back(std::make_unique<End>());
    End& second = *ends.emplace_back(std::make_unique<End>());
    ASSERT_TRUE(world.open(first, true).ok() && world.open(second, true).ok());
    const std::uint64_t made = world.rdma.counters().of(Call::kCreateSrq);
    ibv_qp* const pair = world.rdma.queue_pairs().back();
    ibv_async_event event{};
    event.event_type = type;
    if (type == IBV_EVENT_SRQ_ERR) event.element.srq = pair->srq;
    if (type == IBV_EVENT_CQ_ERR) event.element.cq = pair->recv_cq;
    world.rdma.raise(pair->context, event);
    world.run_until_idle();
    EXPECT_FALSE(first.why.ok() || second.why.ok());
    End& third = *ends.emplace_back(std::make_unique<End>());
    ASSERT_TRUE(world.open(third, true).ok());
    EXPECT_EQ(world.rdma.counters().of(Call::kCreateSrq), made + 1);
    EXPECT_TRUE(third.why.ok());
  }
}

TEST(VerbsCarrier, RegisteredMemoryIsCountedByWhatItIsFor) {
  VerbsOptions options;
  options.usage = std::make_shared<VerbsUsage>();
  options.inline_bytes = 0;
  const VerbsUsage& usage = *options.usage;
  const VerbsMemory formula = verbs_memory(options);
  const auto all = [&] {
    return usage.receive_bytes + usage.send_bytes + usage.control_bytes + usage.attachment_bytes;
  };
  {
    World world{options};
    End here;
    End there;
    ASSERT_NO_FATAL_FAILURE(world.join(here, there));
    ASSERT_TRUE(here.send(kSmall));
    EXPECT_EQ(all(), world.rdma.registered_bytes());
    EXPECT_GE(usage.receive_bytes, 2 * formula.receive_bytes_per_connection);
    EXPECT_EQ(usage.send_bytes, 2 * options.block_bytes);
    EXPECT_GT(usage.control_bytes, 0u);
    EXPECT_LE(usage.control_bytes, 2 * formula.control_bytes_max);
    EXPECT_EQ(usage.attachment_bytes, 0u);
    {
      const Buffer landing = here.carrier->landing_memory(100'000);
      EXPECT_GE(usage.attachment_bytes, 100'000u);
      EXPECT_EQ(all(), world.rdma.registered_bytes());
    }
  }
  EXPECT_EQ(all(), 0u);
}

// The loops of four threads count in it, and each of them reads it meanwhile.
TEST(VerbsCarrier, RegisteredMemoryOfSeveralThreadsIsCountedTogether) {
  VerbsOptions options;
  options.usage = std::make_shared<VerbsUsage>();
  const VerbsUsage& usage = *options.usage;
  const auto all = [&] {
    return usage.receive_bytes + usage.send_bytes + usage.control_bytes + usage.attachment_bytes;
  };
  std::atomic<std::size_t> registered = 0;
  std::barrier together{4};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      World world{options};
      End here;
      End there;
      ASSERT_NO_FATAL_FAILURE(world.join(here, there));
      ASSERT_TRUE(here.send(kSmall));
      EXPECT_GE(all(), world.rdma.registered_bytes());
      registered += world.rdma.registered_bytes();
      together.arrive_and_wait();
      EXPECT_EQ(all(), registered);
      together.arrive_and_wait();
    });
  }
  threads.clear();
  EXPECT_EQ(all(), 0u);
}

TEST(VerbsCarrier, WhatAConnectionThatIsUsedGrowsToIsInTheFormula) {
  const VerbsOptions options;
  const VerbsMemory formula = verbs_memory(options);
  EXPECT_EQ(formula.receive_bytes_per_connection_max, options.credits_max * options.message_bytes);
  World world{options};
  End here;
  End there;
  ASSERT_NO_FATAL_FAILURE(world.join(here, there));
  for (std::size_t i = 0; i < 2 * options.credits_max; ++i) {
    ASSERT_TRUE(here.send(kSmall));
    world.run_until_idle();
    EXPECT_EQ(there.receive(), kSmall);
  }
  // Of this side what it always has, of the other what it has at most; a block each to send from.
  const std::size_t received =
      formula.receive_bytes_per_connection + formula.receive_bytes_per_connection_max;
  EXPECT_GE(world.rdma.registered_bytes(), received);
  EXPECT_LE(world.rdma.registered_bytes(),
            received + 4 * options.block_bytes + 2 * formula.control_bytes_max);
}

TEST(VerbsCarrier, MemoryIsWhatTheFormulaSaysAndComesBack) {
  VerbsOptions options;
  const VerbsMemory formula = verbs_memory(options);
  EXPECT_EQ(formula.receive_bytes_per_connection, options.credits_min * options.message_bytes);
  constexpr std::size_t kConnections = 200;
  World world{options};
  const testing::SimulatedRdmaObjects before = world.rdma.live();
  {
    std::vector<std::unique_ptr<End>> ends;
    for (std::size_t i = 0; i < kConnections; ++i) {
      End& here = *ends.emplace_back(std::make_unique<End>());
      End& there = *ends.emplace_back(std::make_unique<End>());
      ASSERT_NO_FATAL_FAILURE(world.join(here, there)) << i;
      ASSERT_TRUE(here.send(kSmall));
    }
    world.run_until_idle();
    // Of both sides: what every connection has, one receive more for each that sent, the blocks that are not
    // full, and a block each to send from.
    const std::size_t per_side =
        kConnections * (formula.receive_bytes_per_connection + 2 * options.message_bytes) +
        3 * options.block_bytes;
    EXPECT_LE(world.rdma.registered_bytes(), 2 * per_side);
    std::printf("%zu connections: %zu KiB registered on both sides\n", kConnections,
                world.rdma.registered_bytes() / 1024);
  }
  world.run_until_idle();
  EXPECT_EQ(world.rdma.registered_bytes(), 0u);
  EXPECT_TRUE(world.rdma.live() == before);
  EXPECT_TRUE(world.rdma.faults().empty());
}

TEST(VerbsCarrier, SmallMessagesGoInlineAndFewOfThemAreSignalled) {
  World world;
  End here;
  End there;
  world.join(here, there);
  for (int i = 0; i < 100; ++i) {  // until there is credit in plenty
    ASSERT_TRUE(here.send(kSmall));
    world.run_until_idle();
    there.receive();
    world.run_until_idle();
  }
  const auto before = world.rdma.counters("here");
  constexpr std::uint64_t kMessages = 1000;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(here.send(kSmall));
    world.run_until_idle();
    there.receive();
    world.run_until_idle();
  }
  const auto after = world.rdma.counters("here");
  const auto per_message = [&](std::uint64_t now, std::uint64_t then) {
    return static_cast<double>(now - then) / static_cast<double>(kMessages);
  };
  std::printf("a message of 100 bytes: %.3f doorbells, %.3f inline, %.3f signalled, %.3f completions\n",
              per_message(after.of(testing::Call::kPostSend), before.of(testing::Call::kPostSend)),
              per_message(after.sends_inline, before.sends_inline),
              per_message(after.sends_signalled, before.sends_signalled),
              per_message(after.completions_polled, before.completions_polled));
  EXPECT_EQ(after.sends_inline - before.sends_inline, after.sends_posted - before.sends_posted);
  EXPECT_LE(after.sends_signalled - before.sends_signalled, kMessages / 4);
  EXPECT_LE(after.sends_posted - before.sends_posted, kMessages + kMessages / 8);
}

TEST(VerbsCarrier, OptionsThatCannotBeAreNamed) {
  const auto refused = [](auto change) {
    VerbsOptions options;
    change(options);
    return std::string{check(options).message()};
  };
  EXPECT_NE(refused([](VerbsOptions& o) { o.message_bytes = 100; }).find("message_bytes"), std::string::npos);
  EXPECT_NE(refused([](VerbsOptions& o) { o.message_bytes = 4100; }).find("message_bytes"),
            std::string::npos);
  EXPECT_NE(refused([](VerbsOptions& o) { o.block_bytes = 4096; }).find("block_bytes"), std::string::npos);
  EXPECT_NE(refused([](VerbsOptions& o) { o.credits_min = 3; }).find("credits_min"), std::string::npos);
  EXPECT_NE(refused([](VerbsOptions& o) { o.retries = 7; }).find("retries"), std::string::npos);
  EXPECT_NE(refused([](VerbsOptions& o) { o.sends_max = 1; }).find("sends_max"), std::string::npos);
  EXPECT_NE(refused([](VerbsOptions& o) { o.receive_bytes_max = 1024; }).find("receive_bytes_max"),
            std::string::npos);
  EXPECT_TRUE(check(VerbsOptions{}).ok());
}

}  // namespace
}  // namespace weft
