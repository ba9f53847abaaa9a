// SPDX-License-Identifier: Apache-2.0
// UX-7: what only a simulated device can be made to do: keep nothing of the dead, vanish, and count what it
// is asked.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "support/simulated_rdma.hpp"
#include "unit/verbs/pair.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/verbs/device_events.hpp"

namespace weft::verbs {
namespace {

using testing::Pair;
using testing::status_of;
using weft::testing::Call;
using weft::testing::SimulatedRdma;

class VerbsLostDevices : public ::testing::TestWithParam<bool> {
 protected:
  SimulatedRdma& rdma() { return static_cast<SimulatedRdma&>(weft::testing::rdma_devices()); }
  void TearDown() override { rdma().keep_completions_of_destroyed_pairs(true); }
};

INSTANTIATE_TEST_SUITE_P(CompletionsOfTheDead, VerbsLostDevices, ::testing::Bool(),
                         [](const auto& made) { return made.param ? "stay" : "go"; });

TEST_P(VerbsLostDevices, ASharedReceiveThatAQueuePairUsedIsHeardOfAfterItsEnd) {
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

TEST_P(VerbsLostDevices, TheEndOfWhatWasMadeOnADeviceThatIsGoneIsNoMisuse) {
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

/// Returns the failure of connecting on a device that refuses it with `error`, to an address that
/// `elsewhere` changed.
Status refused_connect(SimulatedRdma& rdma, int error, void (*elsewhere)(AddressInfo&)) {
  auto loop = Loop::create().value();
  auto device = Device::open({}, rdma).value();
  auto domain = ProtectionDomain::create(device).value();
  auto completions = CompletionQueue::create(*loop, device).value();
  auto one = QueuePair::create(domain, *completions).value();
  auto other = QueuePair::create(domain, *completions).value();
  AddressInfo peer = other->address();
  elsewhere(peer);
  rdma.fail(Call::kModifyQp, error);
  return one->connect(peer);
}

TEST(VerbsConnect, ADeviceThatRefusesAnAddressHasBothAddressesNamed) {
  SimulatedRdma rdma{{weft::testing::roce_device("sim", 7)}};
  const Status same = refused_connect(rdma, EINVAL, [](AddressInfo&) {});
  EXPECT_EQ(same.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(same.message().find("connecting a queue pair from "), std::string_view::npos) << same.to_string();
  EXPECT_EQ(same.message().find("of one kind"), std::string_view::npos) << same.to_string();
  // fd00::7, where ours is an IPv4 address.
  const Status mixed = refused_connect(rdma, EINVAL, [](AddressInfo& peer) {
    peer.gid = {0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
  });
  EXPECT_NE(mixed.message().find("to fd00::7, which have to be of one kind"), std::string_view::npos)
      << mixed.to_string();
  const Status nobody = refused_connect(rdma, ETIMEDOUT, [](AddressInfo&) {});
  EXPECT_EQ(nobody.code(), StatusCode::kUnavailable) << nobody.to_string();
  EXPECT_EQ(rdma.live().total(), 0U);
}

/// A device that does not say any more what completed.
class VerbsSilentQueue : public ::testing::Test {
 protected:
  ~VerbsSilentQueue() override { rdma().heal(Call::kPollCq); }
  SimulatedRdma& rdma() { return static_cast<SimulatedRdma&>(weft::testing::rdma_devices()); }

  static void expect_told(const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.to_string();
    EXPECT_NE(status.message().find("the completion queue cannot be asked"), std::string_view::npos)
        << status.to_string();
  }
  template <typename Posted>
  static Task<Status> awaited(Posted posted) {
    co_return status_of(co_await std::move(posted));
  }

  Pair pair_{{.sends_max = 2, .receives_max = 1}};
};

TEST_F(VerbsSilentQueue, EveryOperationEndsAndSaysWhy) {
  const MemoryRegion region = pair_.region(64);
  auto shared = SharedReceiveQueue::create(pair_.domain, *pair_.completions, {.receives_max = 2}).value();
  Scope scope;
  std::vector<Status> told;
  const auto wait = [](Task<Status> operation, std::vector<Status>* to) -> Task<> {
    to->push_back(co_await std::move(operation));
  };
  scope.spawn(wait, awaited(pair_.b->receive(region.memory())), &told);
  scope.spawn(wait, awaited(pair_.b->receive(region.memory())), &told);  // waits for room
  scope.spawn(wait, awaited(shared->receive(region.memory())), &told);
  pair_.loop->run_once(Duration::zero());
  EXPECT_TRUE(told.empty());
  rdma().fail_every(Call::kPollCq, EIO);
  auto awaited_later = pair_.a->read(region.memory(), region.remote());
  pair_.until([&] { return told.size() == 3; });
  scope.spawn(wait, awaited(std::move(awaited_later)), &told);
  scope.spawn(wait, awaited(shared->receive(region.memory())), &told);  // made when it had failed
  pair_.until([&] { return told.size() == 5; });
  for (const Status& status : told) expect_told(status);
  EXPECT_NE(pair_.completions->failed(), 0);
  const auto later = pair_.run(awaited(pair_.a->send(region.memory())));
  EXPECT_EQ(later.code(), StatusCode::kUnavailable) << "nothing more is given to the device";
  pair_.loop->block_on(scope.join());
  pair_.b.reset();
}

TEST_F(VerbsSilentQueue, MemoryStaysWithTheDeviceUntilTheQueuePairHasEnded) {
  const MemoryRegion into = pair_.region(64);
  MemoryBlock* const block = into.memory().block();
  const std::uint32_t before = block->references();
  auto receiving = pair_.b->receive(into.memory());
  rdma().fail_every(Call::kPollCq, EIO);
  expect_told(pair_.run(awaited(std::move(receiving))));
  EXPECT_TRUE(pair_.a->send(pair_.text("late")).abandon().ok());
  for (int i = 0; i < 3; ++i) pair_.loop->run_once(Duration::zero());
  EXPECT_EQ(testing::text_of(into.memory(), 4), "late") << "the device goes on";
  EXPECT_GT(block->references(), before);
  pair_.b.reset();
  EXPECT_EQ(block->references(), before);
}

TEST_F(VerbsSilentQueue, AnOperationThatIsAwaitedAfterTheEndOfItsQueuesSaysWhyToo) {
  const MemoryRegion into = pair_.region(64);
  auto receiving = pair_.b->receive(into.memory());
  rdma().fail_every(Call::kPollCq, EIO);
  pair_.loop->run_once(Duration::zero());
  pair_.a.reset();
  pair_.b.reset();
  pair_.completions.reset();
  expect_told(pair_.run(awaited(std::move(receiving))));
}

TEST(VerbsSharedReceives, CompleteIntoTheQueueOfTheirQueuePairs) {
  Pair pair;
  auto shared = SharedReceiveQueue::create(pair.domain, *pair.completions, {.receives_max = 4}).value();
  auto another = CompletionQueue::create(*pair.loop, pair.device).value();
  QueuePairOptions options;
  options.shared_receives = shared.get();
  const auto refused = QueuePair::create(pair.domain, *another, options);
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument) << refused.status().to_string();
}

TEST(VerbsSharedReceives, TellOnceThatFewAreLeft) {
  Pair pair;
  auto shared = SharedReceiveQueue::create(pair.domain, *pair.completions, {.receives_max = 4}).value();
  QueuePairOptions options;
  options.shared_receives = shared.get();
  const auto one = pair.make(options);
  const auto other = pair.make();
  Pair::join(*one, *other);
  std::vector<DeviceEvent> told;
  const auto events = DeviceEvents::watch(*pair.loop, pair.device, [&told](const DeviceEvent& event) {
                        told.push_back(event);
                      }).value();
  const Memory into = pair.region(16).memory();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(shared->receive(into).abandon().ok());
  EXPECT_TRUE(shared->notify_below(3).ok());
  const auto send = [&] {
    EXPECT_TRUE(pair.run([](QueuePair& from, Memory words) -> Task<Status> {
                      co_return status_of(co_await from.send(words));
                    }(*other, pair.text("takes one")))
                    .ok());
    pair.loop->run_once(Duration::zero());
  };
  send();
  EXPECT_TRUE(told.empty()) << "three are left";
  send();
  pair.until([&] { return !told.empty(); });
  EXPECT_EQ(told.front().type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(told.front().queue, shared->handle());
  send();
  EXPECT_EQ(told.size(), 1U);
  EXPECT_FALSE(shared->notify_below(5).ok()) << "there is no room for as many";
}

/// Hears of completions, and has to hear of none.
class Deaf final : public CompletionHandler {
 public:
  void on_completion(std::uint32_t, const ibv_wc&) noexcept override { ADD_FAILURE() << "it is gone"; }
};

TEST(VerbsHandlers, ThatAreGoneHearNothingAndTheirCompletionsAreCounted) {
  Pair pair;
  CompletionQueue& queue = *pair.completions;
  Deaf gone;
  const std::uint32_t place = queue.add(gone);
  const Memory into = pair.region(16).memory();
  ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(into.data()),
                .length = 16,
                .lkey = into.block()->registration()->lkey};
  ibv_recv_wr request{};
  request.wr_id = queue.id_for(place, 0);
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  ASSERT_EQ(ibv_post_recv(pair.b->handle(), &request, &refused), 0);
  queue.remove(place);
  Deaf next;
  EXPECT_EQ(queue.add(next), place) << "which has another generation";
  EXPECT_EQ(queue.strays(), 0U);
  EXPECT_TRUE(pair.a->send(pair.text("for nobody")).abandon().ok());
  pair.until([&] { return queue.strays() > 0; });
  EXPECT_EQ(queue.strays(), 1U);
  queue.remove(place);
}

TEST(VerbsArming, AsksAgainWhereTheKernelLostTheEvent) {
  auto& rdma = static_cast<SimulatedRdma&>(weft::testing::rdma_devices());
  Pair pair;
  CompletionQueue& queue = *pair.completions;
  const auto asked = [&] { return rdma.counters().of(Call::kReqNotifyCq); };
  EXPECT_TRUE(queue.arm());
  const Memory into = pair.region(16).memory();
  auto receiving = pair.a->receive(into);
  auto sending = pair.b->send(pair.text("wakes"));
  while (queue.poll() > 0) {
  }
  const std::uint64_t before = asked();
  rdma.fail(Call::kGetCqEvent, EAGAIN);
  EXPECT_TRUE(queue.arm());
  EXPECT_EQ(asked() - before, 1U);
}

// Each of the two is a system call.
TEST(VerbsArming, AsksForAnEventOnceAndTakesItOnce) {
  auto& rdma = static_cast<SimulatedRdma&>(weft::testing::rdma_devices());
  Pair pair;
  CompletionQueue& queue = *pair.completions;
  const auto asked = [&] { return rdma.counters().of(Call::kReqNotifyCq); };
  const auto looked = [&] { return rdma.counters().of(Call::kGetCqEvent); };
  const std::uint64_t asked_before = asked();
  const std::uint64_t looked_before = looked();
  EXPECT_TRUE(queue.arm());
  EXPECT_TRUE(queue.arm());
  EXPECT_TRUE(queue.arm());
  EXPECT_EQ(asked() - asked_before, 1U) << "there was no event since";
  EXPECT_EQ(looked() - looked_before, 2U);
  const Memory into = pair.region(16).memory();
  auto receiving = pair.a->receive(into);
  auto sending = pair.b->send(pair.text("wakes"));
  EXPECT_FALSE(queue.arm()) << "something has completed";
  EXPECT_TRUE(queue.arm());
  EXPECT_EQ(asked() - asked_before, 3U) << "once more: the event of what arm() found itself may be lost";
  EXPECT_EQ(looked() - looked_before, 4U) << "one for the event, and none to find no more";
}

}  // namespace
}  // namespace weft::verbs
