// SPDX-License-Identifier: Apache-2.0
// UX-7: what ends badly, or early. Runs on simulated devices, and on real ones.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "unit/verbs/pair.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/runtime/with_deadline.hpp"

namespace weft::verbs {
namespace {

using testing::Pair;
using testing::status_of;

class VerbsEndings : public ::testing::Test {
 protected:
  Pair pair_;
};

TEST_F(VerbsEndings, SendingBeforeConnectingIsRefused) {
  const auto attempt = [](Pair& pair) -> Task<> {
    const auto lonely = pair.make();
    const auto sent = co_await lonely->send(pair.text("to nobody"));
    EXPECT_EQ(sent.status().code(), StatusCode::kFailedPrecondition) << sent.status().to_string();
    EXPECT_EQ(lonely->sends_posted(), 0U);
  };
  pair_.run(attempt(pair_));
}

TEST_F(VerbsEndings, AMessageThatIsTooLongEndsBothQueuePairsWithAReason) {
  const auto attempt = [](Pair& pair) -> Task<> {
    auto receiving = pair.b->receive(pair.region(4).memory());
    const auto sent = co_await pair.a->send(pair.pattern(1000, 1));
    const auto received = co_await std::move(receiving);
    // Which error either side is given differs from device to device, rxe being one of its own.
    EXPECT_FALSE(sent.ok());
    EXPECT_FALSE(received.ok());
    EXPECT_EQ((co_await pair.a->send(pair.text("after"))).status().code(), StatusCode::kUnavailable);
  };
  pair_.run(attempt(pair_));
}

TEST_F(VerbsEndings, APeerWithoutAReceiveIsReportedAndNotWaitedForForEver) {
  const auto attempt = [](Pair& pair) -> Task<> {
    const auto one = pair.make();
    const auto other = pair.make();
    Pair::join(*one, *other, {.receiver_not_ready_retries = 1, .receiver_not_ready_timer = 1});
    const auto sent = co_await one->send(pair.text("anybody?"));
    EXPECT_EQ(sent.status().code(), StatusCode::kResourceExhausted) << sent.status().to_string();
    EXPECT_EQ(sent.status().native(), IBV_WC_RNR_RETRY_EXC_ERR);
  };
  pair_.run(attempt(pair_));
}

TEST_F(VerbsEndings, AKeyUsedOutOfBoundsTouchesNothingAndEndsThatQueuePair) {
  const auto attempt = [](Pair& pair) -> Task<> {
    const Memory around = pair.region(8192).memory();
    const MemoryRegion target =
        MemoryRegion::register_memory(pair.domain, around.mutable_bytes().subspan(0, 4096), [] {},
                                      {.remote_write = true})
            .value();
    RemoteMemory beyond = target.remote();
    beyond.address += 4000;
    const auto written = co_await pair.a->write(pair.pattern(1000, 1), beyond);
    EXPECT_EQ(written.status().code(), StatusCode::kPermissionDenied) << written.status().to_string();
    for (std::size_t i = 0; i < around.size(); ++i) {
      EXPECT_EQ(around.data()[i], std::byte{0}) << "byte " << i;
      if (around.data()[i] != std::byte{0}) break;
    }
  };
  pair_.run(attempt(pair_));
}

TEST_F(VerbsEndings, AKeyWithoutThePermissionIsRefused) {
  const auto attempt = [](Pair& pair) -> Task<> {
    const MemoryRegion readable = pair.region(64, {.remote_read = true});
    const auto written = co_await pair.a->write(pair.text("no"), readable.remote());
    EXPECT_EQ(written.status().code(), StatusCode::kPermissionDenied) << written.status().to_string();
    EXPECT_EQ(readable.data()[0], std::byte{0});
  };
  pair_.run(attempt(pair_));
}

TEST_F(VerbsEndings, AKeyUsedAfterItsReleaseIsRefused) {
  const auto attempt = [](Pair& pair) -> Task<> {
    std::array<std::byte, 64> own{};
    bool released = false;
    RemoteMemory old;
    {
      const MemoryRegion region =
          MemoryRegion::register_memory(pair.domain, own, [&] { released = true; }, {.remote_write = true})
              .value();
      old = region.remote();
    }
    EXPECT_TRUE(released);
    const auto written = co_await pair.a->write(pair.text("too late"), old);
    EXPECT_EQ(written.status().code(), StatusCode::kPermissionDenied) << written.status().to_string();
    EXPECT_EQ(own[0], std::byte{0});
  };
  pair_.run(attempt(pair_));
}

/// An attempt of a peer on memory that it was told of, or was not.
struct Abuse {
  const char* what;
  enum class By : std::uint8_t { kWrite, kRead, kFetchAdd, kCompareSwap } by;
  Access access;
  /// Makes what is right wrong.
  void (*spoil)(RemoteMemory& target);
};
constexpr Access kAll{.remote_read = true, .remote_write = true, .remote_atomic = true};
constexpr Abuse kAbuses[] = {
    {"a write beyond the end", Abuse::By::kWrite, kAll, [](RemoteMemory& to) { to.address += 4040; }},
    {"a write before the beginning", Abuse::By::kWrite, kAll, [](RemoteMemory& to) { to.address -= 8; }},
    {"a write far away", Abuse::By::kWrite, kAll, [](RemoteMemory& to) { to.address = ~0ull - 20; }},
    {"a read beyond the end", Abuse::By::kRead, kAll, [](RemoteMemory& to) { to.address += 4040; }},
    {"an atomic beyond the end", Abuse::By::kFetchAdd, kAll, [](RemoteMemory& to) { to.address += 4096; }},
    {"a key that was guessed", Abuse::By::kWrite, kAll, [](RemoteMemory& to) { to.rkey ^= 0x5A5A00; }},
    {"a write to what may be read", Abuse::By::kWrite, {.remote_read = true}, [](RemoteMemory&) {}},
    {"a read of what may be written", Abuse::By::kRead, {.remote_write = true}, [](RemoteMemory&) {}},
    {"an addition without leave", Abuse::By::kFetchAdd, {.remote_write = true}, [](RemoteMemory&) {}},
    {"an exchange without leave", Abuse::By::kCompareSwap, {.remote_write = true}, [](RemoteMemory&) {}},
    {"nothing that is open", Abuse::By::kWrite, {}, [](RemoteMemory&) {}},
};

Task<Status> attempt(QueuePair& pair, const Abuse& abuse, const Memory& own, RemoteMemory target) {
  switch (abuse.by) {
    case Abuse::By::kWrite:
      co_return status_of(co_await pair.write(own, target));
    case Abuse::By::kRead:
      co_return status_of(co_await pair.read(own, target));
    case Abuse::By::kFetchAdd:
      co_return status_of(co_await pair.fetch_add(target, 1));
    case Abuse::By::kCompareSwap:
      co_return status_of(co_await pair.compare_swap(target, 0, 1));
  }
  co_return Status{};
}

TEST_F(VerbsEndings, AKeyThatIsAbusedEndsThatQueuePairAloneAndTouchesNoByte) {
  const MemoryRegion around = pair_.region(3 * 4096);
  for (const Abuse& abuse : kAbuses) {
    SCOPED_TRACE(abuse.what);
    const auto one = pair_.make();
    const auto other = pair_.make();
    Pair::join(*one, *other);
    const MemoryRegion target = MemoryRegion::register_memory(
                                    pair_.domain, around.bytes().subspan(4096, 4096), [] {}, abuse.access)
                                    .value();
    RemoteMemory spoilt = target.remote();
    abuse.spoil(spoilt);
    const Memory own = pair_.pattern(64, 1);
    const Memory before = pair_.pattern(64, 1);
    const Status refused = pair_.run(attempt(*one, abuse, own, spoilt));
    EXPECT_EQ(refused.code(), StatusCode::kPermissionDenied) << refused.to_string();
    EXPECT_TRUE(one->failed());
    EXPECT_TRUE(testing::same(own, before));
    for (const std::byte byte : around.bytes()) ASSERT_EQ(byte, std::byte{0});
    const auto neighbours = [](Pair& pair) -> Task<> {
      const MemoryRegion into = pair.region(16);
      auto receiving = pair.b->receive(into.memory());
      EXPECT_TRUE((co_await pair.a->send(pair.text("still here"))).ok());
      EXPECT_TRUE((co_await std::move(receiving)).ok());
    };
    pair_.run(neighbours(pair_));
  }
}

TEST_F(VerbsEndings, AQueuePairForcedToFailCompletesEverythingUnderWay) {
  const auto attempt = [](Pair& pair) -> Task<> {
    std::vector<detail::Posted<detail::Receive>> receiving;
    const MemoryRegion into = pair.region(40 * 64);
    // The last eight wait for room.
    for (std::size_t i = 0; i < 40; ++i) receiving.push_back(pair.b->receive(into.slice(i * 64, 64)));
    EXPECT_EQ(pair.b->receives_posted(), 32U);
    EXPECT_TRUE(pair.b->fail().ok());
    for (auto& each : receiving) {
      const auto received = co_await std::move(each);
      EXPECT_EQ(received.status().code(), StatusCode::kUnavailable) << received.status().to_string();
    }
    EXPECT_EQ(pair.b->receives_posted(), 0U);
  };
  pair_.run(attempt(pair_));
  EXPECT_EQ(pair_.completions->operations_out(), 0U);
}

TEST_F(VerbsEndings, SendingToAQueuePairThatIsGoneEndsByItself) {
  const auto attempt = [](Pair& pair) -> Task<> {
    const auto one = pair.make();
    auto other = pair.make();
    Pair::join(*one, *other, {.ack_timeout = 8, .retries = 1});
    other.reset();
    const auto sent = co_await one->send(pair.text("hello?"));
    EXPECT_EQ(sent.status().code(), StatusCode::kUnavailable) << sent.status().to_string();
  };
  pair_.run(attempt(pair_));
}

TEST_F(VerbsEndings, TheEndOfAQueuePairGivesBackWhatTheDeviceHad) {
  const MemoryRegion into = pair_.region(64);
  MemoryBlock* const block = into.memory().block();
  const std::uint32_t before = block->references();
  std::optional<Status> ended;
  const auto wait = [](Pair* pair, Memory memory, std::optional<Status>* to) -> Task<> {
    *to = status_of(co_await pair->b->receive(memory));
  };
  Scope scope;
  scope.spawn(wait, &pair_, into.memory(), &ended);
  pair_.loop->run_once(Duration::zero());
  EXPECT_GT(block->references(), before);
  pair_.b.reset();
  pair_.until([&] { return ended.has_value(); });
  // Flushed by the device, or it did not come to that.
  EXPECT_TRUE(ended->code() == StatusCode::kUnavailable || ended->code() == StatusCode::kCancelled)
      << ended->to_string();
  pair_.loop->block_on(scope.join());
  EXPECT_EQ(block->references(), before);
  EXPECT_EQ(pair_.completions->operations_out(), 0U);
}

TEST_F(VerbsEndings, MemoryStaysWithTheDeviceWhenTheCoroutineGivesUp) {
  const MemoryRegion into = pair_.region(64);
  MemoryBlock* const block = into.memory().block();
  const std::uint32_t before = block->references();
  const auto impatient = [](Pair& pair, const MemoryRegion& region) -> Task<Status> {
    const Deadline soon{pair.loop->now() + std::chrono::milliseconds{1}};
    co_return status_of(co_await with_deadline(soon, pair.b->receive(region.memory())));
  };
  const Status gave_up = pair_.run(impatient(pair_, into));
  EXPECT_EQ(gave_up.code(), StatusCode::kDeadlineExceeded) << gave_up.to_string();
  EXPECT_GT(block->references(), before) << "the device may still write to it";
  const auto send = [](Pair& pair) -> Task<> {
    EXPECT_TRUE((co_await pair.a->send(pair.text("late"))).ok());
  };
  pair_.run(send(pair_));
  pair_.until([&] { return block->references() == before; });
  EXPECT_EQ(testing::text_of(into.memory(), 4), "late");
}

TEST_F(VerbsEndings, AnOperationThatWaitsForRoomIsDroppedBeforeTheDeviceHasIt) {
  const auto one = pair_.make({.receives_max = 1});
  const MemoryRegion into = pair_.region(128);
  auto first = one->receive(into.slice(0, 64));
  MemoryBlock* const block = into.memory().block();
  const std::uint32_t before = block->references();
  {
    auto second = one->receive(into.slice(64, 64));
  }
  pair_.loop->run_once(Duration::zero());
  EXPECT_EQ(block->references(), before);
  EXPECT_EQ(one->receives_posted(), 1U);
}

TEST_F(VerbsEndings, ACompletionQueueWithoutRoomRefusesAQueuePair) {
  auto small = CompletionQueue::create(*pair_.loop, pair_.device, {.entries = 16}).value();
  const std::uint8_t port = pair_.device->active_port().value().number;
  const auto refused =
      QueuePair::create(pair_.domain, *small, {.port = port, .sends_max = 16, .receives_max = 16});
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  for (int i = 0; i < 100; ++i) {
    // What one leaves behind makes room for the next.
    auto made = QueuePair::create(pair_.domain, *small, {.port = port, .sends_max = 8, .receives_max = 8});
    ASSERT_TRUE(made.ok()) << made.status().to_string();
  }
}

TEST_F(VerbsEndings, WhatCannotBeAskedIsRefusedWithWords) {
  const auto attempt = [](Pair& pair) -> Task<> {
    const MemoryRegion region = pair.region(64);
    const std::array<Memory, 5> pieces{region.slice(0, 1), region.slice(1, 1), region.slice(2, 1),
                                       region.slice(3, 1), region.slice(4, 1)};
    EXPECT_EQ((co_await pair.a->send(pieces)).status().code(), StatusCode::kInvalidArgument);
    const auto beyond = co_await pair.a->write(region.memory(), region.remote().slice(0, 63));
    EXPECT_EQ(beyond.status().code(), StatusCode::kOutOfRange) << beyond.status().to_string();
    const auto askew = co_await pair.a->fetch_add(region.remote().slice(4, 8), 1);
    EXPECT_EQ(askew.status().code(), StatusCode::kInvalidArgument) << askew.status().to_string();
    EXPECT_NE(askew.status().message().find("no multiple of 8"), std::string_view::npos);
    auto elsewhere = ProtectionDomain::create(pair.device).value();
    const MemoryRegion foreign = MemoryRegion::allocate(elsewhere, 64).value();
    EXPECT_EQ((co_await pair.a->send(foreign.memory())).status().code(), StatusCode::kInvalidArgument);
  };
  pair_.run(attempt(pair_));
  EXPECT_FALSE(pair_.a->connect(pair_.b->address()).ok()) << "it is connected";
  const auto lonely = pair_.make();
  EXPECT_EQ(lonely->connect(pair_.b->address(), {.retries = 7}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(lonely->connect(pair_.b->address(), {.receiver_not_ready_retries = 7}).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Device::open("nonsense", weft::testing::rdma_devices()).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace weft::verbs
