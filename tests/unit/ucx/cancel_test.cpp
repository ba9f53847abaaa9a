// SPDX-License-Identifier: Apache-2.0
// UX-5: every family is cancelled and dropped at every moment of its life, with memory that is poisoned when
// it is given back. A moment is a number of turns of the loop after the operation was issued; the peer
// answers or never does.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "unit/coro/run.hpp"
#include "unit/ucx/pair.hpp"
#include "unit/ucx/watched.hpp"
#include "weft/detail/coro/with_scope.hpp"

namespace weft::ucx {
namespace {

using testing::Pair;
using testing::Watched;
using testing::Way;

constexpr std::size_t kSmall = 64;
constexpr std::size_t kLarge = 300'000;
constexpr int kTurnsMax = 12;

/// The other side of an operation, and the operation itself.
struct Scene {
  Pair& pair;
  AmReceiver& receiver;
  const MemoryRegion& region;
  const RemoteKey& key;
  std::size_t size;
};

using Start = Task<Status> (*)(Scene scene, Memory memory);
using Answer = Task<Status> (*)(Scene scene);

template <typename T>
Status status_of(Result<T> result) {
  return std::move(result).status();
}

struct Family {
  const char* name;
  Start start;
  Answer answer;
};

const Family kFamilies[] = {
    {"tag_send",
     [](Scene scene, Memory memory) -> Task<Status> {
       co_return status_of(co_await tag_send(scene.pair.to_b, 1, memory));
     },
     [](Scene scene) -> Task<Status> {
       const Memory into = Memory::allocate(scene.size);
       co_return status_of(co_await tag_receive(*scene.pair.b, 1, kWholeTag, into));
     }},
    {"tag_send_sync",
     [](Scene scene, Memory memory) -> Task<Status> {
       co_return status_of(co_await tag_send_sync(scene.pair.to_b, 1, memory));
     },
     [](Scene scene) -> Task<Status> {
       const Memory into = Memory::allocate(scene.size);
       co_return status_of(co_await tag_receive(*scene.pair.b, 1, kWholeTag, into));
     }},
    {"tag_receive",
     [](Scene scene, Memory memory) -> Task<Status> {
       co_return status_of(co_await tag_receive(*scene.pair.a, 1, kWholeTag, memory));
     },
     [](Scene scene) -> Task<Status> {
       const Memory from = Memory::allocate(scene.size);
       co_return status_of(co_await tag_send(scene.pair.to_a, 1, from));
     }},
    {"stream_send",
     [](Scene scene, Memory memory) -> Task<Status> {
       co_return status_of(co_await stream_send(scene.pair.to_b, memory));
     },
     [](Scene scene) -> Task<Status> {
       const Memory into = Memory::allocate(scene.size);
       co_return status_of(co_await stream_receive(scene.pair.to_a, into, StreamWait::kAll));
     }},
    {"stream_receive",
     [](Scene scene, Memory memory) -> Task<Status> {
       co_return status_of(co_await stream_receive(scene.pair.to_b, memory, StreamWait::kAll));
     },
     [](Scene scene) -> Task<Status> {
       const Memory from = Memory::allocate(scene.size);
       co_return status_of(co_await stream_send(scene.pair.to_a, from));
     }},
    {"am_send",
     [](Scene scene, Memory memory) -> Task<Status> {
       co_return status_of(co_await am_send(scene.pair.to_b, 5, Bytes{}, memory));
     },
     [](Scene scene) -> Task<Status> {
       auto message = co_await scene.receiver.receive();
       if (!message.ok()) co_return message.status();
       const Memory into = Memory::allocate(scene.size);
       co_return status_of(co_await std::move(*message).receive_into(into));
     }},
    {"am_receive_into",
     [](Scene scene, Memory memory) -> Task<Status> {
       auto message = co_await scene.receiver.receive();
       if (!message.ok()) co_return message.status();
       co_return status_of(co_await std::move(*message).receive_into(memory));
     },
     [](Scene scene) -> Task<Status> {
       const Memory from = Memory::allocate(scene.size);
       const AmSendOptions options{.protocol = AmProtocol::kRendezvous};
       co_return status_of(co_await am_send(scene.pair.to_b, 5, Bytes{}, from, options));
     }},
    {"put",
     [](Scene scene, Memory memory) -> Task<Status> {
       co_return status_of(co_await put(scene.pair.to_b, memory, scene.region.address(), scene.key));
     },
     nullptr},
    {"get",
     [](Scene scene, Memory memory) -> Task<Status> {
       co_return status_of(co_await get(scene.pair.to_b, memory, scene.region.address(), scene.key));
     },
     nullptr},
    {"atomic",
     [](Scene scene, Memory /*memory*/) -> Task<Status> {
       const EndpointRef peer = scene.pair.to_b;
       co_return status_of(
           co_await atomic_fetch_add<std::uint64_t>(peer, scene.region.address(), scene.key, 1));
     },
     nullptr},
    {"flush",
     [](Scene scene, Memory memory) -> Task<Status> {
       static_cast<void>(put(scene.pair.to_b, memory, scene.region.address(), scene.key).abandon());
       memory.reset();
       co_return status_of(co_await scene.pair.to_b.flush());
     },
     nullptr},
};

enum class End { kCancel, kDrop, kWorkersEnd };

/// The two workers, what the families use of them, and the operation's coroutine.
class Life {
 public:
  Life(const Way& way, const Family& family, Watched& watched, std::size_t size)
      : family_(family),
        watched_(watched),
        size_(size),
        region_(MemoryRegion::allocate(testing::make_context(way), kLarge).value()),
        pair_(way) {
    receiver_ = std::make_unique<AmReceiver>(*pair_.b, std::uint16_t{5});
  }
  ~Life() {
    task_.reset();
    answer_.reset();
    receiver_.reset();
    key_.reset();
  }

