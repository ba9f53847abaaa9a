// SPDX-License-Identifier: Apache-2.0
// LG-1, LG-2, LG-3: services of protobuf, called and served by coroutines.
#include <google/protobuf/arena.h>

#include "integration/protobuf/services_testing.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/runtime/sleep.hpp"

namespace weft::testing {

using namespace weft::detail;
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using ProtobufServices = ProtobufTest;
using ProtobufCoroutines = ProtobufTest;
using ProtobufDeadlines = ProtobufTest;
using ProtobufMetadata = ProtobufTest;

TEST_F(ProtobufServices, AnswerWhatTheirMethodFillsIn) {
  Echo echo;
  Server& server = serve_services(echo);
  test::EchoStub stub{client(server)};
  const Result<test::EchoResponse> answer = await(stub.Say(echo_request("hi", 2)));
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->text(), "hi");
  EXPECT_EQ(answer->copies_size(), 2);
  EXPECT_EQ(answer->copies(1), "hi");
}

TEST_F(ProtobufServices, TakeRequestsThatTheCallerKeepsAndThoseItGivesAway) {
  Echo echo;
  Server& server = serve_services(echo);
  test::EchoStub stub{client(server)};
  const test::EchoRequest kept = echo_request("kept");
  EXPECT_EQ(await(stub.Say(kept)).value().text(), "kept");
  auto given_away = stub.Say(echo_request("given away"));
  EXPECT_EQ(await(std::move(given_away)).value().text(), "given away");
}

TEST_F(ProtobufServices, ReadAnswersIntoMessagesOfTheCaller) {
  Echo echo;
  Server& server = serve_services(echo);
  test::EchoStub stub{client(server)};
  google::protobuf::Arena arena;
  auto* response = google::protobuf::Arena::CreateMessage<test::EchoResponse>(&arena);
  response->set_text("old");
  const Result<void> outcome = await(stub.Say(echo_request("new", 1)).into(*response));
  ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
  EXPECT_EQ(response->text(), "new");
  EXPECT_EQ(response->copies_size(), 1);
  EXPECT_EQ(response->GetArena(), &arena);
}

TEST_F(ProtobufServices, CarryAttachmentsBesideTheirMessages) {
  Echo echo;
  Server& server = serve_services(echo);
  test::EchoStub stub{client(server)};
  const std::vector<std::byte> bytes = pattern(100'000);
  CallOptions options;
  options.attachment = Bytes{bytes};
  const Result<Answer<test::EchoResponse>> answer =
      await(stub.Say(options, echo_request("beside")).with_attachment());
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->value.text(), "beside");
  EXPECT_TRUE(std::ranges::equal(answer->attachment.bytes(), bytes));
}

TEST_F(ProtobufServices, LandAttachmentsWhereTheCallerSays) {
  Echo echo;
  Server& server = serve_services(echo);
  test::EchoStub stub{client(server)};
  const std::vector<std::byte> bytes = pattern(5000);
  std::vector<std::byte> landing(5000);
  CallOptions options;
  options.attachment = Bytes{bytes};
  options.landing = landing;
  test::EchoResponse response;
  const Result<Answer<void>> answer =
      await(stub.Say(options, echo_request("lands")).into(response).with_attachment());
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->attachment_bytes, 5000u);
  EXPECT_EQ(landing, bytes);
}

TEST_F(ProtobufServices, StandBesideEachOtherAndBesideFunctionsOnOneServer) {
  Echo first;
  Server& there = serve_services(first);
  Echo echo;
  Relay relay{client(there)};
  Server& server = serve_here([&](Server& its) {
    protobuf::Services services{its};
    services.add(echo);
    services.add(relay);
    its.register_handler("plain", [](int number) { return number + 1; });
  });
  Client& caller = client(server);
  test::EchoStub echo_stub{caller};
  test::RelayStub relay_stub{caller};
  EXPECT_EQ(await(echo_stub.Say(echo_request("one"))).value().text(), "one");
  EXPECT_EQ(await(relay_stub.Pass(echo_request("two"))).value().text(), "two");
  EXPECT_EQ((await(caller.call<remote<"plain", int(int)>>(1)).value()), 2);
  EXPECT_EQ(echo.calls, 1);
  EXPECT_EQ(first.calls, 1);
}

