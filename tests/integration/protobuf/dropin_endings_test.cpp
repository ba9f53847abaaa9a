// SPDX-License-Identifier: Apache-2.0
// LG-1, LG-3: calls by protobuf's own stubs that end at awkward moments, and what may be used again when they
// have.
#include <poll.h>

#include <latch>

#include "integration/protobuf/dropin_testing.hpp"
#include "support/sanitizers.hpp"

namespace weft::testing {
namespace {

using ::testing::HasSubstr;

using ProtobufDropInEndings = DropInTest;
using ProtobufDropInDrops = DropInTest;

/// Makes its call again and again with one controller, from what it hears of the end of each.
struct Repeater {
  EchoService_Stub* stub;
  EchoRequest request = request_of("again");
  EchoResponse response{};
  protobuf::Controller controller{};
  int left = 5;
  int good = 0;

  void call() { stub->Echo(&controller, &request, &response, NewCallback(this, &Repeater::ended)); }
  void ended() {
    good += controller.Failed() ? 0 : 1;
    controller.Reset();
    if (--left > 0) call();
  }
};

TEST_F(ProtobufDropInEndings, AControllerIsFreeForItsNextCallWhenDoneHears) {
  Repeater repeater{&stub_};
  repeater.call();
  EXPECT_TRUE(turn_until(loop(), [&] { return repeater.left == 0; }));
  EXPECT_EQ(repeater.good, 5);
}

/// Makes its call again, from the end of each, until a timer fires.
struct EndlessRepeater {
  EchoService_Stub* stub;
  EchoRequest request = request_of("again");
  EchoResponse response{};
  protobuf::Controller controller{};
  bool fired = false;
  bool calls = false;
  bool waits = false;
  int left = 2'000'000;

