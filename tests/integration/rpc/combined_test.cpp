// SPDX-License-Identifier: Apache-2.0
// Calls as they are, without a coroutine around each: in when_all(), race(), with_deadline() and block_on().
#include <tuple>
#include <variant>

#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::combined_tests {
namespace {

int square(int number) {
  return number * number;
}
std::string twice(std::string_view text) {
  return std::string{text} + std::string{text};
}
std::size_t count(const std::vector<int>& numbers) {
  return numbers.size();
}
Task<Result<int>> never() {
  Result<void> slept = co_await sleep_for(1h);
  if (!slept.ok()) co_return slept.status();
  co_return 1;
}
int with_attachment(CallContext& context) {
  context.set_attachment(Buffer::adopt(std::string(100, 'a')));
  return 1;
}

class CombinedCalls : public RpcTest {
 protected:
  Server& server_ = serve_here([](Server& its) {
    its.register_handler<square>();
    its.register_handler<twice>();
    its.register_handler<count>();
    its.register_handler<never>();
    its.register_handler<with_attachment>();
  });
  Client& client_ = client(server_);
};

TEST_F(CombinedCalls, AreAwaitedAllAtOnce) {
  auto both = [](Client* client, std::string text) -> Task<std::string> {
    auto [number, doubled] = co_await when_all(client->call<square>(7), client->call<twice>(text));
    co_return std::to_string(number.value()) + doubled.value();
  };
  EXPECT_EQ(loop().block_on(both(&client_, "ab")), "49abab");
}

TEST_F(CombinedCalls, KeepTheTemporariesThatTheyWereGiven) {
  auto all = [](Client* client) -> Task<std::size_t> {
    const std::string long_text(100, 'x');
    auto [text, numbers, literal] = co_await when_all(client->call<twice>(long_text + long_text),
                                                      client->call<count>(std::vector<int>(1000, 1)),
                                                      client->call<twice>({.timeout = 1min}, "literal"));
    co_return text.value().size() + numbers.value() + literal.value().size();
  };
  EXPECT_EQ(loop().block_on(all(&client_)), 400u + 1000u + 14u);
}

TEST_F(CombinedCalls, MayBeMadeFirstAndAwaitedLater) {
  int number = 3;
  auto later = when_all(client_.call<square>(number), client_.call<square>(4));
  number = 5;  // an lvalue is referred to until the call is sent
  auto [first, second] = loop().block_on(std::move(later));
  EXPECT_EQ(first.value(), 25);
  EXPECT_EQ(second.value(), 16);
}

TEST_F(CombinedCalls, ThatAreDroppedUnawaitedAreNotMade) {
  {
    [[maybe_unused]] auto dropped = when_all(client_.call<square>(1), client_.call<square>(2));
  }
  EXPECT_EQ(loop().block_on(client_.call<square>(2)).value(), 4);
  EXPECT_EQ(server_.stats().calls, 1u);
}

TEST_F(CombinedCalls, MayBeStartedOnes) {
  auto both = [](Client* client) -> Task<int> {
    Call<int> one = client->start<square>(2);
    Call<std::string> other = client->start<twice>("abc");
    auto [number, text] = co_await when_all(std::move(one), std::move(other));
    co_return number.value() + static_cast<int>(text.value().size());
  };
  EXPECT_EQ(loop().block_on(both(&client_)), 10);
}

TEST_F(CombinedCalls, MayBeManyStartedOnes) {
  auto sum = [](Client* client) -> Task<int> {
    std::vector<Call<int>> calls;
    for (int i = 1; i <= 10; ++i) calls.push_back(client->start<square>(i));
    int added = 0;
    auto answers = co_await when_all(std::move(calls));
    for (const Result<int>& answer : answers) added += answer.value();
    co_return added;
  };
  EXPECT_EQ(loop().block_on(sum(&client_)), 385);
}

TEST_F(CombinedCalls, BringTheirAttachments) {
  auto both = [](Client* client) -> Task<std::size_t> {
    Call<int> started = client->start<with_attachment>();
    auto [now, later] = co_await when_all(client->call<with_attachment>().with_attachment(),
                                          std::move(started).with_attachment());
    co_return now.value().attachment.size() + later.value().attachment.size();
  };
  EXPECT_EQ(loop().block_on(both(&client_)), 200u);
}

TEST_F(CombinedCalls, RaceWithATime) {
  auto first = [](Client* client) -> Task<std::size_t> {
    auto winner = co_await race(client->call<never>(), sleep_for(1ms));
    static_assert(std::is_same_v<decltype(winner.value), std::variant<Result<int>, Result<void>>>);
    co_return winner.index;
  };
  EXPECT_EQ(loop().block_on(first(&client_)), 1u);
  ASSERT_TRUE(turn_until(loop(), [&] { return server_.stats().calls_running == 0; }))
      << "the loser was cancelled on the server too";
}

TEST_F(CombinedCalls, RaceWithEachOther) {
  auto first = [](Client* client) -> Task<RaceWinner<Result<int>>> {
    Call<int> slow = client->start<never>();
    auto winner = co_await race(std::move(slow), client->call<square>(3));
    co_return winner;
  };
  const RaceWinner<Result<int>> winner = loop().block_on(first(&client_));
  EXPECT_EQ(winner.index, 1u);
  EXPECT_EQ(winner.value.value(), 9);
}

TEST_F(CombinedCalls, EndAtADeadline) {
  auto limited = [](Client* client, Loop* loop) -> Task<Result<int>> {
    auto answer = co_await with_deadline(Deadline::after(loop->now(), 5ms), client->call<never>());
    co_return answer;
  };
  EXPECT_EQ(loop().block_on(limited(&client_, &loop())).status().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(CombinedCalls, AreAwaitedFromOutsideOfCoroutines) {
  EXPECT_EQ(loop().block_on(client_.call<square>(5)).value(), 25);
  EXPECT_EQ(loop().block_on(client_.call<twice>(std::string(50, 'y'))).value().size(), 100u);
  Call<int> started = client_.start<square>(6);
  EXPECT_EQ(loop().block_on(std::move(started)).value(), 36);
  EXPECT_TRUE(loop().block_on(sleep_for(Duration{1})).ok());
  EXPECT_EQ(loop().block_on(client_.call<with_attachment>().with_attachment()).value().attachment.size(),
            100u);
}

TEST_F(CombinedCalls, AStartedCallGivesItsResultOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a child of fork does not drive its parent's loop
  Call<int> started = client_.start<square>(6);
  EXPECT_EQ(loop().block_on(std::move(started)).value(), 36);
  EXPECT_TRUE(started.done());  // NOLINT(bugprone-use-after-move): what this is about
  EXPECT_DEATH(static_cast<void>(loop().block_on(std::move(started))),
               "a Call is awaited once|cannot be awaited");
}

}  // namespace
}  // namespace weft::testing::combined_tests
