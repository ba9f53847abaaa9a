// SPDX-License-Identifier: Apache-2.0
// LG-1, LG-2, LG-3: services and stubs that protoc itself generates, unchanged.
#include "integration/protobuf/dropin_testing.hpp"

namespace weft::testing {

using namespace weft::detail;
namespace {

using ::testing::HasSubstr;

/// Passes what it gets on to another server, and its answer back.
class RelayImpl : public dropin::RelayService {
 public:
  explicit RelayImpl(google::protobuf::RpcChannel& next) : stub_(&next) {}
  void RelayEcho(RpcController* controller, const EchoRequest* request, EchoResponse* response,
                 Closure* done) override {
    auto* passed = new Passed{protobuf::Controller{*controller}, controller, done};
    stub_.Echo(&passed->nested, request, response, NewCallback(this, &RelayImpl::pass_on, passed));
  }
  Status last;

 private:
  struct Passed {
    protobuf::Controller nested;
    RpcController* controller;
    Closure* done;
  };
  void pass_on(Passed* passed) {
    const std::unique_ptr<Passed> owned{passed};
    last = passed->nested.status();
    if (passed->nested.Failed()) passed->controller->SetFailed(passed->nested.ErrorText());
    passed->done->Run();
  }
  EchoService_Stub stub_;
};

using ProtobufDropIn = DropInTest;
using ProtobufDropInTimeouts = DropInTest;

TEST_F(ProtobufDropIn, StubsAreAwaitedByCoroutines) {
  EXPECT_EQ(await(echo(&stub_, "hi")).value(), "hi");
}

TEST_F(ProtobufDropIn, StubsRunACallback) {
  const EchoRequest request = request_of("hi");
  EchoResponse response;
  protobuf::Controller controller;
  bool called = false;
  const auto note = [](bool* what) { *what = true; };
  stub_.Echo(&controller, &request, &response, NewCallback(+note, &called));
  EXPECT_TRUE(turn_until(loop(), [&] { return called; }));
  EXPECT_FALSE(controller.Failed()) << controller.ErrorText();
  EXPECT_EQ(response.text(), "hi");
}

TEST_F(ProtobufDropIn, StubsBlockOtherThreads) {
  std::atomic<int> good = 0;
  std::atomic<int> ended = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const EchoRequest request = request_of(std::to_string(i));
      for (int j = 0; j < 20; ++j) {
        EchoResponse response;
        protobuf::Controller controller;
        stub_.Echo(&controller, &request, &response, nullptr);
        good += !controller.Failed() && response.text() == request.text() ? 1 : 0;
      }
      ++ended;
    });
  }
  EXPECT_TRUE(turn_until(loop(), [&] { return ended == 4; }));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 80);
}

TEST_F(ProtobufDropIn, ABlockingCallOnTheLoopItselfFailsAndDoesNotHang) {
  protobuf::Controller controller;
  run_in_turn([&] {
    const EchoRequest request = request_of("hi");
    EchoResponse response;
    stub_.Echo(&controller, &request, &response, nullptr);
  });
  EXPECT_EQ(controller.status().code(), StatusCode::kFailedPrecondition);
}

// Nobody turns the loop meanwhile. What would begin the call finds that nobody waits, and touches nothing.
TEST_F(ProtobufDropIn, ABlockingCallWhoseLoopNobodyRunsEndsAtItsDeadline) {
  const int before = service_.calls;
  for (const bool by_timeout : {true, false}) {
    const auto request = std::make_unique<EchoRequest>(request_of("hi"));
    const auto response = std::make_unique<EchoResponse>();
    protobuf::Controller controller;
    if (by_timeout) controller.options().timeout = 20ms;
    if (!by_timeout) controller.options().deadline = Deadline::after(loop().now(), 20ms);
    stub_.Echo(&controller, request.get(), response.get(), nullptr);
    EXPECT_EQ(controller.status().code(), StatusCode::kDeadlineExceeded);
    EXPECT_THAT(controller.ErrorText(), HasSubstr("has to run the client's loop"));
  }
  EXPECT_EQ(await(echo(&stub_, "after")).value(), "after");
  EXPECT_EQ(service_.calls, before + 1);
}

