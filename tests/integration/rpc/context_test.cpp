// SPDX-License-Identifier: Apache-2.0
// CR-4: what a handler may know and do about its call. CR-5: how failures reach the caller.
#include <algorithm>
#include <atomic>
#include <latch>
#include <stdexcept>

#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::context_tests {
namespace {

/// Facts that one call's context gave.
struct Seen {
  std::uint64_t connection = 0;
  std::uint64_t call = 0;
  std::string local;
  std::string remote;
  std::string method;
  bool has_deadline = false;
};

struct Observer {
  std::vector<Seen> seen;
  std::vector<bool> sent;
  Event open;

  void note(CallContext& context) {
    seen.push_back({context.connection_id(), context.call_id(), context.local_endpoint(),
                    context.remote_endpoint(), std::string{context.method()},
                    !context.deadline().is_infinite()});
  }
  int look(CallContext& context, int number) {
    note(context);
    return number;
  }
  Task<int> look_later(CallContext& context, int number) {
    [[maybe_unused]] const Result<void> passed = co_await open.wait();
    note(context);
    co_return number;
  }
  void look_and_reply(Reply<int> reply, CallContext& context, int number) {
    note(context);
    std::move(reply)(number);
  }
  /// Counts the calls of each connection in the connection's own tag.
  int count(CallContext& context) {
    std::shared_ptr<void>& tag = context.connection_tag();
    if (tag == nullptr) tag = std::make_shared<int>(0);
    return ++*static_cast<int*>(tag.get());
  }
  int hang_up(CallContext& context, int number) {
    context.close_connection();
    return number;
  }
  int tell_when_sent(CallContext& context, int number) {
    context.on_answer_sent([this](bool left) { sent.push_back(left); });
    return number;
  }
  Task<int> tell_when_sent_later(CallContext& context, int number) {
    context.on_answer_sent([this](bool left) { sent.push_back(left); });
    [[maybe_unused]] const Result<void> passed = co_await open.wait();
    co_return number;
  }
};

/// Asks for its peer once the test says that the peer is gone.
struct Inspector {
  std::latch begun{1};
  std::latch ended{1};
  std::latch looked{1};
  std::string remote;
  void look_after_the_end(CallContext& context) {
    begun.count_down();
    ended.wait();
    remote = context.remote_endpoint();
    looked.count_down();
  }
};

using CallContexts = RpcTest;

TEST_F(CallContexts, TellsConnectionCallMethodAndEndpoints) {
  Observer observer;
  Server& server = serve_here([&](Server& its) {
    its.register_handler<&Observer::look>(&observer);
    its.register_handler<&Observer::look_and_reply>(&observer);
    its.register_handler<method<&Observer::look, "look/keyed">>(&observer);
  });
  Client& first = client(server);
  Client& second = client(server);
  EXPECT_EQ(call<&Observer::look>(first, CallOptions{.timeout = kNoTimeout}, 1).value(), 1);
  EXPECT_EQ(call<&Observer::look_and_reply>(first, 2).value(), 2);
  EXPECT_EQ((call<method<&Observer::look, "look/keyed">>(second, CallOptions{.timeout = 1min}, 3).value()),
            3);
  ASSERT_EQ(observer.seen.size(), 3u);
  const auto& seen = observer.seen;
  EXPECT_EQ(seen[0].connection, seen[1].connection);
  EXPECT_NE(seen[0].connection, seen[2].connection);
  EXPECT_NE(seen[0].call, seen[1].call) << "two calls after each other in the same slot differ";
  EXPECT_THAT(seen[0].method, ::testing::HasSubstr("Observer::look"));
  EXPECT_EQ(seen[2].method, "look/keyed");
  EXPECT_EQ(seen[0].local, server.urls().front());
  EXPECT_EQ(seen[0].local, first.remote_endpoint());
  EXPECT_EQ(seen[0].remote, first.local_endpoint());
  EXPECT_EQ(seen[2].remote, second.local_endpoint());
  EXPECT_FALSE(seen[0].has_deadline);
  EXPECT_TRUE(seen[1].has_deadline) << "that of ClientOptions::call_timeout";
  EXPECT_TRUE(seen[2].has_deadline);
}

TEST_F(CallContexts, OutlivesTheConnectionInACoroutine) {
  Observer observer;
  Server& server = serve_here([&](Server& its) { its.register_handler<&Observer::look_later>(&observer); });
  Client& caller = client(server);
  Call<int> held = caller.start<&Observer::look_later>(1);
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 1; }));
  caller.close();
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
  ASSERT_EQ(observer.seen.size(), 1u);
  EXPECT_NE(observer.seen[0].connection, 0u);
  EXPECT_EQ(observer.seen[0].remote, "") << "the connection is gone";
}

