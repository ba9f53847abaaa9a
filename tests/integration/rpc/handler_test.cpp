// SPDX-License-Identifier: Apache-2.0
// CR-2: what can be a handler, and in which order handlers run.
// Capabilities: CR-23.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::handler_tests {

using namespace weft::detail;
namespace {

int twice(int number) {
  return 2 * number;
}
template <typename T>
T largest(std::vector<T> values) {
  return *std::ranges::max_element(values);
}

struct Counter {
  int total = 0;
  int add(int number) { return total += number; }
  int read() const noexcept { return total; }
  Task<int> add_later(int number) {
    [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
    co_return total += number;
  }
};
struct DerivedCounter : Counter {};

/// Its functions are for objects that have a name.
struct Tally {
  int total = 0;
  int add(int number) & { return total += number; }
  int subtract(int number) & noexcept { return total -= number; }
  int read() const& { return total; }
  int read_again() const& noexcept { return total; }
  Task<int> add_later(int number) & { co_return total += number; }
};

/// Keeps every Reply that it is given, and answers when the test says.
struct Desk {
  std::vector<std::pair<int, Reply<int>>> open;
  void ask(Reply<int> reply, int number) { open.emplace_back(number, std::move(reply)); }
};

/// Lets its callers go one by one.
struct Turnstile {
  std::map<int, Event> gates;
  std::vector<int> arrived;
  Task<int> pass(int number) {
    arrived.push_back(number);
    [[maybe_unused]] const Result<void> passed = co_await gates[number].wait();
    co_return number;
  }
};

/// Writes down in which order its handlers ran.
struct Diary {
  std::vector<int> order;
  void write(int number) { order.push_back(number); }
};

std::thread::id last_thread;
bool inside_a_turn;
int where_am_i(int number) {
  last_thread = std::this_thread::get_id();
  inside_a_turn = Loop::current() != nullptr;
  return number;
}

/// Answers every call from a thread of its own.
struct Couriers {
  std::mutex mutex;
  std::vector<std::jthread> threads;
  void answer(Reply<std::string> reply, std::string_view text) {
    const std::lock_guard lock(mutex);
    threads.emplace_back([reply = std::move(reply), copy = std::string{text}]() mutable {
      std::move(reply)(copy + " from afar");
    });
  }
};
/// Each way to answer where the result is a view. The bytes are gone, or others, when the reply has returned.
void reply_with_text(Reply<std::string_view> reply, int way) {
  std::string bytes(1000, static_cast<char>('a' + way));
  const std::string& kept = bytes;
  switch (way) {
    case 0:
      std::move(reply)(std::string(1000, 'a'));
      break;
    case 1:
      std::move(reply)(kept);
      break;
    case 2:
      std::move(reply)(std::string_view{kept});
      break;
    case 3:
      std::move(reply)(Result<std::string>{bytes});
      break;
    case 4:
      std::move(reply)(Result<std::string_view>{kept});
      break;
    case 5:
      std::move(reply)("a literal");
      break;
    default:
      std::move(reply)(Result<std::string>{user_error(way, "no text")});
  }
  bytes.assign(1000, '!');
}
void reply_with_numbers(Reply<std::span<const int>> reply, int count) {
  std::move(reply)(std::vector<int>(static_cast<std::size_t>(count), 7));
}
void drop_the_reply(Reply<int>, int) {}
void fail_later(Reply<int> reply, int) {
  std::move(reply).fail(user_error(7, "not today"));
}
void reply_and_throw(Reply<int> reply, int number) {
  std::move(reply)(number);
  throw std::runtime_error("too late");
}
void fail_with_success(Reply<void> reply) {
  std::move(reply).fail(Status{});
}
void nothing_later(Reply<void> reply) {
  std::move(reply)();
}

using Handlers = RpcTest;

TEST_F(Handlers, AreFunctionsMembersTemplatesAndWhatHasAKey) {
  Counter counter;
  DerivedCounter derived;
  const Counter fixed{42};
  Server& server = serve({.threads = 1}, [&](Server& its) {
    its.register_handler<twice>();
    its.register_handler<&Counter::add>(&counter);
    its.register_handler<&Counter::add_later>(&derived);
    its.register_handler<&Counter::read>(&fixed);
    its.register_handler<largest<int>>();
    its.register_handler<largest<std::string>>();
    its.register_handler<method<twice, "math/double">>();
    its.register_handler<method<&Counter::add, "counter/add">>(&counter);
  });
  Client& caller = client(server);
  EXPECT_EQ(call<twice>(caller, 21).value(), 42);
  EXPECT_EQ(call<&Counter::add>(caller, 3).value(), 3);
  EXPECT_EQ(call<&Counter::add_later>(caller, 5).value(), 5);
  EXPECT_EQ(call<&Counter::read>(caller).value(), 42);
  EXPECT_EQ(call<largest<int>>(caller, std::vector<int>{1, 9, 4}).value(), 9);
  EXPECT_EQ(call<largest<std::string>>(caller, std::vector<std::string>{"a", "c", "b"}).value(), "c");
  EXPECT_EQ((call<method<twice, "math/double">>(caller, 4).value()), 8);
  EXPECT_EQ((call<method<&Counter::add, "counter/add">>(caller, 4).value()), 7);
  EXPECT_EQ((call<remote<"math/double", int(int)>>(caller, 5).value()), 10) << "known by name alone";
}

TEST_F(Handlers, MayBeMembersForLvalues) {
  Tally tally;
  Server& server = serve({.threads = 1}, [&](Server& its) {
    its.register_handler<&Tally::add, &Tally::subtract, &Tally::read, &Tally::read_again, &Tally::add_later>(
        &tally);
  });
  Client& caller = client(server);
  EXPECT_EQ(call<&Tally::add>(caller, 7).value(), 7);
  EXPECT_EQ(call<&Tally::subtract>(caller, 2).value(), 5);
  EXPECT_EQ(call<&Tally::add_later>(caller, 3).value(), 8);
  EXPECT_EQ(call<&Tally::read>(caller).value(), 8);
  EXPECT_EQ(call<&Tally::read_again>(caller).value(), 8);
}

TEST_F(Handlers, SeveralAreRegisteredByOneCall) {
  Counter counter;
  Server& server = serve({.threads = 1}, [&](Server& its) {
    its.register_handler<twice, largest<int>, method<twice, "math/double">>();
    its.register_handler<&Counter::add, &Counter::read>(&counter);
  });
  Client& caller = client(server);
  EXPECT_EQ(call<twice>(caller, 21).value(), 42);
  EXPECT_EQ(call<largest<int>>(caller, std::vector<int>{1, 9, 4}).value(), 9);
  EXPECT_EQ((call<method<twice, "math/double">>(caller, 4).value()), 8);
  EXPECT_EQ(call<&Counter::add>(caller, 3).value(), 3);
  EXPECT_EQ(call<&Counter::read>(caller).value(), 3);
}

TEST_F(Handlers, OrdinaryOnesRunAndAnswerInOrder) {
  Diary diary;
  Server& server = serve_here([&](Server& its) { its.register_handler<&Diary::write>(&diary); });
  Client& caller = client(server);
  std::vector<Call<void>> calls;
  for (int i = 0; i < 1000; ++i) calls.push_back(caller.start<&Diary::write>(i));
  for (const Result<void>& result : loop().block_on(await_all(calls))) EXPECT_TRUE(result.ok());
  ASSERT_EQ(diary.order.size(), 1000u);
  EXPECT_TRUE(std::ranges::is_sorted(diary.order));
}

TEST_F(Handlers, CoroutinesRunAtTheSameTimeAndAnswerOutOfOrder) {
  Turnstile turnstile;
  Server& server = serve_here([&](Server& its) {
    its.register_handler<&Turnstile::pass>(&turnstile);
    its.register_handler<twice>();
  });
  Client& caller = client(server);
  std::vector<Call<int>> calls;
  for (int i = 0; i < 5; ++i) calls.push_back(caller.start<&Turnstile::pass>(i));
  ASSERT_TRUE(turn_until(loop(), [&] { return turnstile.arrived.size() == 5; }));
  EXPECT_EQ(call<twice>(caller, 2).value(), 4) << "overtakes those that wait";
  for (const std::size_t index : {4u, 2u, 0u, 3u, 1u}) {
    turnstile.gates[static_cast<int>(index)].set();
    ASSERT_TRUE(turn_until(loop(), [&] { return calls[index].done(); }));
    for (const int other : {0, 1, 2, 3, 4}) {
      EXPECT_EQ(calls[static_cast<std::size_t>(other)].done(), turnstile.gates[other].is_set());
    }
    EXPECT_EQ(wait_for(std::move(calls[index])).value(), static_cast<int>(index));
  }
}

TEST_F(Handlers, AReplyMayBeGivenLaterInAnyOrder) {
  Desk desk;
  Server& server = serve_here([&](Server& its) { its.register_handler<&Desk::ask>(&desk); });
  Client& caller = client(server);
  std::vector<Call<int>> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(caller.start<&Desk::ask>(i));
  ASSERT_TRUE(turn_until(loop(), [&] { return desk.open.size() == 10; }));
  EXPECT_EQ(server.stats().calls_running, 10u);
  while (!desk.open.empty()) {
    std::move(desk.open.back().second)(desk.open.back().first * 10);
    desk.open.pop_back();
  }
  const auto results = loop().block_on(await_all(calls));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(results[static_cast<std::size_t>(i)].value(), 10 * i);
  EXPECT_EQ(server.stats().calls_running, 0u);
}

TEST_F(Handlers, AReplyMayBeGivenFromAnotherThread) {
  Couriers couriers;
  Server& server = serve({.threads = 2}, [&](Server& its) {
    its.register_handler<&Couriers::answer>(&couriers);
    its.register_handler<nothing_later>();
  });
  Client& caller = client(server);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(call<&Couriers::answer>(caller, "hello").value(), "hello from afar");
  }
  EXPECT_TRUE(call<nothing_later>(caller).ok());
}

TEST_F(Handlers, AReplyOfAViewTakesWhateverOwnsTheBytes) {
  Server& server =
      serve_here([](Server& its) { its.register_handler<reply_with_text, reply_with_numbers>(); });
  Client& caller = client(server);
  for (int way = 0; way < 5; ++way) {
    EXPECT_EQ(call<reply_with_text>(caller, way).value(), std::string(1000, static_cast<char>('a' + way)));
  }
  EXPECT_EQ(call<reply_with_text>(caller, 5).value(), "a literal");
  EXPECT_EQ(call<reply_with_text>(caller, 6).status().native(), 6);
  EXPECT_EQ(call<reply_with_numbers>(caller, 3).value(), (std::vector<int>{7, 7, 7}));
}

TEST_F(Handlers, ADroppedReplyIsAnErrorOfThatCallOnly) {
  Server& server = serve_here([](Server& its) {
    its.register_handler<drop_the_reply>();
    its.register_handler<fail_later>();
    its.register_handler<reply_and_throw>();
  });
  Client& caller = client(server);
  EXPECT_EQ(call<drop_the_reply>(caller, 1).status().code(), StatusCode::kInternal);
  const Status failure = call<fail_later>(caller, 1).status();
  EXPECT_EQ(failure.native(), 7);
  EXPECT_EQ(failure.message(), "not today");
  EXPECT_EQ(call<reply_and_throw>(caller, 3).value(), 3) << "what was answered stays answered";
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Handlers, AReplyThatFailsWithSuccessIsAMistakeThatIsSaid) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a child of fork does not drive its parent's loop
  EXPECT_DEATH(
      {
        Server& server = serve_here([](Server& its) { its.register_handler<fail_with_success>(); });
        static_cast<void>(call<fail_with_success>(client(server)));
      },
      "a Reply fails with a Status that is a failure");
}

