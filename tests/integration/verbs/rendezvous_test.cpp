// SPDX-License-Identifier: Apache-2.0
// CR-17, CR-18: attachments in registered memory, with everything that rpc has.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <utility>

#include "integration/verbs/verbs_testing.hpp"
#include "support/pattern.hpp"

namespace weft::verbs_testing {
namespace {

constexpr std::size_t kKilo = 1024;
constexpr std::size_t kMega = 1024 * kKilo;

/// Devices that are no simulation may be emulated ones, which move a few megabytes in a second.
bool slow() {
  return &weft::testing::rdma_devices() == &verbs::system_driver();
}
/// Returns a smaller size there, and where what is copied goes in messages of 1 KiB.
std::size_t scaled(std::size_t size) {
  const std::string_view name = ::testing::UnitTest::GetInstance()->current_test_info()->value_param();
  const bool tight = name.find("tight") != std::string_view::npos;
  return size / (tight ? 8 : 1) / (slow() ? 4 : 1);
}

/// Memory of a program's, and whether it is registered.
struct Region {
  Region(std::vector<std::byte> its) : bytes(std::move(its)) {}
  template <typename Endpoint>
  Region& registered_with(const Endpoint& endpoint) {
    auto made = endpoint.register_memory(bytes);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    lease = std::move(made).value();
    return *this;
  }
  std::vector<std::byte> bytes;
  MemoryLease lease;
};

class VerbsAttachments : public VerbsTest {
 protected:
  /// A server that answers `lend` with its registered memory, and a client of it.
  void SetUp() override {
    Server& server =
        world.serve(options(), World::Where::kOwnThread, "verbs://127.0.0.1:0", [this](Server& its) {
          its.register_handler("lend", [this](CallContext& context, std::uint64_t size) {
            context.set_attachment(
                Buffer::adopt(MutableBytes{lent.bytes}.first(size), nullptr, [](void*) noexcept {}));
            return size;
          });
          its.register_handler(
              "lend_blocks", [this](CallContext& context, std::uint64_t block, std::uint64_t blocks) {
                context.set_attachment(
                    {AttachmentView::strided(lent.bytes, blocks, block, 2 * block), Holding{holding}});
                return block * blocks;
              });
        });
    lent.registered_with(server);
    caller = &world.client(server.urls().front(), options());
  }
  void TearDown() override { world.end(); }

  static constexpr auto lend = remote<"lend", std::uint64_t(std::uint64_t)>;
  static constexpr auto lend_blocks = remote<"lend_blocks", std::uint64_t(std::uint64_t, std::uint64_t)>;

  /// Owner of an answer's memory.
  struct Holding {
    explicit Holding(std::atomic<int>& its_count) : count(&its_count) { ++*count; }
    Holding(Holding&& other) noexcept : count(std::exchange(other.count, nullptr)) {}
    Holding& operator=(Holding&&) = delete;
    ~Holding() {
      if (count != nullptr) --*count;
    }
    std::atomic<int>* count;
  };

  /// Answers whose memory is held.
  std::atomic<int> holding{0};