// The worker must not ask a connection that its loop is just taking down.
TEST_F(CallContexts, OfABlockingHandlerKnowsItsEndpointsWhenTheConnectionIsGone) {
  Inspector inspector;
  Server& server = serve({}, [&](Server& its) {
    its.register_handler<&Inspector::look_after_the_end>(&inspector, {.blocking = true});
  });
  Client& caller = client(server);
  ASSERT_TRUE(connect(caller).ok());
  const std::string caller_endpoint = caller.local_endpoint();
  Call<void> call = caller.start<&Inspector::look_after_the_end>();
  // A call that is given up before a worker took it does not run at all.
  ASSERT_TRUE(turn_until(loop(), [&] { return inspector.begun.try_wait(); }));
  caller.close();
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 0; }));
  inspector.ended.count_down();
  inspector.looked.wait();
  EXPECT_EQ(inspector.remote, caller_endpoint);
  server.stop();
  server.wait();  // the handler may still be in the inspector
}

TEST_F(CallContexts, KeepsATagPerConnectionAndDropsItWithTheConnection) {
  Observer observer;
  Server& server = serve_here([&](Server& its) { its.register_handler<&Observer::count>(&observer); });
  Client& first = client(server);
  Client& second = client(server);
  EXPECT_EQ(call<&Observer::count>(first).value(), 1);
  EXPECT_EQ(call<&Observer::count>(first).value(), 2);
  EXPECT_EQ(call<&Observer::count>(second).value(), 1);
  EXPECT_EQ(call<&Observer::count>(first).value(), 3);
}

TEST_F(CallContexts, ClosesTheConnectionAfterItsAnswerArrived) {
  Observer observer;
  Server& server = serve_here([&](Server& its) { its.register_handler<&Observer::hang_up>(&observer); });
  Client& caller = client(server);
  EXPECT_EQ(call<&Observer::hang_up>(caller, 5).value(), 5);
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 0; }));
  EXPECT_EQ(call<&Observer::hang_up>(caller, 6).value(), 6) << "on a new connection";
  EXPECT_EQ(caller.stats().connections, 2u);
}

TEST_F(CallContexts, TellsThatAnAnswerLeft) {
  Observer observer;
  Server& server = serve_here([&](Server& its) {
    its.register_handler<&Observer::tell_when_sent>(&observer);
    its.register_handler<&Observer::tell_when_sent_later>(&observer);
  });
  Client& caller = client(server);
  EXPECT_TRUE(call<&Observer::tell_when_sent>(caller, 1).ok());
  observer.open.set();
  EXPECT_TRUE(call<&Observer::tell_when_sent_later>(caller, 1).ok());
  EXPECT_EQ(observer.sent, (std::vector<bool>{true, true}));
}

TEST_F(CallContexts, TellsThatAnAnswerNeverLeft) {
  Observer observer;
  Server& server =
      serve_here([&](Server& its) { its.register_handler<&Observer::tell_when_sent_later>(&observer); });
  Client& caller = client(server);
  Call<int> held = caller.start<&Observer::tell_when_sent_later>(1);
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 1; }));
  caller.close();
  ASSERT_TRUE(turn_until(loop(), [&] { return !observer.sent.empty(); }));
  EXPECT_EQ(observer.sent, std::vector<bool>{false});
}

// CR-5

