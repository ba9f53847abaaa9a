// SPDX-License-Identifier: Apache-2.0
// Details of a failure travel with it, wherever a failure travels.
#include <weft/blocking.hpp>

#include "integration/rpc/raw_peer.hpp"
#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::details_tests {

using namespace weft::detail;
namespace {

constexpr std::string_view kRetryInfo{"\x0a\x04\x00\xff details\0 with a zero", 24};

Status failure(std::size_t details = kRetryInfo.size(), std::size_t message = 4) {
  std::string bytes{kRetryInfo};
  bytes.resize(details, 'd');
  return user_error(7, std::string(message, 'm'), StatusCode::kNotFound).with_details(bytes);
}

Result<int> fail_now() {
  return failure();
}
Task<Result<int>> fail_later() {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
  co_return failure();
}
void fail_by_reply(Reply<int> reply) {
  std::move(reply)(failure());
}
Result<int> fail_with(std::size_t details, std::size_t message) {
  return failure(details, message);
}
Result<Result<int>> fail_inside() {
  return Result<int>{failure()};
}
Task<Result<int>> count_and_fail(Writer<int>& writer) {
  [[maybe_unused]] const auto written = co_await writer.write(1);
  co_return failure();
}

struct Relay {
  Client* next = nullptr;
  Task<Result<int>> pass_on() { co_return co_await next->call<fail_now>(); }
};

class FailureDetails : public RpcTest {
 protected:
  Server& serve_failures(ServerOptions options = {}) {
    return serve_here(std::move(options), [this](Server& its) {
      its.register_handler<fail_now, fail_later, fail_by_reply, fail_with, fail_inside, count_and_fail>();
      its.register_handler<&Relay::pass_on>(&relay_);
    });
  }
  static void expect_details(const Status& status) {
    EXPECT_EQ(status.details(), kRetryInfo);
    EXPECT_EQ(status.message(), "mmmm");
    EXPECT_EQ(status.native(), 7);
    EXPECT_EQ(status.code(), StatusCode::kNotFound);
  }

  Relay relay_;
};

TEST_F(FailureDetails, ReachTheCallerOfEachKindOfHandler) {
  Client& caller = client(serve_failures());
  expect_details(call<fail_now>(caller).status());
  expect_details(call<fail_later>(caller).status());
  expect_details(call<fail_by_reply>(caller).status());
}

TEST_F(FailureDetails, StayWithAResultThatIsAValue) {
  Client& caller = client(serve_failures());
  const Result<Result<int>> outcome = call<fail_inside>(caller);
  ASSERT_TRUE(outcome.ok());
  expect_details(outcome->status());
}

TEST_F(FailureDetails, ArePassedOnByAHandlerThatReturnsTheFailureOfItsOwnCall) {
  Server& server = serve_failures();
  relay_.next = &client(server);
  expect_details(call<&Relay::pass_on>(client(server)).status());
}

TEST_F(FailureDetails, EndAStream) {
  Client& caller = client(serve_failures());
  const auto read_all = [](Client& its) -> Task<Status> {
    auto stream = its.open<count_and_fail>();
    while (auto item = co_await stream.next()) continue;
    co_return stream.status();
  };
  expect_details(loop().block_on(read_all(caller)));
}

TEST_F(FailureDetails, ReachAThreadThatWaits) {
  Server& server = serve({}, [](Server& its) { its.register_handler<fail_now>(); });
  BlockingClient caller{{.connect = server.urls().front()}};
  expect_details(caller.call<fail_now>().status());
}

TEST_F(FailureDetails, AreNotCutByTheLengthOfTheMessage) {
  Client& caller = client(serve_failures());
  for (const std::size_t details : {1u, 7u, 8u, 9u, 4096u, 8192u}) {
    for (const std::size_t message : {0u, 1u, 500u, 5000u}) {
      const Status status = call<fail_with>(caller, details, message).status();
      EXPECT_EQ(status.details(), failure(details, message).details()) << details << ", " << message;
      EXPECT_EQ(status.message().size(), std::min<std::size_t>(message, status.message().size()));
      EXPECT_EQ(status.message().substr(0, 1), message == 0 ? "" : "m");
    }
  }
}

TEST_F(FailureDetails, OverTheLimitAreLeftOutWithWords) {
  Client& caller = client(serve_failures());
  const Status status = call<fail_with>(caller, kStatusDetailsMax + 1, 4).status();
  EXPECT_EQ(status.details(), "");
  EXPECT_THAT(std::string{status.message()}, ::testing::HasSubstr("8193 bytes were left out"));
}

TEST_F(FailureDetails, GiveWayToTheMessageWhereTheCallerTakesShortBodies) {
  Client& caller = client(serve_failures(), {.limits = {.body_bytes_max = 1024}});
  const Status status = call<fail_with>(caller, 2000, 10).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "mmmmmmmmmm");
  EXPECT_EQ(status.details(), "");
}

TEST_F(FailureDetails, AreNotSentToABuildThatDoesNotReadThem) {
  Server& server = serve_failures();
  RawPeer peer{server.urls().front()};
  peer.send(hello_bytes(0, wire::Features::kAll & ~wire::Features::kDetails));
  const MethodKey method = method_key<fail_now>;
  peer.send_request(wire::make_id(0, 0), method.id, method.schema, {});
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.write_some() && peer.read_some() && peer.answers().size() == 1; }));
  EXPECT_EQ(peer.answers().front().schema, 0u);
  EXPECT_EQ(peer.answers().front().body_bytes, 4u);
}

}  // namespace
}  // namespace weft::testing::details_tests