  Region lent{pattern(5 * kMega, 99)};
  Client* caller = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsAttachments, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsAttachments, AttachmentsArriveWholeWhateverOfThemIsRegistered) {
  for (const std::size_t size :
       {64 * kKilo - 1, 64 * kKilo, 300 * kKilo + 3, scaled(4 * kMega), scaled(5 * kMega)}) {
    Region plain{pattern(size)};
    Region known{pattern(size, 2)};
    known.registered_with(*caller);
    EXPECT_FALSE(known.lease.empty());
    for (Region* const sent : {&plain, &known}) {
      EXPECT_EQ(world.wait_for(caller->start<sum_up>({.attachment = Bytes{sent->bytes}})).value(),
                sum_of(sent->bytes));
    }
    for (Region* const landing : {&plain, &known}) {
      std::ranges::fill(landing->bytes, std::byte{0});
      EXPECT_EQ(world.wait_for(caller->start<lend>({.landing = landing->bytes}, size)).value(), size);
      EXPECT_TRUE(testing::same_bytes(landing->bytes, Bytes{lent.bytes}.first(size))) << size;
    }
  }
  EXPECT_EQ(caller->stats().connections, 1u);
}

// Blocks at twice their length, of which a work request fills several. Sent from one memory.
TEST_P(VerbsAttachments, BlocksAreFilledAndNothingBetweenThem) {
  const std::size_t size = scaled(2 * kMega);
  for (const std::size_t block : {std::size_t{700}, 4 * kKilo, 70 * kKilo + 1}) {
    SCOPED_TRACE(block);
    const std::size_t blocks = (size + block - 1) / block;
    Region landing{std::vector<std::byte>(2 * blocks * block, std::byte{0xEE})};
    landing.registered_with(*caller);
    const auto places = LandingView::strided(landing.bytes, blocks, block, 2 * block);
    EXPECT_EQ(world.wait_for(caller->start<lend>({.landing = places}, size)).value(), size);
    for (std::size_t at = 0; at < size; at += block) {
      const Bytes rest = Bytes{landing.bytes}.subspan(2 * at);
      const std::size_t filled = std::min(block, size - at);
      ASSERT_TRUE(testing::same_bytes(rest.first(filled), Bytes{lent.bytes}.subspan(at, filled))) << at;
      const Bytes gap = rest.subspan(block, block);
      ASSERT_TRUE(testing::all_are(gap, std::byte{0xEE})) << at;
    }
  }
}

// Blocks at twice their length, some of them shorter than is worth a read.
TEST_P(VerbsAttachments, BlocksAreSentAndNothingBetweenThem) {
  const std::size_t size = scaled(2 * kMega);
  for (const std::size_t block : {std::size_t{700}, 2 * kKilo, 4 * kKilo + 1, 70 * kKilo}) {
    SCOPED_TRACE(block);
    const std::size_t blocks = size / block + 1;
    Region sent{pattern(2 * blocks * block, 5)};
    std::vector<std::byte> together;
    for (std::size_t i = 0; i < blocks; ++i) {
      const Bytes from = Bytes{sent.bytes}.subspan(2 * i * block, block);
      together.insert(together.end(), from.begin(), from.end());
    }
    sent.registered_with(*caller);
    const auto list = AttachmentView::strided(sent.bytes.data(), blocks, block, 2 * block);
    EXPECT_EQ(world.wait_for(caller->start<sum_up>({.attachment = list})).value(), sum_of(together));
  }
  EXPECT_EQ(caller->stats().connections, 1u);
}

// The same out of the server's memory, into blocks of another length.
TEST_P(VerbsAttachments, AnswersAreSentFromBlocks) {
  const std::size_t size = scaled(2 * kMega);
  for (const std::size_t block : {std::size_t{700}, 2 * kKilo, 4 * kKilo + 1, 70 * kKilo}) {
    SCOPED_TRACE(block);
    const std::size_t blocks = size / block + 1;
    const std::size_t into = block + 100;
    const std::size_t places = (blocks * block + into - 1) / into;
    Region landing{std::vector<std::byte>(2 * places * into, std::byte{0xEE})};
    landing.registered_with(*caller);
    const auto place = LandingView::strided(landing.bytes, places, into, 2 * into);
    EXPECT_EQ(world.wait_for(caller->start<lend_blocks>({.landing = place}, block, blocks)).value(),
              blocks * block);
    for (std::size_t i = 0; i < places * into; ++i) {
      const std::byte here = landing.bytes[i / into * 2 * into + i % into];
      const bool filled = i < blocks * block;
      ASSERT_EQ(here, filled ? lent.bytes[i / block * 2 * block + i % block] : std::byte{0xEE}) << i;
      ASSERT_EQ(landing.bytes[(i / into * 2 + 1) * into + i % into], std::byte{0xEE}) << i;
    }
    EXPECT_TRUE(eventually([&] { return holding == 0; }));
  }
}

TEST_P(VerbsAttachments, BlocksOfAnAnswerThatIsDroppedAreGivenBackToTheirOwner) {
  world.expect_alive(*caller);
  constexpr std::size_t kBlock = 4 * kKilo;
  const std::size_t blocks = scaled(2 * kMega) / kBlock;
  for (int turns = 0; turns < 24; turns += turns < 12 && !slow() ? 1 : 6) {
    SCOPED_TRACE(turns);
    Region landing{std::vector<std::byte>(blocks * kBlock)};
    landing.registered_with(*caller);
    {
      const Call<std::uint64_t> down = caller->start<lend_blocks>({.landing = landing.bytes}, kBlock, blocks);
      for (int turn = 0; turn < turns; ++turn) loop().run_once(0ms);
    }
    std::ranges::fill(landing.bytes, std::byte{0xEE});
    EXPECT_TRUE(eventually([&] {
      const auto sum = world.wait_for(caller->start<sum_up>({.attachment = Bytes{lent.bytes}.first(100)}));
      return sum.ok() && holding == 0;
    }));
    ASSERT_TRUE(testing::all_are(landing.bytes, std::byte{0xEE}));
  }
}

TEST_P(VerbsAttachments, BlocksOfADroppedCallAreTheCallersAtOnce) {
  world.expect_alive(*caller);
  const std::size_t size = scaled(2 * kMega);
  for (int turns = 0; turns < 24; turns += turns < 12 && !slow() ? 1 : 6) {
    SCOPED_TRACE(turns);
    constexpr std::size_t kBlock = 4 * kKilo;
    Region landing{std::vector<std::byte>(2 * size)};
    landing.registered_with(*caller);
    Region lost{pattern(2 * size)};
    lost.registered_with(*caller);
    {
      const auto places = LandingView::strided(landing.bytes, size / kBlock, kBlock, 2 * kBlock);
      const auto list = AttachmentView::strided(lost.bytes.data(), size / kBlock, kBlock, 2 * kBlock);
      const Call<std::uint64_t> down = caller->start<lend>({.landing = places}, size);
      const Call<std::uint64_t> up = caller->start<sum_up>({.attachment = list});
      for (int turn = 0; turn < turns; ++turn) loop().run_once(0ms);
    }
    std::ranges::fill(landing.bytes, std::byte{0xEE});
    std::ranges::fill(lost.bytes, std::byte{0xDD});
    Bytes kept{lent.bytes};
    kept = kept.first(100 * kKilo);
    EXPECT_TRUE(eventually([&] {
      const auto sum = world.wait_for(caller->start<sum_up>({.attachment = kept}));
      return sum.ok() && *sum == sum_of(kept);
    }));
    ASSERT_TRUE(testing::all_are(landing.bytes, std::byte{0xEE}));
  }
}

TEST_P(VerbsAttachments, ManyAtOnceInBothDirectionsDoNotMix) {
  std::vector<Region> sent;
  std::vector<Region> landings;
  for (unsigned i = 0; i < 16; ++i) {
    sent.emplace_back(pattern(64 * kKilo + i + scaled(150 * kKilo), i));
    landings.emplace_back(std::vector<std::byte>(64 * kKilo + scaled(kMega)));
    if (i % 4 != 0) sent.back().registered_with(*caller);
    if (i % 3 != 0) landings.back().registered_with(*caller);
  }
  std::vector<Call<std::uint64_t>> up;
  std::vector<Call<std::uint64_t>> down;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    up.push_back(caller->start<sum_up>({.attachment = Bytes{sent[i].bytes}}));
    down.push_back(caller->start<lend>({.landing = landings[i].bytes}, landings[i].bytes.size()));
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(world.wait_for(std::move(up[i])).value(), sum_of(sent[i].bytes));
    const std::size_t size = landings[i].bytes.size();
    EXPECT_EQ(world.wait_for(std::move(down[i])).value(), size);
    EXPECT_TRUE(testing::same_bytes(landings[i].bytes, Bytes{lent.bytes}.first(size)));
  }
}

// Whoever drops a call has its memory back at once, and spoils it: the peer must not take that for what was
// sent, and nothing may land there any more. Where a peer does not answer in time, the connection ends.
TEST_P(VerbsAttachments, TheMemoryOfADroppedCallIsTheCallersAtOnce) {
  world.expect_alive(*caller);
  Region kept{pattern(scaled(kMega), 2)};
  kept.registered_with(*caller);
  for (int turns = 0; turns < 48; turns += turns < 16 && !slow() ? 1 : 8) {
    SCOPED_TRACE(turns);
    Region lost{pattern(scaled(3 * kMega))};
    Region landing{std::vector<std::byte>(scaled(5 * kMega))};
    lost.registered_with(*caller);
    landing.registered_with(*caller);
    {
      const Call<std::uint64_t> up = caller->start<sum_up>({.attachment = Bytes{lost.bytes}});
      const Call<std::uint64_t> down = caller->start<lend>({.landing = landing.bytes}, scaled(5 * kMega));
      for (int turn = 0; turn < turns; ++turn) loop().run_once(0ms);
    }
    std::ranges::fill(lost.bytes, std::byte{0xDD});
    std::ranges::fill(landing.bytes, std::byte{0xEE});
    const auto sum = world.wait_for(caller->start<sum_up>({.attachment = Bytes{kept.bytes}}));
    if (sum.ok()) {
      EXPECT_EQ(*sum, sum_of(kept.bytes));
    } else {
      EXPECT_EQ(sum.status().code(), StatusCode::kUnavailable) << sum.status().to_string();
      EXPECT_TRUE(eventually([&] { return world.wait_for(caller->start<add>(1, 2)).ok(); }));
    }
    ASSERT_TRUE(testing::all_are(landing.bytes, std::byte{0xEE}));
  }
}

TEST_P(VerbsAttachments, TimeoutsAtAnyMomentLeaveNeighboursAlone) {
  Region sent{pattern(scaled(2 * kMega))};
  sent.registered_with(*caller);
  std::mt19937 random{7};
  for (int round = 0; round < (slow() ? 10 : 40); ++round) {
    Region landing{std::vector<std::byte>(scaled(2 * kMega))};
    landing.registered_with(*caller);
    std::vector<Call<std::uint64_t>> calls;
    for (int i = 0; i < 4; ++i) {
      const auto timeout = std::chrono::microseconds{1 + random() % 3000};
      calls.push_back(caller->start<sum_up>({.timeout = timeout, .attachment = Bytes{sent.bytes}}));
    }
    calls.push_back(caller->start<lend>({.landing = landing.bytes}, scaled(2 * kMega)));
    const auto fetched = world.wait_for(std::move(calls.back()));
    calls.pop_back();
    if (fetched.ok()) {
      EXPECT_TRUE(testing::same_bytes(landing.bytes, Bytes{lent.bytes}.first(scaled(2 * kMega))));
    } else {
      EXPECT_EQ(fetched.status().code(), StatusCode::kUnavailable) << fetched.status().to_string();
    }
    for (auto& call : calls) {
      const auto sum = world.wait_for(std::move(call));
      if (sum.ok()) {
        EXPECT_EQ(*sum, sum_of(sent.bytes));
      }
    }
  }
}

// As a program does that hands attachments on.
TEST_P(VerbsAttachments, AnAttachmentMayOutliveItsConnectionAndItsServer) {
  Buffer kept;
  {
    Server& server =
        world.serve(options(), World::Where::kOwnThread, "verbs://127.0.0.1:0", [&](Server& its) {
          its.register_handler("keep", [&kept](CallContext& context) {
            kept = context.take_attachment();
            return 0;
          });
        });
    Client& client = world.client(server.urls().front(), options());
    Region sent{pattern(kMega)};
    sent.registered_with(client);
    EXPECT_TRUE(world.wait_for(client.start<remote<"keep", int()>>({.attachment = Bytes{sent.bytes}})).ok());
  }
  world.end_clients();
  world.end_servers();
  EXPECT_TRUE(testing::same_bytes(kept.bytes(), pattern(kMega)));
}

}  // namespace
}  // namespace weft::verbs_testing