  void call() {
    calls = waits = true;
    stub->Echo(&controller, &request, &response, NewCallback(this, &EndlessRepeater::ended));
    calls = false;
  }
  void ended() {
    waits = false;
    EXPECT_FALSE(calls) << "the end was told inside the function that made the call";
    EXPECT_TRUE(controller.Failed());
    controller.Reset();
    if (--left > 0 && !fired) call();
  }
  static Task<void> tick(EndlessRepeater* repeater) {
    (void)co_await sleep_for(std::chrono::milliseconds{1});
    repeater->fired = true;
  }
};

TEST_F(ProtobufDropInEndings, ACallbackRepeatsACallThatFailsAtOnceBesideATimer) {
  client_.close();
  EndlessRepeater repeater{&stub_};
  Scope scope;
  loop().post([&] { scope.spawn(&EndlessRepeater::tick, &repeater); });
  repeater.call();
  EXPECT_TRUE(turn_until(loop(), [&] { return repeater.fired || repeater.left == 0; }));
  EXPECT_GT(repeater.left, 0);
  EXPECT_TRUE(turn_until(loop(), [&] { return !repeater.waits && scope.count() == 0; }));
}

TEST_F(ProtobufDropInEndings, ACoroutineRepeatsACallThatFailsAtOnceBesideATimer) {
  client_.close();
  EndlessRepeater repeater{&stub_};
  Scope scope;
  loop().post([&] { scope.spawn(&EndlessRepeater::tick, &repeater); });
  const auto repeat = [&]() -> Task<void> {
    for (; repeater.left > 0 && !repeater.fired; --repeater.left) {
      repeater.controller.Reset();
      protobuf::Finished finished{repeater.controller};
      repeater.stub->Echo(&repeater.controller, &repeater.request, &repeater.response, &finished);
      const Result<void> outcome = co_await finished;
      EXPECT_FALSE(outcome.ok());
    }
  };
  loop().block_on(repeat());
  EXPECT_GT(repeater.left, 0);
  loop().block_on(scope.join());
}

TEST_F(ProtobufDropInEndings, AControllerIsFreeForItsNextCallAfterABlockingOne) {
  constexpr int kCalls = 2000;
  int good = 0;
  std::atomic<bool> ended = false;
  std::thread caller{[&] {
    protobuf::Controller controller;
    const EchoRequest request = request_of("blocks");
    EchoResponse response;
    for (int i = 0; i < kCalls; ++i) {
      stub_.Echo(&controller, &request, &response, nullptr);
      good += controller.Failed() ? 0 : 1;
      controller.Reset();
    }
    ended = true;
  }};
  EXPECT_TRUE(turn_until(loop(), [&] { return ended.load(); }));
  caller.join();
  EXPECT_EQ(good, kCalls);
}

TEST_F(ProtobufDropInEndings, AServiceThatThrowsWhenItIsDoneHasAnswered) {
  EXPECT_EQ(await(echo(&stub_, "done then throw")).value(), "done then throw");
  EXPECT_EQ(await(echo(&stub_, "hi")).value(), "hi");
}

TEST_F(ProtobufDropInEndings, CallsThatAreNotBegunWhenTheirChannelEndsFail) {
  auto channel = std::make_unique<protobuf::Channel>(client_);
  const EchoRequest request = request_of("hi");
  EchoResponse response;
  protobuf::Controller controller;
  bool called = false;
  const auto note = [](bool* what) { *what = true; };
  std::thread{[&] {
    EchoService_Stub stub{channel.get()};
    stub.Echo(&controller, &request, &response, NewCallback(+note, &called));
  }}.join();
  channel.reset();
  EXPECT_TRUE(turn_until(loop(), [&] { return called; }));
  EXPECT_EQ(controller.status().code(), StatusCode::kCancelled);
  EXPECT_THAT(controller.ErrorText(), HasSubstr("the channel ended"));
  EXPECT_EQ(service_.calls, 0);
}

/// A message in memory of its own, so that its end is one that the address sanitizer sees.
std::unique_ptr<EchoRequest> heap_request(const std::string& text) {
  return std::make_unique<EchoRequest>(request_of(text));
}

TEST_F(ProtobufDropInEndings, ARequestMayEndWhenTheCallReturnedOnAnyThread) {
  const std::string text(100'000, 't');
  bool first_done = false;
  bool second_done = false;
  bool third_done = false;
  const auto note = [](bool* what) { *what = true; };
  EchoResponse first_response, second_response, third_response;
  protobuf::Controller first, second, third;
  auto request = heap_request(text + "1");
  run_in_turn([&] { stub_.Echo(&first, request.get(), &first_response, NewCallback(+note, &first_done)); });
  request = nullptr;  // the client has no connection yet, so that the call waits
  EXPECT_EQ(client_.stats().calls_waiting, 1u);
  EXPECT_TRUE(turn_until(loop(), [&] { return first_done; }));
  EXPECT_EQ(first_response.text(), text + "1");

  request = heap_request(text + "2");
  run_in_turn(
      [&] { stub_.Echo(&second, request.get(), &second_response, NewCallback(+note, &second_done)); });
  request = nullptr;
  EXPECT_TRUE(turn_until(loop(), [&] { return second_done; }));
  EXPECT_EQ(second_response.text(), text + "2");

  std::thread{[&] {
    const auto own = heap_request(text + "3");
    stub_.Echo(&third, own.get(), &third_response, NewCallback(+note, &third_done));
  }}.join();
  EXPECT_TRUE(turn_until(loop(), [&] { return third_done; }));
  EXPECT_EQ(third_response.text(), text + "3");
}

TEST_F(ProtobufDropInEndings, AThreadThatWaitsGoesOnWhenTheChannelEnds) {
  auto channel = std::make_unique<protobuf::Channel>(client_);
  protobuf::Controller controller;
  controller.options().timeout = kNoTimeout;
  std::thread caller{[&] {
    EchoService_Stub stub{channel.get()};
    const EchoRequest request = request_of("keep");
    EchoResponse response;
    stub.Echo(&controller, &request, &response, nullptr);
  }};
  EXPECT_TRUE(await(service_.arrived.wait()).ok());
  channel.reset();
  caller.join();
  EXPECT_EQ(controller.status().code(), StatusCode::kCancelled);
  EXPECT_THAT(controller.ErrorText(), HasSubstr("the channel ended"));
  EXPECT_TRUE(await(service_.cancelled.wait()).ok()) << "the server is told";
  EXPECT_EQ(await(echo(&stub_, "hi")).value(), "hi");
}

void end_a_channel_on_another_thread() {
  const auto thread = LoopThread::start().value();
  Client client{thread->loop(), {.connect = "tcp://127.0.0.1:1"}};
  auto channel = std::make_unique<protobuf::Channel>(client);
  std::latch begun{1};
  thread->loop().post([&] { begun.count_down(); });
  begun.wait();
  channel.reset();
}

TEST(ProtobufChannelDeathTest, AnEndOnAnotherThreadThanTheLoopsEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(end_a_channel_on_another_thread(), "destroyed while another thread runs its loop");
}

TEST(ProtobufBlockingCalls, EndWithALoopThatNobodyRunsAnyMore) {
#if WEFT_THREAD_SANITIZER
  // It does not see that whoever finds a descriptor readable comes after the write that made it so.
  GTEST_SKIP() << "the loop ends behind a write that poll() has shown";
#endif
  auto loop = Loop::create().value();
  auto client = std::make_unique<Client>(*loop, ClientOptions{.connect = "tcp://127.0.0.1:1"});
  auto channel = std::make_unique<protobuf::Channel>(*client);
  protobuf::Controller controller;
  controller.options().timeout = kNoTimeout;
  pollfd posted{loop->descriptor(), POLLIN, 0};  // when it can be read, the call was posted
  loop->run_until_idle();
  ASSERT_EQ(::poll(&posted, 1, 0), 0);
  std::thread caller{[&controller, channel = channel.get()] {
    EchoService_Stub stub{channel};
    const EchoRequest request = request_of("never");
    EchoResponse response;
    stub.Echo(&controller, &request, &response, nullptr);
  }};
  EXPECT_EQ(::poll(&posted, 1, 10'000), 1);
  channel.reset();
  client.reset();
  loop.reset();
  caller.join();
  EXPECT_EQ(controller.status().code(), StatusCode::kCancelled);
  EXPECT_THAT(controller.ErrorText(), HasSubstr("loop ended"));
}

TEST_F(ProtobufDropInEndings, AFailuresTextHasNoEscapesAndNoEnd) {
  const Status failure = await(echo(&stub_, "fail with \x1b[31m\nred\xc2\x9b")).status();
  EXPECT_EQ(failure.code(), StatusCode::kUnknown);
  EXPECT_EQ(failure.message(), "?[31m?red?");
  const Status longer = await(echo(&stub_, "fail with " + std::string(100'000, 'x'))).status();
  EXPECT_EQ(longer.message().size(), 4096u);
  EXPECT_TRUE(longer.message().starts_with("xx") && longer.message().ends_with("xx"));
  EXPECT_THAT(std::string{longer.message()}, HasSubstr("x ... x"));
}

/// Leaves its controller to somebody else, who may cancel while it is gone.
Task<void> keep(EchoService_Stub* stub, protobuf::Controller* controller) {
  const EchoRequest request = request_of("keep");
  EchoResponse response;
  protobuf::Finished finished{*controller};
  stub->Echo(controller, &request, &response, &finished);
  const Result<void> outcome = co_await finished;
  ADD_FAILURE() << "it was dropped, and heard " << outcome.status().to_string();
}

// Three at once: the answer is on its way, another thread cancels, and the coroutine that holds the messages
// is gone before either is seen.
TEST_F(ProtobufDropInDrops, ADroppedCallTouchesNothingThatItsCoroutineOwned) {
  protobuf::Controller controller;
  struct Nobody : detail::Completion {
    Nobody() : Completion{[](detail::Completion&, detail::TaskPromiseBase&) noexcept {}} {}
  } nobody;
  std::optional<Task<void>> call{keep(&stub_, &controller)};
  run_in_turn([&] { detail::start(*call, nullptr, nobody); });
  ASSERT_TRUE(await(service_.arrived.wait()).ok());
  run_in_turn([&] { std::exchange(service_.kept, nullptr)->Run(); });
  run_in_turn([&] {
    std::thread{[&] { controller.StartCancel(); }}.join();
    call.reset();
  });
  EXPECT_EQ(await(echo(&stub_, "hi")).value(), "hi")
      << "the connection lives, and everything before it is over";
  controller.Reset();
}

}  // namespace
}  // namespace weft::testing