  bool is(std::string_view name) const { return name == family_.name; }
  bool waits_for_a_message() const { return is("am_receive_into"); }
  bool ended() const { return task_->ended(); }

  void turn() { pair_.loop->run_once(Duration::zero()); }
  void turns(int count) {
    for (int at = 0; at < count; ++at) turn();
  }
  template <typename Work>
  void in_turn(Work&& work) {
    pair_.loop->post([&] { work(); });
    turn();
  }

  void issue() {
    in_turn([&] { task_.emplace(family_.start(scene(), watched_.memory()), &scope_); });
  }
  void answer() {
    if (family_.answer == nullptr) return turn();
    in_turn([&] { answer_.emplace(family_.answer(scene())); });
  }
  void cancel() {
    in_turn([&] { scope_.cancel(CancelReason::kRequested); });
  }
  void drop() {
    in_turn([&] { task_->drop(); });
  }
  void end_workers() {
    if (answer_) answer_->drop();
    if (waits_for_a_message()) task_->drop();
    receiver_.reset();
    pair_.a.reset();
    pair_.b.reset();
  }

 private:
  Scene scene() { return {pair_, *receiver_, region_, *key_, size_}; }

  const Family& family_;
  Watched& watched_;
  std::size_t size_;
  // Outlives the workers: a put that was issued may arrive until then.
  MemoryRegion region_;
  Pair pair_;
  std::optional<RemoteKey> key_ = RemoteKey::unpack(pair_.to_b, region_.pack_key().value()).value();
  std::unique_ptr<AmReceiver> receiver_;
  CancelScope scope_;
  std::optional<weft::testing::Started<Status>> task_;
  std::optional<weft::testing::Started<Status>> answer_;
};

/// One life: issue, `turns` turns, then `end`. The peer answers after `answer_at` turns, or never.
void live(const Way& way, const Family& family, std::size_t size, End end, int turns, int answer_at) {
  Watched watched{size};
  {
    Life life{way, family, watched, size};
    life.issue();
    for (int at = 0; at < turns; ++at) {
      if (at == answer_at) {
        life.answer();
      } else {
        life.turn();
      }
    }
    if (end == End::kCancel) {
      life.cancel();
      life.turns(2);
      // What the peer has answered may have been matched, and goes on; everything else is over.
      EXPECT_TRUE(life.ended() || answer_at >= 0) << family.name;
      life.drop();
    } else if (end == End::kDrop) {
      life.drop();
    } else {
      life.end_workers();
      life.turns(3);
      EXPECT_TRUE(life.ended() || life.waits_for_a_message()) << family.name;
    }
    life.turns(3);
  }
  EXPECT_TRUE(watched.given_back()) << family.name << " size " << size << " turns " << turns;
}

class UcxCancel : public ::testing::TestWithParam<Way> {};

void every_moment(const Way& way, End end) {
  for (const Family& family : kFamilies) {
    for (const std::size_t size : {kSmall, kLarge}) {
      for (int turns = 0; turns <= kTurnsMax; turns += 1 + turns / 4) {
        live(way, family, size, end, turns, -1);
        live(way, family, size, end, turns, turns / 2);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_P(UcxCancel, AnOperationIsCancelledAtEveryMoment) {
  every_moment(GetParam(), End::kCancel);
}

TEST_P(UcxCancel, AnOperationIsDroppedAtEveryMoment) {
  every_moment(GetParam(), End::kDrop);
}

TEST_P(UcxCancel, TheWorkerEndsAtEveryMoment) {
  every_moment(GetParam(), End::kWorkersEnd);
}

TEST_P(UcxCancel, ACancelledTagReceiveTakesNoLaterMessage) {
  Pair pair{GetParam()};
  const auto exchange = [](Pair& both) -> Task<> {
    CancelScope scope;
    scope.cancel(CancelReason::kRequested);
    const auto receive = [](Worker& worker) -> Task<Status> {
      const Memory into = Memory::allocate(8);
      co_return status_of(co_await tag_receive(worker, 1, kWholeTag, into));
    };
    const Status cancelled = co_await with_scope(scope, receive(*both.b));
    EXPECT_EQ(cancelled.code(), StatusCode::kCancelled);
    auto sent = co_await tag_send(both.to_b, 1, testing::text("later"));
    EXPECT_TRUE(sent.ok());
    const Memory into = Memory::allocate(8);
    auto received = co_await tag_receive(*both.b, 1, kWholeTag, into);
    EXPECT_TRUE(received.ok());
    EXPECT_EQ(both.b->operations_out(), 0U);
  };
  pair.run(exchange(pair));
}

TEST_P(UcxCancel, ASendOfBorrowedBytesWaitsForUcxAlthoughItIsCancelled) {
  Pair pair{GetParam()};
  const std::string bytes(kLarge, 'b');
  const auto send = [](Pair* both, std::string_view borrowed) -> Task<Status> {
    co_return status_of(co_await tag_send_sync(both->to_b, 1, Memory::unsafe_borrow(as_bytes(borrowed))));
  };
  const auto receive = [](Pair* both) -> Task<Status> {
    const Memory into = Memory::allocate(kLarge);
    co_return status_of(co_await tag_receive(*both->b, 1, kWholeTag, into));
  };
  CancelScope scope;
  std::optional<weft::testing::Started<Status>> sending;
  pair.loop->post([&] { sending.emplace(send(&pair, bytes), &scope); });
  pair.loop->run_once(Duration::zero());
  pair.loop->post([&] { scope.cancel(CancelReason::kRequested); });
  for (int i = 0; i < 3; ++i) pair.loop->run_once(Duration::zero());
  EXPECT_FALSE(sending->ended()) << "UCX reads them still";
  EXPECT_TRUE(pair.run(receive(&pair)).ok());
  pair.until([&] { return sending->ended(); });
  EXPECT_TRUE(sending->result().ok()) << "it was sent all the same";
  EXPECT_EQ(pair.a->operations_out(), 0U);
}

TEST_P(UcxCancel, RecordsAreBounded) {
  Pair pair{GetParam(), {.operations_max = 32}};
  std::vector<std::unique_ptr<weft::testing::Started<Status>>> receives;
  const auto receive = [](Worker& worker) -> Task<Status> {
    const Memory into = Memory::allocate(8);
    co_return status_of(co_await tag_receive(worker, 1, kWholeTag, into));
  };
  const auto work = [&]() {
    for (int i = 0; i < 33; ++i) {
      receives.push_back(std::make_unique<weft::testing::Started<Status>>(receive(*pair.a)));
    }
  };
  pair.loop->post([&] { work(); });
  pair.loop->run_once(Duration::zero());
  EXPECT_EQ(pair.a->operations_out(), 32U);
  ASSERT_TRUE(receives.back()->ended());
  EXPECT_EQ(receives.back()->result().code(), StatusCode::kResourceExhausted);
  receives.clear();
  pair.until([&] { return pair.a->operations_out() == 0; });
}

INSTANTIATE_TEST_SUITE_P(Ways, UcxCancel, ::testing::ValuesIn(testing::ways()), testing::way_name);

}  // namespace
}  // namespace weft::ucx
