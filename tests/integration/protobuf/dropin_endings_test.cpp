// SPDX-License-Identifier: Apache-2.0
// LG-1, LG-3: calls by protobuf's own stubs that end at awkward moments, and what may be used again when they
// have.
#include "integration/protobuf/dropin_testing.hpp"

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