TEST_F(ProtobufServices, ThatAreRegisteredTwiceAreRefused) {
  Echo one;
  Echo other;
  Server server{{.listen = {kAnyPort}}};
  protobuf::Services services{server};
  services.add(one);
  services.add(other);
  const Result<void> started = server.start();
  EXPECT_EQ(started.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(started.status().message(),
              AllOf(HasSubstr("weft.test.Echo/Say"), HasSubstr("registered already")));
}

TEST_F(ProtobufServices, AreCoroutinesAndThereforeNotBlocking) {
  Echo echo;
  Server server{{.listen = {kAnyPort}}};
  protobuf::Services services{server};
  services.add(echo, {.blocking = true});
  EXPECT_EQ(server.start().status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ProtobufServices, HaveIdsOfTheirFullNames) {
  constexpr MethodKey kMethod = protobuf::make_method("weft.test.Echo/Say", "a.B", "c.D");
  EXPECT_EQ(kMethod.id, detail::hash_name("weft.test.Echo/Say"));
  EXPECT_EQ(kMethod.schema_text(kMethod), "protobuf a.B -> c.D");
  EXPECT_NE(kMethod.schema, protobuf::make_method("weft.test.Echo/Say", "c.D", "a.B").schema);
}

/// Fails as its request says.
class Failing : public Echo {
 public:
  Task<Result<void>> Say(CallContext& context, const test::EchoRequest& request,
                         test::EchoResponse& response) override {
    response.set_text("never seen");
    if (request.text() == "throw") throw std::runtime_error("thrown in the coroutine");
    if (request.text() == "sleep") {
      deadline = context.deadline();
      const Result<void> slept = co_await sleep_for(1h);
      ended_by = slept.status();
      saw_cancel = context.cancelled();
      ended.set();
      co_return slept;
    }
    co_return user_error(42, "no such luck");
  }
  // No coroutine at all: it throws before there is a task.
  Task<Result<void>> Grow(CallContext&, const test::Tree&, test::Tree&) override {
    throw std::runtime_error("thrown before the coroutine");
  }

  Event ended;
  Status ended_by;
  bool saw_cancel = false;
};

TEST_F(ProtobufCoroutines, GiveTheirFailuresAsTheyAre) {
  Failing failing;
  test::EchoStub stub{client(serve_services(failing))};
  const Result<test::EchoResponse> answer = await(stub.Say(echo_request("")));
  EXPECT_EQ(answer.status().layer(), Layer::kUser);
  EXPECT_EQ(answer.status().native(), 42);
  EXPECT_EQ(answer.status().message(), "no such luck");
}

TEST_F(ProtobufCoroutines, ThatThrowFailTheirCallOnly) {
  Failing failing;
  Client& its = client(serve_services(failing));
  test::EchoStub stub{its};
  const Result<test::EchoResponse> inside = await(stub.Say(echo_request("throw")));
  EXPECT_THAT(inside.status().message(), HasSubstr("thrown in the coroutine"));
  const Result<test::Tree> before = await(stub.Grow(test::Tree{}));
  EXPECT_THAT(before.status().message(), HasSubstr("thrown before the coroutine"));
  EXPECT_EQ(its.stats().connections, 1u);
}

TEST_F(ProtobufDeadlines, EndTheCallAndReachTheHandler) {
  Failing failing;
  test::EchoStub stub{client(serve_services(failing))};
  CallOptions options;
  options.timeout = 20ms;
  const Result<test::EchoResponse> answer = await(stub.Say(options, echo_request("sleep")));
  EXPECT_EQ(answer.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(await(failing.ended.wait()).ok());
  EXPECT_TRUE(failing.saw_cancel);
}

TEST_F(ProtobufDeadlines, PassThroughNestedCalls) {
  Failing failing;
  Server& there = serve_services(failing);
  Relay relay{client(there)};
  test::RelayStub stub{client(serve_services(relay))};
  CallOptions options;
  options.timeout = 30ms;
  const Result<test::EchoResponse> answer = await(stub.Pass(options, echo_request("sleep")));
  EXPECT_EQ(answer.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(await(failing.ended.wait()).ok());
  EXPECT_FALSE(failing.deadline.is_infinite()) << "the innermost handler knows when it is too late";
  EXPECT_FALSE(failing.ended_by.ok());
}

TEST_F(ProtobufMetadata, PassesThroughNestedCalls) {
  Echo echo;
  Server& there = serve_services(echo);
  Relay relay{client(there)};
  test::RelayStub stub{client(serve_services(relay))};
  const Metadata blue = metadata_of("blue");
  CallOptions options;
  options.metadata = blue;
  ASSERT_TRUE(await(stub.Pass(options, echo_request("hi"))).ok());
  EXPECT_EQ(echo.tenant, "blue");
  ASSERT_TRUE(await(stub.Pass(echo_request("hi"))).ok());
  EXPECT_EQ(echo.tenant, "none");
}

TEST_F(ProtobufDeadlines, LeftByACancelledCallerReachTheInnermostHandler) {
  Failing failing;
  Server& there = serve_services(failing);
  Relay relay{client(there)};
  test::RelayStub stub{client(serve_services(relay))};
  const auto outcome = await(race(stub.Pass(echo_request("sleep")), sleep_for(20ms)));
  EXPECT_EQ(outcome.index, 1u);
  EXPECT_TRUE(await(failing.ended.wait()).ok());
  EXPECT_EQ(failing.ended_by.code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace weft::testing