Result<int> half_of_even(int number) {
  if (number % 2 != 0) return user_error(-17, std::to_string(number) + " is odd", StatusCode::kOutOfRange);
  return number / 2;
}
Task<Result<int>> half_later(int number) {
  co_return half_of_even(number);
}
Result<void> only_positive(CallContext&, int number) {
  if (number <= 0) return user_error(3, "not positive");
  return {};
}
Task<Result<void>> only_positive_later(int number) {
  if (number <= 0) co_return user_error(4, "not positive");
  co_return Result<void>{};
}
int throws(int number) {
  if (number != 0) throw std::runtime_error("number " + std::to_string(number));
  return number;
}
Task<int> throws_in_coroutine(int number) {
  if (number == 1) throw std::runtime_error("before it suspended");
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
  throw 42;
}
int throws_with_context(CallContext&, int) {
  throw std::bad_alloc{};
}
void throws_with_reply(Reply<int>, int) {
  throw std::logic_error("no answer");
}
int throws_its_error(int number) {
  throw user_error(404, "no page " + std::to_string(number), StatusCode::kNotFound);
}
Task<int> throws_its_error_later(int number) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
  co_return throws_its_error(number);
}
Task<void> throws_its_error_inside(int number) {
  [[maybe_unused]] const int never = co_await throws_its_error_later(number);
}
int throws_its_error_with_context(CallContext&, int number) {
  return throws_its_error(number);
}
void throws_its_error_with_reply(Reply<int>, int number) {
  throws_its_error(number);
}
int throws_success() {
  throw Status{};
}
void replies_a_result(Reply<int> reply, int number) {
  std::move(reply)(half_of_even(number));
}
Result<int> says_unavailable() {
  return Status{StatusCode::kUnavailable, Layer::kUser, "ask me later"};
}
Result<int> says_much() {
  return user_error(1, std::string(1 << 20, 'm'));
}

using HandlerErrors = RpcTest;

void fill_failures(Server& server) {
  server.register_handler<half_of_even>();
  server.register_handler<half_later>();
  server.register_handler<only_positive>();
  server.register_handler<only_positive_later>();
  server.register_handler<throws>();
  server.register_handler<throws_in_coroutine>();
  server.register_handler<throws_with_context>();
  server.register_handler<throws_with_reply>();
  server.register_handler<replies_a_result>();
  server.register_handler<says_unavailable>();
  server.register_handler<says_much>();
  server.register_handler<method<throws, "throws/blocking">>({.blocking = true});
  server.register_handler<method<throws_with_reply, "reply/blocking">>({.blocking = true});
}

TEST_F(HandlerErrors, OfTheUserArriveWithCodeNumberAndMessage) {
  Client& caller = client(serve({.threads = 1}, fill_failures));
  EXPECT_EQ(call<half_of_even>(caller, 4).value(), 2);
  for (const Status& failure : {call<half_of_even>(caller, 5).status(), call<half_later>(caller, 5).status(),
                                call<replies_a_result>(caller, 5).status()}) {
    EXPECT_EQ(failure.code(), StatusCode::kOutOfRange);
    EXPECT_EQ(failure.layer(), Layer::kUser);
    EXPECT_EQ(failure.native(), -17);
    EXPECT_EQ(failure.message(), "5 is odd");
  }
  EXPECT_TRUE(call<only_positive>(caller, 1).ok());
  EXPECT_TRUE(call<only_positive_later>(caller, 1).ok());
  EXPECT_EQ(call<only_positive>(caller, 0).status().native(), 3);
  EXPECT_EQ(call<only_positive_later>(caller, 0).status().native(), 4);
  EXPECT_EQ(caller.stats().connections, 1u) << "an error of a handler keeps the connection";
}

