// SPDX-License-Identifier: Apache-2.0
// LG-2: what a call of a service costs in coroutines and allocations, counted and not timed.
#include "dropin.pb.h"
#include "integration/protobuf/services_testing.hpp"
#include "support/counting_clock.hpp"
#include "support/heap_count.hpp"
#include "support/steady_calls.hpp"
#include "weft/detail/protobuf/channel.hpp"

namespace weft::testing {

using namespace weft::detail;
namespace {

/// Counts what is alive while a call is served.
class CountingEcho : public test::EchoServer {
 public:
  Task<Result<void>> Say(CallContext&, const test::EchoRequest& request,
                         test::EchoResponse& response) override {
    alive_while_served = frames_alive();
    response.set_text(request.text());
    co_return Result<void>{};
  }
  Task<Result<void>> Grow(CallContext&, const test::Tree&, test::Tree&) override {
    const Result<void> slept = co_await sleep_for(Duration{1});
    co_return slept;
  }
  std::int64_t alive_while_served = 0;
};

class Shop : public test::ShopServer {
 public:
  Task<Result<void>> Buy(CallContext&, const test::Order& order, test::Receipt& receipt) override {
    receipt.set_number(order.id());
    co_return Result<void>{};
  }
};

class CountingDropIn : public dropin::EchoService {
 public:
  void Echo(google::protobuf::RpcController*, const dropin::EchoRequest* request,
            dropin::EchoResponse* response, google::protobuf::Closure* done) override {
    alive_while_served = frames_alive();
    response->set_text(request->text());
    done->Run();
  }
  std::int64_t alive_while_served = 0;
};

struct Frames {
  std::int64_t before = 0;
  std::int64_t while_served = 0;
  std::int64_t after = 0;
};

Task<Frames> count_frames(test::EchoStub* stub, CountingEcho* echo) {
  const test::EchoRequest request = echo_request("counted");
  Frames frames{frames_alive(), 0, 0};
  const Result<test::EchoResponse> answer = co_await stub->Say(request);
  EXPECT_TRUE(answer.ok());
  frames.while_served = echo->alive_while_served;
  frames.after = frames_alive();
  co_return frames;
}

Task<Frames> count_drop_in_frames(dropin::EchoService_Stub* stub, CountingDropIn* echo) {
  dropin::EchoRequest request;
  dropin::EchoResponse response;
  Frames frames{frames_alive(), 0, 0};
  protobuf::Controller controller;
  protobuf::Finished finished{controller};
  stub->Echo(&controller, &request, &response, &finished);
  const Result<void> outcome = co_await finished;
  EXPECT_TRUE(outcome.ok());
  frames.while_served = echo->alive_while_served;
  frames.after = frames_alive();
  co_return frames;
}

using Count = SteadyCalls<heap_allocations>;

Task<void> say_again_and_again(test::EchoStub* stub, Count* count) {
  const test::EchoRequest request = echo_request(std::string(120, 'x'));
  test::EchoResponse response;
  while (count->more()) {
    const Result<void> outcome = co_await stub->Say(request).into(response);
    count->end_one(outcome.ok() && response.text() == request.text());
  }
}

/// Messages that need no memory of their own.
Task<void> buy_again_and_again(test::ShopFleetStub stub, Count* count) {
  test::Order order;
  order.set_id(7);
  test::Receipt receipt;
  while (count->more()) {
    const Result<void> outcome = co_await stub.Buy(order).into(receipt);
    count->end_one(outcome.ok() && receipt.number() == order.id());
  }
}

Task<void> grow_again_and_again(test::EchoStub* stub, Count* count) {
  const test::Tree request;
  test::Tree response;
  while (count->more()) {
    const Result<void> outcome = co_await stub->Grow(request).into(response);
    count->end_one(outcome.ok());
  }
}

/// Stands before what runs on it.
struct OnCountingClock {
  CountingClock clock;
};

class ProtobufCounts : private OnCountingClock, public ProtobufTest {
 protected:
  ProtobufCounts() : ProtobufTest({.clock = &clock}) {}
  /// Made before anything is counted: the connection and its session.
  void connected() { ASSERT_TRUE(connect(client_).ok()); }
  template <typename Caller>
  void expect_no_allocations(std::size_t in_flight, Caller caller) {
    if (!kHeapIsCounted || weft::detail::kFramePoolBypassed) {
      GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
    }
    Count count;
    std::vector<Task<void>> callers;
    for (std::size_t i = 0; i < in_flight; ++i) callers.push_back(caller(&stub_, &count));
    loop().block_on(when_all(std::move(callers)));
    EXPECT_EQ(count.failed(), 0u);
    EXPECT_EQ(count.growth(0), 0u);
  }