TEST_F(ProtobufDropIn, AControllerOfTwoCallsAtATimeEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a child of fork does not drive its parent's loop
  const EchoRequest request = request_of("keep");
  EchoResponse response;
  const auto nothing = [] {};
  const auto call_twice = [&] {
    protobuf::Controller controller;
    run_in_turn([&] {
      stub_.Echo(&controller, &request, &response, NewCallback(+nothing));
      stub_.Echo(&controller, &request, &response, NewCallback(+nothing));
    });
  };
  EXPECT_DEATH(call_twice(), "of one call at a time");
  const auto let_go = [&] {
    protobuf::Controller controller;
    run_in_turn([&] { stub_.Echo(&controller, &request, &response, NewCallback(+nothing)); });
  };
  EXPECT_DEATH(let_go(), "stays until its call has ended");
}

/// A controller that is none of ours.
class ForeignController final : public RpcController {
 public:
  void Reset() override {}
  bool Failed() const override { return !text_.empty(); }
  std::string ErrorText() const override { return text_; }
  void StartCancel() override {}
  void SetFailed(const std::string& reason) override { text_ = reason; }
  bool IsCanceled() const override { return false; }
  void NotifyOnCancel(Closure*) override {}

 private:
  std::string text_;
};

TEST_F(ProtobufDropIn, AForeignControllerFailsItsCall) {
  const EchoRequest request = request_of("hi");
  EchoResponse response;
  bool called = false;
  const auto note = [](bool* what) { *what = true; };
  ForeignController controller;
  stub_.Echo(&controller, &request, &response, NewCallback(+note, &called));
  EXPECT_TRUE(called);
  EXPECT_THAT(controller.ErrorText(), HasSubstr("takes a weft::protobuf::Controller"));
  ForeignController of_a_thread;
  stub_.Echo(&of_a_thread, &request, &response, nullptr);
  EXPECT_TRUE(of_a_thread.Failed());
}

TEST_F(ProtobufDropIn, DoneMayBeRunLaterByAnotherThread) {
  EXPECT_EQ(await(echo(&stub_, "thread")).value(), "thread");
}

TEST_F(ProtobufDropIn, AServiceMayBlockOnAWorker) {
  EchoImpl service;
  Server& server = serve_here([&](Server& its) {
    protobuf::Services services{its};
    services.add(service, {.blocking = true});
  });
  protobuf::Channel channel{client(server)};
  EchoService_Stub stub{&channel};
  EXPECT_EQ(await(echo(&stub, "hi")).value(), "hi");
  EXPECT_THAT(await(echo(&stub, "fail")).status().message(), HasSubstr("as was asked"));
  EXPECT_THAT(await(echo(&stub, "throw")).status().message(), HasSubstr("thrown by a service"));
}

TEST_F(ProtobufDropIn, FailuresOfAServiceAreErrorText) {
  const EchoRequest request = request_of("fail");
  EchoResponse response;
  protobuf::Controller controller;
  EXPECT_FALSE(controller.Failed());
  EXPECT_EQ(controller.ErrorText(), "");
  const auto nothing = [] {};
  stub_.Echo(&controller, &request, &response, NewCallback(+nothing));
  EXPECT_TRUE(turn_until(loop(), [&] { return controller.Failed(); }));
  EXPECT_EQ(controller.ErrorText(), "as was asked");
  EXPECT_EQ(controller.status().code(), StatusCode::kUnknown);
  controller.Reset();
  EXPECT_FALSE(controller.Failed());
  const Result<std::string> refused = await(echo(&stub_, "refuse"));
  EXPECT_EQ(refused.status().native(), 7);
  EXPECT_EQ(refused.status().layer(), Layer::kUser);
}

TEST_F(ProtobufDropIn, AServiceThatThrowsFailsItsCallOnly) {
  EXPECT_THAT(await(echo(&stub_, "throw")).status().message(), HasSubstr("thrown by a service"));
  EXPECT_EQ(await(echo(&stub_, "hi")).value(), "hi");
  EXPECT_EQ(client_.stats().connections, 1u);
}