TEST_F(Handlers, AReplyOutlivesItsConnection) {
  Desk desk;
  Server& server = serve_here([&](Server& its) { its.register_handler<&Desk::ask>(&desk); });
  Client& caller = client(server);
  Call<int> held = caller.start<&Desk::ask>(1);
  ASSERT_TRUE(turn_until(loop(), [&] { return desk.open.size() == 1; }));
  caller.close();
  EXPECT_EQ(wait_for(std::move(held)).status().code(), StatusCode::kCancelled);
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 0; }));
  EXPECT_TRUE(desk.open.front().second.cancelled());
  EXPECT_EQ(server.stats().calls_running, 1u);
  std::move(desk.open.front().second)(5);
  desk.open.clear();
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
}

TEST_F(Handlers, ANameIsRefusedTheSecondTime) {
  Server server{{.listen = {kAnyPort}}};
  server.register_handler<method<twice, "math/double">>();
  server.register_handler<method<largest<int>, "math/double">>();
  const Result<void> started = server.start();
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(started.status().message(), "method 'math/double' is registered already");
}

TEST_F(Handlers, BlockingOnesNeverRunOnALoop) {
  Couriers couriers;
  Server& server = serve_here({.worker_threads = 2}, [&](Server& its) {
    its.register_handler<where_am_i>();
    its.register_handler<method<where_am_i, "blocking">>({.blocking = true});
    its.register_handler<&Couriers::answer>(&couriers, {.blocking = true});
  });
  Client& caller = client(server);
  EXPECT_EQ(call<where_am_i>(caller, 1).value(), 1);
  EXPECT_EQ(last_thread, std::this_thread::get_id());
  EXPECT_TRUE(inside_a_turn);
  EXPECT_EQ((call<method<where_am_i, "blocking">>(caller, 2).value()), 2);
  EXPECT_NE(last_thread, std::this_thread::get_id());
  EXPECT_FALSE(inside_a_turn);
  EXPECT_EQ(call<&Couriers::answer>(caller, "x").value(), "x from afar");
  // The answer may be here before its handler has ended, which still uses the couriers.
  caller.close();
  server.stop();
  server.wait();
}