  CountingEcho echo_;
  CountingDropIn drop_in_;
  Shop shop_;
  Client& client_ = client(serve_services(echo_, drop_in_, shop_));
  test::EchoStub stub_{client_};
};

TEST_F(ProtobufCounts, OneCoroutineServesACallAndNoneIsMadeForTheCaller) {
  connected();
  const Frames frames = await(count_frames(&stub_, &echo_));
  // From the pool besides: the record of the call.
  EXPECT_EQ(frames.while_served - frames.before, 1 + 1);
  EXPECT_EQ(frames.after, frames.before) << "a frame was not freed";
}

TEST_F(ProtobufCounts, ACallOverAFleetTakesNoMemoryButThatOfItsAnswer) {
  if (!kHeapIsCounted || weft::detail::kFramePoolBypassed) {
    GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
  }
  FleetOptions options;
  options.name = "static:" + serve_services(shop_).urls().front();
  FleetClient fleet{loop(), std::move(options)};
  Count count;
  await(buy_again_and_again(test::ShopFleetStub{fleet}, &count));
  EXPECT_EQ(count.failed(), 0u);
  EXPECT_EQ(count.growth(0), 0u);
}

TEST_F(ProtobufCounts, NoCoroutineServesACallOfProtobufsOwnService) {
  connected();
  protobuf::Channel channel{client_};
  dropin::EchoService_Stub stub{&channel};
  const Frames frames = await(count_drop_in_frames(&stub, &drop_in_));
  EXPECT_EQ(frames.while_served - frames.before, 1) << "the record of the call";
  EXPECT_EQ(frames.after, frames.before);
}

TEST_F(ProtobufCounts, FramesOfCallsThatEndBadlyAreFreedToo) {
  connected();
  const std::int64_t before = frames_alive();
  const auto give_up = [](test::EchoStub* stub) -> Task<void> {
    CallOptions options;
    for (int i = 0; i < 10; ++i) {
      options.timeout = Duration{1};
      const test::Tree tree;
      const Result<test::Tree> late = co_await stub->Grow(options, tree);
      EXPECT_FALSE(late.ok());
    }
  };
  loop().block_on(give_up(&stub_));
  EXPECT_TRUE(turn_until(loop(), [&] { return frames_alive() == before; }));
}

TEST_F(ProtobufCounts, CallsAllocateNothing) {
  expect_no_allocations(256, say_again_and_again);
}
TEST_F(ProtobufCounts, OneCallAtATimeAllocatesNothing) {
  expect_no_allocations(1, say_again_and_again);
}
// Each is small. Their shapes differ, and a cleared message keeps the room of all of them.
TEST_F(ProtobufCounts, SmallMessagesOfManyShapesDoNotPileUpInWhatIsKept) {
  connected();
  const auto grow_all_over = [](test::ShopStub* shop) -> Task<void> {
    test::Order order;
    order.set_id(1);
    test::Receipt receipt;
    for (int number = 0; number < 700; ++number) {
      order.add_parts()->set_name("");
      order.mutable_parts()->rbegin()->set_name(std::string(1000, 'x'));
      const Result<void> outcome = co_await shop->Buy(order).into(receipt);
      EXPECT_TRUE(outcome.ok());
      order.mutable_parts()->rbegin()->set_name("");
    }
  };
  test::ShopStub shop{client_};
  const std::size_t before = heap_bytes();
  loop().block_on(grow_all_over(&shop));
  if (kHeapIsCounted) {
    EXPECT_LT(heap_bytes(), before + 256 * 1024);
  }
}

TEST_F(ProtobufCounts, CallsWhoseHandlersSuspendAllocateNothing) {
  expect_no_allocations(200, grow_again_and_again);
}

}  // namespace
}  // namespace weft::testing