TEST_F(HandlerErrors, ThatAreThrownArriveAsThoseThatAreReturned) {
  Server& server = serve({.threads = 1}, [](Server& its) {
    its.register_handler<throws_its_error, throws_its_error_later, throws_its_error_inside>();
    its.register_handler<throws_its_error_with_context, throws_its_error_with_reply, throws_success>();
    its.register_handler<method<throws_its_error, "blocking">>({.blocking = true});
    its.register_handler<method<throws_its_error_with_reply, "reply blocking">>({.blocking = true});
  });
  Client& caller = client(server);
  for (const Status& failure :
       {call<throws_its_error>(caller, 5).status(), call<throws_its_error_later>(caller, 5).status(),
        call<throws_its_error_inside>(caller, 5).status(),
        call<throws_its_error_with_context>(caller, 5).status(),
        call<throws_its_error_with_reply>(caller, 5).status(),
        call<method<throws_its_error, "blocking">>(caller, 5).status(),
        call<method<throws_its_error_with_reply, "reply blocking">>(caller, 5).status()}) {
    EXPECT_EQ(failure.code(), StatusCode::kNotFound);
    EXPECT_EQ(failure.layer(), Layer::kUser);
    EXPECT_EQ(failure.native(), 404);
    EXPECT_EQ(failure.message(), "no page 5");
  }
  EXPECT_EQ(call<throws_success>(caller).status().code(), StatusCode::kUnknown);
  EXPECT_EQ(caller.stats().connections, 1u) << "an error of a handler keeps the connection";
}

TEST_F(HandlerErrors, AThrowingHandlerIsAStatus) {
  Server& server = serve({.threads = 1}, fill_failures);
  Client& caller = client(server);
  const auto text_of = [](const Status& status) { return std::string{status.message()}; };
  const Status plain = call<throws>(caller, 8).status();
  EXPECT_EQ(plain.code(), StatusCode::kUnknown);
  EXPECT_EQ(plain.layer(), Layer::kUser);
  EXPECT_THAT(text_of(plain), ::testing::MatchesRegex("the handler of '.*throws' threw: number 8"));
  EXPECT_EQ((text_of(call<method<throws, "throws/blocking">>(caller, 9).status())),
            "the handler of 'throws/blocking' threw: number 9");
  EXPECT_THAT(text_of(call<throws_in_coroutine>(caller, 1).status()),
              ::testing::EndsWith("throws_in_coroutine' threw: before it suspended"));
  EXPECT_THAT(text_of(call<throws_in_coroutine>(caller, 2).status()),
              ::testing::HasSubstr("no std::exception"));
  EXPECT_EQ(call<throws_with_context>(caller, 1).status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(text_of(call<throws_with_reply>(caller, 1).status()),
              ::testing::EndsWith("throws_with_reply' threw: no answer"));
  EXPECT_EQ((text_of(call<method<throws_with_reply, "reply/blocking">>(caller, 1).status())),
            "the handler of 'reply/blocking' threw: no answer");
  EXPECT_EQ(call<throws>(caller, 0).value(), 0);
  EXPECT_EQ(caller.stats().connections, 1u);
  EXPECT_EQ(server.stats().calls_running, 0u);
}

TEST_F(HandlerErrors, SayWhatToDo) {
  Client& caller = client(serve_here(fill_failures));
  const Status later = call<says_unavailable>(caller).status();
  EXPECT_EQ(later.code(), StatusCode::kUnavailable);
  EXPECT_EQ(later.retry(), Retry::kBackoff) << "the server is alive: connecting again would not help";
}

TEST_F(HandlerErrors, WithLongMessagesHarmNobody) {
  Client& caller = client(serve_here(fill_failures));
  const Status much = call<says_much>(caller).status();
  EXPECT_EQ(much.native(), 1);
  EXPECT_GE(much.message().size(), 1024u);
  EXPECT_LE(much.message().size(), std::size_t{1} << 20);
  EXPECT_EQ(call<half_of_even>(caller, 4).value(), 2);
}

TEST_F(HandlerErrors, OfOneCallTouchNoNeighbour) {
  Client& caller = client(serve({.threads = 1}, fill_failures));
  std::vector<Call<int>> calls;
  for (int i = 0; i < 300; ++i) {
    calls.push_back(i % 3 == 0   ? caller.start<half_of_even>(i)
                    : i % 3 == 1 ? caller.start<half_later>(i)
                                 : caller.start<throws>(i));
  }
  const auto results = loop().block_on(await_all(calls));
  for (int i = 0; i < 300; ++i) {
    const Result<int>& result = results[static_cast<std::size_t>(i)];
    EXPECT_EQ(result.ok(), i % 3 != 2 && i % 2 == 0) << i;
    if (result.ok()) {
      EXPECT_EQ(*result, i / 2);
    }
  }
}

}  // namespace
}  // namespace weft::testing::context_tests
