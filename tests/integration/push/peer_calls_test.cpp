// SPDX-License-Identifier: Apache-2.0
// A server calls functions of its clients, over the connections that they made.
#include <cstring>
#include <optional>

#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::testing::peer_calls_tests {
namespace {

int twice(int number) {
  return 2 * number;
}

Task<int> thrice(CallContext& context, int number) {
  if (context.remote_endpoint().empty()) co_return -1;
  co_return 3 * number;
}

std::string keep(CallContext& context, std::string text) {
  context.set_attachment(context.take_attachment());
  return text + "!";
}

/// Server's handlers that call the one who called.
Task<Result<int>> ask_back(CallContext& context, int number) {
  Result<int> answer = co_await context.peer().call<twice>(number);
  co_return answer;
}

Task<Result<int>> ask_thrice(CallContext& context, int number) {
  Peer peer = context.peer();
  auto first = peer.start<twice>(number);
  Result<int> second = co_await peer.call<thrice>(number);
  Result<int> twofold = co_await std::move(first);
  if (!second.ok()) co_return second;
  if (!twofold.ok()) co_return twofold;
  co_return *second + *twofold;
}

Task<Result<std::string>> ask_with_attachment(CallContext& context, std::uint64_t bytes) {
  Buffer sent = Buffer::try_allocate(bytes).value();
  std::memset(sent.mutable_bytes().data(), 'x', bytes);
  CallOptions options;
  options.attachment = sent.bytes();
  Peer peer = context.peer();
  Result<Answer<std::string>> answer = co_await peer.call<keep>(options, "text").with_attachment();
  if (!answer.ok()) co_return answer.status();
  if (answer->attachment.size() != bytes) co_return std::string{"short"};
  co_return std::move(answer->value);
}

Result<int> ask_blocking(CallContext& context, int number) {
  Peer peer = context.peer();
  return blocking(peer).call<twice>(number);
}

Task<Result<int>> down(CallContext& context, int depth);

/// The client's side of a call that goes to and fro.
Task<Result<int>> up(CallContext& context, int depth) {
  if (depth == 0) co_return 0;
  Result<int> below = co_await context.peer().call<down>(depth - 1);
  if (!below.ok()) co_return below;
  co_return *below + 1;
}
Task<Result<int>> down(CallContext& context, int depth) {
  if (depth == 0) co_return 0;
  Result<int> below = co_await context.peer().call<up>(depth - 1);
  if (!below.ok()) co_return below;
  co_return *below + 1;
}

class PeerCalls : public RpcTest {
 protected:
  Server& server(ServerOptions options = {}) {
    return serve_here(std::move(options), [](Server& its) {
      its.register_handler<ask_back, ask_thrice, ask_with_attachment, down>();
    });
  }
};

TEST_F(PeerCalls, ReachTheClientThatCalled) {
  Client& its = client(server());
  its.register_handler<twice, thrice>();
  EXPECT_EQ(call<ask_back>(its, 4).value(), 8);
  EXPECT_EQ(call<ask_thrice>(its, 5).value(), 25);
}

TEST_F(PeerCalls, ReachMembersLambdasAndReplies) {
  struct Desk {
    int served = 0;
    int add(int number) { return served += number; }
  };
  Desk desk;
  std::vector<Reply<int>> owed;
  Server& its_server = serve_here([](Server& its) {
    its.register_handler("ask", [](CallContext& context, int number) -> Task<Result<int>> {
      Peer peer = context.peer();
      Result<int> added = co_await peer.call<&Desk::add>(number);
      if (!added.ok()) co_return added;
      Result<int> scaled = co_await peer.call<remote<"scale", int(int)>>(*added);
      if (!scaled.ok()) co_return scaled;
      Result<int> owed_number = co_await peer.call<remote<"owe", int(int)>>(*scaled);
      co_return owed_number;
    });
  });
  int factor = 10;
  Client& its = client(its_server);
  its.register_handler<&Desk::add>(&desk);
  its.register_handler("scale", [factor](int number) { return factor * number; });
  its.register_handler("owe", [&owed](Reply<int> reply, int) { owed.push_back(std::move(reply)); });
  auto asked = its.start<remote<"ask", int(int)>>(7);
  ASSERT_TRUE(turn_until(loop(), [&] { return !owed.empty(); }));
  std::move(owed.front())(99);
  EXPECT_EQ(wait_for(std::move(asked)).value(), 99);
  EXPECT_EQ(desk.served, 7);
}

TEST_F(PeerCalls, CarryAttachmentsOfEverySizeBothWays) {
  Client& its = client(server());
  its.register_handler<keep>();
  for (const std::uint64_t bytes : {1ull, 5000ull, 300'000ull, 900'000ull}) {
    EXPECT_EQ(call<ask_with_attachment>(its, bytes).value(), "text!") << bytes;
  }
}

TEST_F(PeerCalls, GoToAndFroAsDeepAsTheLimitsLet) {
  Client& its = client(server());
  its.register_handler<up>();
  EXPECT_EQ(call<down>(its, 100).value(), 100);
}

TEST_F(PeerCalls, EndInTimeWhereTheyGoDeeperThanMayRun) {
  ClientOptions options;
  options.limits.calls_in_flight_max = 8;
  Client& its = client(server(), options);
  its.register_handler<up>();
  CallOptions in_time;
  in_time.timeout = 50ms;
  const Result<int> deep = wait_for(its.start<down>(in_time, 1000));
  EXPECT_EQ(deep.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(call<down>(its, 4).value(), 4);
}

TEST_F(PeerCalls, AreRefusedByAClientThatServesNothing) {
  Client& its = client(server());
  const Result<int> answer = call<ask_back>(its, 4);
  EXPECT_EQ(answer.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string{answer.status().message()}, ::testing::HasSubstr("client serves no calls"));
}

TEST_F(PeerCalls, AreRefusedByAClientThatServesOthers) {
  Client& its = client(server());
  its.register_handler<thrice>();
  const Result<int> answer = call<ask_back>(its, 4);
  EXPECT_EQ(answer.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string{answer.status().message()}, ::testing::HasSubstr("client has no such method"));
}

TEST_F(PeerCalls, OfHugeAttachmentsAreRefusedByAClientThatServesNothing) {
  Client& its = client(server());
  const Result<std::string> answer = call<ask_with_attachment>(its, std::uint64_t{50'000'000});
  EXPECT_EQ(answer.status().code(), StatusCode::kUnimplemented);
  EXPECT_TRUE(its.connected());
}

TEST_F(PeerCalls, BlockAWorkerOfTheServer) {
  ServerOptions options;
  Server& its_server =
      serve(std::move(options), [](Server& its) { its.register_handler<ask_blocking>({.blocking = true}); });
  Client& its = client(its_server);
  its.register_handler<twice>();
  EXPECT_EQ(call<ask_blocking>(its, 21).value(), 42);
}

TEST_F(PeerCalls, HaveTheTimeOfTheCallThatIsServed) {
  std::optional<Duration> left;
  Server& its_server = serve_here([](Server& its) {
    its.register_handler("relay", [](CallContext& context) -> Task<Result<void>> {
      Result<void> answer = co_await context.peer().call<remote<"look", void()>>();
      co_return answer;
    });
  });
  Client& its = client(its_server);
  its.register_handler(
      "look", [&](CallContext& context) { left = context.deadline().remaining(Loop::current()->now()); });
  CallOptions options;
  options.timeout = 10s;
  EXPECT_TRUE(wait_for(its.start<remote<"relay", void()>>(options)).ok());
  ASSERT_TRUE(left.has_value());
  EXPECT_GT(*left, 0s);
  EXPECT_LE(*left, 10s);
}

TEST_F(PeerCalls, AreCancelledOnTheClientWhenTheirCallerGivesUp) {
  struct Slow {
    Event never;
    bool began = false;
    bool cancelled = false;
    Task<int> wait() {
      began = true;
      const Result<void> told = co_await never.wait();
      cancelled = !told.ok();
      co_return 1;
    }
  };
  Slow slow;
  Server& its_server = serve_here([](Server& its) {
    its.register_handler("relay", [](CallContext& context) -> Task<Result<int>> {
      Result<int> answer = co_await context.peer().call<&Slow::wait>();
      co_return answer;
    });
  });
  Client& its = client(its_server);
  its.register_handler<&Slow::wait>(&slow);
  auto relayed = its.start<remote<"relay", int()>>();
  ASSERT_TRUE(turn_until(loop(), [&] { return slow.began; }));
  relayed.cancel();
  EXPECT_TRUE(turn_until(loop(), [&] { return slow.cancelled; }));
}

TEST_F(PeerCalls, AreNotServedByABlockingHandlerOfAClient) {
  Client& its = client(server());
  its.register_handler<twice>({.blocking = true});
  const Result<void> connected = connect(its);
  EXPECT_EQ(connected.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string{connected.status().message()}, ::testing::HasSubstr("on_worker"));
  EXPECT_EQ(call<ask_back>(its, 1).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(PeerCalls, AreNotServedTwiceUnderOneName) {
  Client& its = client(server());
  its.register_handler<twice>();
  its.register_handler<twice>();
  EXPECT_EQ(call<ask_back>(its, 1).status().code(), StatusCode::kAlreadyExists);
}

TEST_F(PeerCalls, CarryNoMetadataOfTheCallThatIsServed) {
  std::optional<bool> empty;
  Server& other = serve_here([](Server& made) {
    made.register_handler("relay", [](CallContext& context) -> Task<Result<void>> {
      Result<void> answer = co_await context.peer().call<remote<"look", void()>>();
      co_return answer;
    });
  });
  Client& caller = client(other);
  caller.register_handler("look", [&](CallContext& context) { empty = context.metadata().empty(); });
  Metadata metadata;
  ASSERT_TRUE(metadata.set("token", "secret").ok());
  CallOptions options;
  options.metadata = metadata;
  auto result = caller.start<remote<"relay", void()>>(options);
  ASSERT_TRUE(wait_for(std::move(result)).ok());
  EXPECT_EQ(empty, true);
}

}  // namespace
}  // namespace weft::testing::peer_calls_tests
