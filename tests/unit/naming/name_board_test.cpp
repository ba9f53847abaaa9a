// SPDX-License-Identifier: Apache-2.0
// The last good list is kept whatever a source says.
#include "naming/name_board.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "naming_support.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/runtime/clock.hpp"

namespace weft::detail {
namespace {

struct Board {
  explicit Board(NameOptions options = {}) {
    options.logger = &logger;
    board = std::make_shared<NameBoard>(*loop, "test:name", options);
  }
  CountingLogger logger;
  ManualClock clock;
  std::unique_ptr<Loop> loop = Loop::create({.clock = &clock}).value();
  std::shared_ptr<NameBoard> board;
};

Task<void> wait_for_change(std::shared_ptr<NameBoard> board, std::uint64_t seen,
                           std::optional<Result<NameSnapshot>>* outcome) {
  outcome->emplace(co_await NameBoard::changed(board, seen));
}

TEST(NameBoard, SortsAndDropsDuplicates) {
  Board with;
  with.board->answer({{"tcp://b:1"}, {"tcp://a:1", 2}, {"tcp://b:1", 5}, {"tcp://a:1", 2}});
  const std::vector<Endpoint> expected{{"tcp://a:1", 2}, {"tcp://b:1", 1}};
  EXPECT_EQ(with.board->list()->endpoints, expected);
  EXPECT_EQ(with.board->stats().duplicates, 2u);
  with.board->answer({{"tcp://b:1"}, {"tcp://a:1", 2}});
  EXPECT_EQ(with.board->list()->version, 1u) << "the same list is no change";
}

TEST(NameBoard, KeepsTheLastGoodList) {
  Board with{{.endpoints_max = 2, .bytes_max = 100}};
  with.board->answer({{"tcp://a:1"}});
  with.board->answer({});
  EXPECT_EQ(with.board->last_failure().code(), StatusCode::kNotFound);
  with.board->answer({{"tcp://a:1"}, {"tcp://b:1"}, {"tcp://c:1"}});
  with.board->answer({{"tcp://" + std::string(100, 'a') + ":1"}});
  EXPECT_EQ(with.board->last_failure().code(), StatusCode::kResourceExhausted);
  with.board->fail({StatusCode::kUnavailable, Layer::kRuntime, "down"});
  with.board->refuse({StatusCode::kInvalidArgument, Layer::kRuntime, "garbage"});
  EXPECT_EQ(urls_of(with.board->list()), std::vector<std::string>{"tcp://a:1"});
  const NameWatchStats& stats = with.board->stats();
  EXPECT_EQ(stats.refused_empty, 1u);
  EXPECT_EQ(stats.refused_huge, 2u);
  EXPECT_EQ(stats.refused_malformed, 1u);
  EXPECT_EQ(stats.failures, 1u);
  EXPECT_EQ(stats.changes, 1u);
  with.board->answer({{"tcp://a:1"}});
  EXPECT_TRUE(with.board->last_failure().ok());
}

TEST(NameBoard, WritesOneLineForManyFailuresOfOneKind) {
  Board with;
  for (int i = 0; i < 1000; ++i) with.board->fail({StatusCode::kUnavailable, Layer::kRuntime, "down"});
  with.loop->run_until_idle();
  EXPECT_EQ(with.logger.warnings.size(), 1u);
  EXPECT_EQ(with.board->stats().failures, 1000u);
}

TEST(NameBoard, TakesTheLastOfManyChangesWithinTheInterval) {
  Board with;
  for (int i = 0; i < 1000; ++i) with.board->answer({{"tcp://a:" + std::to_string(i)}});
  EXPECT_EQ(urls_of(with.board->list()), std::vector<std::string>{"tcp://a:0"});
  with.clock.advance(std::chrono::milliseconds{100});
  with.loop->run_until_idle();
  EXPECT_EQ(urls_of(with.board->list()), std::vector<std::string>{"tcp://a:999"});
  EXPECT_EQ(with.board->stats().changes, 2u);
}

TEST(NameBoard, WakesAllWhoWaitAndEndsTheirWaitsWithItself) {
  Board with;
  Scope scope;
  std::optional<Result<NameSnapshot>> first;
  std::optional<Result<NameSnapshot>> second;
  std::optional<Result<NameSnapshot>> later;
  with.loop->post([&] {
    scope.spawn(&wait_for_change, with.board, std::uint64_t{0}, &first);
    scope.spawn(&wait_for_change, with.board, std::uint64_t{0}, &second);
    scope.spawn(&wait_for_change, with.board, std::uint64_t{1}, &later);
  });
  with.loop->run_until_idle();
  EXPECT_FALSE(first.has_value());
  with.board->answer({{"tcp://a:1"}});
  with.loop->run_until_idle();
  ASSERT_TRUE(first && second && first->ok() && second->ok());
  EXPECT_EQ(**first, with.board->list());
  EXPECT_FALSE(later.has_value());
  with.board->close();
  with.loop->run_until_idle();
  ASSERT_TRUE(later.has_value());
  EXPECT_EQ(later->status().code(), StatusCode::kCancelled);
  EXPECT_EQ(scope.count(), 0u);
}

TEST(NameBoard, AWaitMayBeCancelled) {
  Board with;
  Scope scope;
  std::optional<Result<NameSnapshot>> outcome;
  with.loop->post([&] { scope.spawn(&wait_for_change, with.board, std::uint64_t{0}, &outcome); });
  with.loop->run_until_idle();
  scope.cancel(CancelReason::kRequested);
  with.loop->run_until_idle();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->status().code(), StatusCode::kCancelled);
  with.board->answer({{"tcp://a:1"}});
  with.loop->run_until_idle();
}

}  // namespace
}  // namespace weft::detail