inline constexpr auto add_here = remote<"here/add", int(int)>;
inline constexpr auto length_there = remote<"there/length", std::size_t(std::string)>;
inline constexpr auto slow_there = remote<"there/slow", int(int)>;
inline constexpr auto later_there = remote<"there/later", int(int)>;
inline constexpr auto caller_there = remote<"there/caller", std::string()>;

TEST_F(Handlers, AreLambdasUnderAName) {
  int total = 0;
  std::vector<Reply<int>> open;
  Server& server = serve_here([&](Server& its) {
    its.register_handler("here/add", [&total](int number) { return total += number; });
    its.register_handler("there/length", [](std::string_view text) noexcept { return text.size(); });
    its.register_handler("there/slow", [plus = std::make_unique<int>(1)](int number) -> Task<Result<int>> {
      [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
      co_return number + *plus;
    });
    its.register_handler("there/later", [&open](Reply<int> reply, int) { open.push_back(std::move(reply)); });
    its.register_handler("there/caller", [](CallContext& context) { return context.remote_endpoint(); });
  });
  Client& caller = client(server);
  EXPECT_EQ(call<add_here>(caller, 3).value(), 3);
  EXPECT_EQ(call<add_here>(caller, 4).value(), 7);
  EXPECT_EQ(call<length_there>(caller, "four").value(), 4u);
  EXPECT_EQ(call<slow_there>(caller, 5).value(), 6);
  EXPECT_EQ(call<caller_there>(caller).value(), caller.local_endpoint());
  Call<int> later = caller.start<later_there>(1);
  ASSERT_TRUE(turn_until(loop(), [&] { return open.size() == 1; }));
  std::move(open.front())(11);
  EXPECT_EQ(wait_for(std::move(later)).value(), 11);
}

/// Gives its name by reference, as getters do.
struct Named {
  std::string name = "of a handler";
  const std::string& get() const { return name; }
};

TEST_F(Handlers, MayReturnReferencesWhichAreSentAsValues) {
  Named named;
  Server& server = serve_here([&](Server& its) { its.register_handler<&Named::get>(&named); });
  Client& caller = client(server);
  static_assert(std::is_same_v<detail::ResultOfMethod<&Named::get>, std::string>);
  EXPECT_EQ(call<&Named::get>(caller).value(), "of a handler");
}

struct Adder {
  int base;
  int operator()(int number) const { return base + number; }
};

TEST_F(Handlers, AreFunctionObjectsUnderNamesMadeAtRunTime) {
  Server& server = serve({.worker_threads = 1}, [&](Server& its) {
    std::string name = "here/";
    its.register_handler(name + "add", Adder{100});
    const Adder blocking{1000};
    its.register_handler(std::string{"there/slow"}, blocking, {.blocking = true});
  });
  Client& caller = client(server);
  EXPECT_EQ(call<add_here>(caller, 3).value(), 103);
  EXPECT_EQ(call<slow_there>(caller, 3).value(), 1003);
}

TEST_F(Handlers, ALambdasMistakesAreToldUnderItsName) {
  Server& server = serve_here(
      [&](Server& its) { its.register_handler("here/add", [](std::string text) { return text; }); });
  const Status other_types = call<add_here>(client(server), 3).status();
  EXPECT_EQ(other_types.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(other_types.message(), ::testing::HasSubstr("here/add"));

  Server twice_named{{.listen = {kAnyPort}}};
  twice_named.register_handler("a/name", [](int number) { return number; });
  twice_named.register_handler("a/name", [](const std::string& text) { return text; });
  EXPECT_EQ(twice_named.start().status().code(), StatusCode::kAlreadyExists);
}

Task<int> a_coroutine() {
  co_return 1;
}
TEST_F(Handlers, ACoroutineCannotBeBlocking) {
  Server server{{.listen = {kAnyPort}}};
  server.register_handler<a_coroutine>({.blocking = true});
  EXPECT_EQ(server.start().status().code(), StatusCode::kInvalidArgument);
}

TEST_F(Handlers, AnUnknownMethodIsThatCallsErrorOnly) {
  Server& server = serve_here([](Server& its) { its.register_handler<twice>(); });
  Client& caller = client(server);
  const Status unknown = call<a_coroutine>(caller).status();
  EXPECT_EQ(unknown.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(unknown.message(), ::testing::HasSubstr("a_coroutine"));
  EXPECT_EQ(call<twice>(caller, 1).value(), 2);
  EXPECT_EQ(server.stats().calls_refused, 1u);
}

}  // namespace
}  // namespace weft::testing::handler_tests