TEST_F(ProtobufDropIn, AMethodThatIsNotOverriddenSaysSo) {
  const EchoRequest request;
  EchoResponse response;
  protobuf::Controller controller;
  bool called = false;
  const auto note = [](bool* what) { *what = true; };
  stub_.Other(&controller, &request, &response, NewCallback(+note, &called));
  EXPECT_TRUE(turn_until(loop(), [&] { return called; }));
  EXPECT_THAT(controller.ErrorText(), HasSubstr("Other() not implemented"));
}

TEST_F(ProtobufDropIn, AnUnknownServiceAnswersAndDoesNotCrash) {
  protobuf::Channel channel{client_};
  dropin::RelayService_Stub stub{&channel};
  const EchoRequest request;
  EchoResponse response;
  protobuf::Controller controller;
  bool called = false;
  const auto note = [](bool* what) { *what = true; };
  stub.RelayEcho(&controller, &request, &response, NewCallback(+note, &called));
  EXPECT_TRUE(turn_until(loop(), [&] { return called; }));
  EXPECT_EQ(controller.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(controller.ErrorText(), HasSubstr("weft.dropin.RelayService/RelayEcho"));
}

TEST_F(ProtobufDropIn, AttachmentsTravelBesideTheMessages) {
  const std::vector<std::byte> bytes = pattern(50'000);
  const EchoRequest request = request_of("with");
  EchoResponse response;
  protobuf::Controller controller;
  controller.options().attachment = Bytes{bytes};
  bool called = false;
  const auto note = [](bool* what) { *what = true; };
  stub_.Echo(&controller, &request, &response, NewCallback(+note, &called));
  EXPECT_TRUE(turn_until(loop(), [&] { return called; }));
  EXPECT_TRUE(std::ranges::equal(controller.take_answer_attachment().bytes(), bytes));
}

TEST_F(ProtobufDropIn, ServicesTalkToGeneratedStubsOfOurs) {
  // The same names on the wire: a coroutine's stub calls what protoc's service serves.
  constexpr MethodKey kEcho = protobuf::make_method("weft.dropin.EchoService/Echo", "weft.dropin.EchoRequest",
                                                    "weft.dropin.EchoResponse");
  const EchoRequest request = request_of("either way");
  protobuf::UnaryCall<const EchoRequest&, EchoResponse> call{client_, kEcho, {}, request};
  EXPECT_EQ(await(std::move(call)).value().text(), "either way");
}

TEST_F(ProtobufDropInTimeouts, StartCancelEndsTheCallAndTellsTheService) {
  const EchoRequest request = request_of("keep");
  EchoResponse response;
  protobuf::Controller controller;
  bool called = false;
  const auto note = [](bool* what) { *what = true; };
  stub_.Echo(&controller, &request, &response, NewCallback(+note, &called));
  ASSERT_TRUE(await(service_.arrived.wait()).ok());
  std::thread{[&] { controller.StartCancel(); }}.join();
  EXPECT_TRUE(turn_until(loop(), [&] { return called; }));
  EXPECT_EQ(controller.status().code(), StatusCode::kCancelled);
  ASSERT_TRUE(await(service_.cancelled.wait()).ok());
  EXPECT_TRUE(service_.was_cancelled);
  EXPECT_EQ(service_.cancels_heard, 1);
}

TEST_F(ProtobufDropInTimeouts, StartCancelBeforeTheCallKeepsItFromBeingMade) {
  const EchoRequest request = request_of("hi");
  EchoResponse response;
  protobuf::Controller controller;
  controller.StartCancel();
  bool called = false;
  const auto note = [](bool* what) { *what = true; };
  stub_.Echo(&controller, &request, &response, NewCallback(+note, &called));
  EXPECT_TRUE(turn_until(loop(), [&] { return called; }));
  EXPECT_EQ(controller.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(service_.calls, 0);
}

TEST_F(ProtobufDropInTimeouts, NotifyOnCancelIsRunAtTheEndWhenNobodyCancels) {
  auto call = echo(&stub_, "keep");
  const auto finish = [](EchoImpl* service) -> Task<void> {
    const Result<void> arrived = co_await service->arrived.wait();
    EXPECT_TRUE(arrived.ok());
    std::exchange(service->kept, nullptr)->Run();
  };
  auto both = when_all(std::move(call), finish(&service_));
  const auto results = await(std::move(both));
  EXPECT_EQ(std::get<0>(results).value(), "keep");
  EXPECT_EQ(service_.cancels_heard, 1);
}

TEST_F(ProtobufDropInTimeouts, TimeoutsEndTheCall) {
  EXPECT_EQ(await(echo(&stub_, "keep", 20ms)).status().code(), StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(await(service_.cancelled.wait()).ok());
}

TEST_F(ProtobufDropInTimeouts, ACancelledCoroutineCancelsItsCall) {
  const auto outcome = await(race(echo(&stub_, "keep"), sleep_for(20ms)));
  EXPECT_EQ(outcome.index, 1u);
  ASSERT_TRUE(await(service_.cancelled.wait()).ok());
}

TEST_F(ProtobufDropInTimeouts, ADroppedCoroutineEndsItsCall) {
  {
    Task<Result<std::string>> call = echo(&stub_, "keep");
    struct Nobody : detail::Completion {
    } nobody{{[](detail::Completion&, detail::TaskPromiseBase&) noexcept {}}};
    run_in_turn([&] { detail::start(call, nullptr, nobody); });
    ASSERT_TRUE(await(service_.arrived.wait()).ok());
  }
  ASSERT_TRUE(await(service_.cancelled.wait()).ok());
}

class ProtobufRelay : public DropInTest {
 protected:
  RelayImpl relay_{channel_};
  Server& relay_server_ = serve_services(relay_);
  protobuf::Channel to_relay_{client(relay_server_)};
  dropin::RelayService_Stub relay_stub_{&to_relay_};
  const EchoRequest keep_ = request_of("keep");
  EchoResponse response_;
};

Task<Result<std::string>> relay_echo(dropin::RelayService_Stub* stub, std::string text) {
  const EchoRequest request = request_of(std::move(text));
  EchoResponse response;
  protobuf::Controller controller;
  protobuf::Finished finished{controller};
  stub->RelayEcho(&controller, &request, &response, &finished);
  const Result<void> outcome = co_await finished;
  if (!outcome.ok()) co_return outcome.status();
  co_return response.text();
}

TEST_F(ProtobufRelay, AHandlerCallsOnAndAnswersWithWhatItHeard) {
  EXPECT_EQ(await(relay_echo(&relay_stub_, "relayed")).value(), "relayed");
  EXPECT_THAT(await(relay_echo(&relay_stub_, "fail")).status().message(), HasSubstr("as was asked"));
}

TEST_F(ProtobufRelay, DeadlinesPassThroughTheNestedCall) {
  protobuf::Controller controller;
  controller.options().timeout = 50ms;
  bool called = false;
  const auto note = [](bool* what) { *what = true; };
  relay_stub_.RelayEcho(&controller, &keep_, &response_, NewCallback(+note, &called));
  EXPECT_TRUE(turn_until(loop(), [&] { return called; }));
  EXPECT_EQ(controller.status().code(), StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(await(service_.cancelled.wait()).ok());
  EXPECT_FALSE(service_.deadline.is_infinite());
}

TEST_F(ProtobufRelay, MetadataPassesThroughTheNestedCall) {
  const EchoRequest request = request_of("hi");
  const Metadata blue = metadata_of("blue");
  protobuf::Controller controller;
  controller.options().metadata = blue;
  bool called = false;
  const auto note = [](bool* what) { *what = true; };
  relay_stub_.RelayEcho(&controller, &request, &response_, NewCallback(+note, &called));
  EXPECT_TRUE(turn_until(loop(), [&] { return called; }));
  EXPECT_FALSE(controller.Failed()) << controller.ErrorText();
  EXPECT_EQ(service_.tenant, "blue");
}

TEST_F(ProtobufRelay, CancelsPassThroughTheNestedCall) {
  protobuf::Controller controller;
  bool called = false;
  const auto note = [](bool* what) { *what = true; };
  relay_stub_.RelayEcho(&controller, &keep_, &response_, NewCallback(+note, &called));
  ASSERT_TRUE(await(service_.arrived.wait()).ok());
  controller.StartCancel();
  EXPECT_TRUE(turn_until(loop(), [&] { return called; }));
  ASSERT_TRUE(await(service_.cancelled.wait()).ok());
  EXPECT_TRUE(turn_until(loop(), [&] { return !relay_.last.ok(); }));
  EXPECT_EQ(relay_.last.code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace weft::testing
