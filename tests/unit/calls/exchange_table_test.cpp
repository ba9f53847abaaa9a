// SPDX-License-Identifier: Apache-2.0
#include "calls/call/exchange_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace weft {

using namespace weft::detail;
namespace {

struct Idle final : Exchange {
  void on_answer(const Frame&) override {}
  Landing on_answer_attachment(const Frame&) override { return Landing::skip(); }
  void on_answer_attachment_end(const Frame&, bool) override {}
  CallDetails* details() override { return nullptr; }
  void on_lost(const Status&, bool) override {}
};

std::uint64_t enter(ExchangeTable& table, Exchange& exchange, std::uint64_t position = 0) {
  EXPECT_TRUE(table.has_slot());
  return table.enter(exchange, position);
}

/// Takes all that begin at `position` or later.
template <typename Visit>
void take_from(ExchangeTable& table, std::uint64_t position, Visit visit) {
  std::uint32_t first = 0;
  std::size_t all = SIZE_MAX;
  EXPECT_TRUE(table.take_some(position, first, all, visit));
}

TEST(ExchangeTable, FindsEachExchangeByItsIdAndNobodyByAnother) {
  ExchangeTable table;
  std::vector<Idle> exchanges(100);
  std::vector<std::uint64_t> ids;
  for (Idle& exchange : exchanges) ids.push_back(enter(table, exchange));
  EXPECT_EQ(std::set<std::uint64_t>(ids.begin(), ids.end()).size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(table.find(ids[i]), &exchanges[i]);
  EXPECT_EQ(table.find(wire::make_id(100, 0)), nullptr);
  EXPECT_EQ(table.find(wire::make_id(0xFFFFFFFF, 0)), nullptr);
  EXPECT_EQ(table.find(wire::make_id(5, 1)), nullptr);
}

TEST(ExchangeTable, ASlotThatIsAbandonedStaysTakenUntilThePeerHasEndedTheExchange) {
  ExchangeTable table;
  Idle first;
  Idle second;
  const std::uint64_t id = enter(table, first);
  table.abandon(id);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.abandoned(), 1u);
  EXPECT_EQ(table.find(id), nullptr);
  const std::uint64_t other = enter(table, second);
  EXPECT_NE(wire::slot_of(other), wire::slot_of(id));
  EXPECT_EQ(table.take(id), nullptr) << "nobody waits for it";
  EXPECT_EQ(table.abandoned(), 0u);
  EXPECT_EQ(table.take(id), nullptr);
  EXPECT_EQ(table.abandoned(), 0u) << "a second end frees nothing more";
  EXPECT_EQ(wire::slot_of(enter(table, first)), wire::slot_of(id));
  EXPECT_EQ(table.size(), 2u);
}

TEST(ExchangeTable, AnIdThatLeftFindsNobodyAlsoWhenItsSlotIsTakenAgain) {
  ExchangeTable table;
  Idle first;
  Idle second;
  const std::uint64_t old = enter(table, first);
  table.leave(old);
  EXPECT_EQ(table.find(old), nullptr);
  const std::uint64_t id = enter(table, second);
  EXPECT_EQ(wire::slot_of(id), wire::slot_of(old)) << "slots are used again";
  EXPECT_EQ(table.find(old), nullptr);
  EXPECT_EQ(table.take(old), nullptr);
  EXPECT_EQ(table.find(id), &second);
}

TEST(ExchangeTable, APeerThatGuessesTheNextGenerationOfAFreeSlotFindsNobody) {
  ExchangeTable table;
  Idle exchange;
  const std::uint64_t id = enter(table, exchange);
  table.leave(id);
  const std::uint64_t guessed = wire::make_id(wire::slot_of(id), wire::generation_of(id) + 1);
  EXPECT_EQ(table.find(guessed), nullptr);
  EXPECT_EQ(table.take(guessed), nullptr);
  EXPECT_EQ(table.size(), 0u);
}

TEST(ExchangeTable, TakingAnExchangeGivesItOnce) {
  ExchangeTable table;
  Idle exchange;
  const std::uint64_t id = enter(table, exchange);
  EXPECT_EQ(table.take(id), &exchange);
  EXPECT_EQ(table.take(id), nullptr);
  EXPECT_EQ(table.size(), 0u);
}

TEST(ExchangeTable, AllAreTakenOnceAlsoWhenVisitingEntersMoreAndLetsOthersLeave) {
  ExchangeTable table;
  std::vector<Idle> exchanges(3);
  Idle late;
  std::vector<std::uint64_t> ids;
  for (Idle& exchange : exchanges) ids.push_back(enter(table, exchange));
  std::vector<Exchange*> visited;
  take_from(table, 0, [&](Exchange& exchange, std::uint64_t) {
    visited.push_back(&exchange);
    if (&exchange != &exchanges[0]) return;
    table.leave(ids[1]);
    enter(table, late);  // takes the slot that was left last, which is still to be visited
  });
  EXPECT_EQ(visited, (std::vector<Exchange*>{&exchanges[0], &late, &exchanges[2]}));
  EXPECT_EQ(table.size(), 0u);
}

TEST(ExchangeTable, TakesThoseThatBeginAtAPositionOrLater) {
  ExchangeTable table;
  std::vector<Idle> exchanges(4);
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < 4; ++i) ids.push_back(enter(table, exchanges[i], 100 * i));
  table.leave(ids[2]);
  std::vector<std::pair<Exchange*, std::uint64_t>> taken;
  take_from(table, 100,
            [&](Exchange& exchange, std::uint64_t position) { taken.emplace_back(&exchange, position); });
  EXPECT_EQ(taken,
            (std::vector<std::pair<Exchange*, std::uint64_t>>{{&exchanges[1], 100}, {&exchanges[3], 300}}));
  EXPECT_EQ(table.find(ids[0]), &exchanges[0]);
  EXPECT_EQ(table.size(), 1u);
}

}  // namespace
}  // namespace weft
