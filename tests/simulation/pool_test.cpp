// SPDX-License-Identifier: Apache-2.0
// CR-12 on a clock that stands still: a pool of connections to a server that comes, goes, and is slow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulation/pool_world.hpp"
#include "support/manual_time.hpp"
#include "weft/connection_pool.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/transport/simulated_network.hpp"

namespace weft::simulation {

using namespace weft::detail;
namespace {

using ::testing::HasSubstr;

TEST_F(Pools, OneConnectionServesAsManyCallsAsItIsToHaveAndTheNextOneIsMadeForMore) {
  serve();
  PoolOptions its = options();
  its.calls_per_connection = 10;
  make(its);
  auto calls = begin<&Kept::held>(10);
  EXPECT_EQ(stats().connections, 1u);
  auto more = begin<&Kept::held>(15, 100);
  EXPECT_EQ(stats().connections, 3u);
  EXPECT_EQ(stats().connections_busy, 3u);
  EXPECT_EQ(stats().calls_in_flight, 25u);
  EXPECT_EQ(stats().calls_waiting, 0u);
  kept_.gate.set();
  run_until_idle();
  EXPECT_EQ(outcome(more[14]).value(), 228u);
  EXPECT_EQ(stats().connections_busy, 0u);
  auto later = begin<&Kept::twice>(10, 200);
  EXPECT_EQ(stats().connects, 3u) << "what there is suffices";
}

TEST_F(Pools, CallsBeyondAllConnectionsWaitAndGoWhenOthersHaveEnded) {
  serve();
  PoolOptions its = options();
  its.calls_per_connection = 2;
  its.connections_max = 3;
  make(its);
  auto calls = begin<&Kept::held>(10);
  EXPECT_EQ(stats().connections, 3u);
  EXPECT_EQ(stats().calls_in_flight, 6u);
  EXPECT_EQ(stats().calls_waiting, 4u);
  calls[0].cancel();
  run_until_idle();
  EXPECT_EQ(stats().calls_in_flight, 6u);
  EXPECT_EQ(stats().calls_waiting, 3u);
  kept_.gate.set();
  run_until_idle();
  for (std::uint32_t i = 1; i < 10; ++i) EXPECT_EQ(outcome(calls[i]).value(), i * 2);
}

TEST_F(Pools, ACallWaitsForAServerThatIsNotThereYetAndAttemptsAreSpread) {
  make(options());
  auto calls = begin<&Kept::twice>(1);
  pass(10s);
  EXPECT_FALSE(calls[0].done());
  EXPECT_GE(network_->attempts.size(), 10u);
  EXPECT_LE(network_->attempts.size(), 30u) << "a second between attempts in the end, jittered to half of it";
  serve();
  pass(1s);
  EXPECT_EQ(outcome(calls[0]).value(), 0u);
}

TEST_F(Pools, ACallThatWaitedUntilItsTimeWasOverSaysWhyThereIsNoConnection) {
  make(options());
  auto calls = begin<&Kept::twice>(1);
  pass(31s);
  const Status failure = outcome(calls[0]).status();
  EXPECT_EQ(failure.code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(failure.unprocessed());
  EXPECT_THAT(failure.to_string(), HasSubstr("nobody listens there"));
  const std::size_t attempts = network_->attempts.size();
  pass(60s);
  EXPECT_EQ(network_->attempts.size(), attempts) << "nobody waits, so nobody connects";
}

TEST_F(Pools, OneThatDoesNotWaitForAServerFailsWithTheFirstAttempt) {
  PoolOptions its = options();
  its.waits_for_ready = false;
  make(its);
  auto calls = begin<&Kept::twice>(3);
  for (auto& call : calls) EXPECT_EQ(outcome(call).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(network_->attempts.size(), 1u);
}

TEST_F(Pools, AFailureThatNoAttemptChangesIsToldAtOnce) {
  PoolOptions its = options();
  its.client.connect = "nothing://server";
  make(its);
  auto calls = begin<&Kept::twice>(2);
  EXPECT_EQ(outcome(calls[0]).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(outcome(calls[1]).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(Pools, OptionsThatMakeNoSenseAreNamed) {
  PoolOptions its = options();
  its.connections_max = 0;
  make(its);
  auto calls = begin<&Kept::twice>(1);
  EXPECT_THAT(outcome(calls[0]).status().to_string(), HasSubstr("PoolOptions::connections_max"));
}

TEST_F(Pools, ACallThatMayHaveRunIsRepeatedOnlyIfItIsIdempotent) {
  serve();
  make(options());
  auto once = begin<&Kept::held>(1, 1);
  auto again = begin<held_again>(1, 2);
  CallOptions call_options;
  call_options.idempotent = true;
  auto by_option = pool().start<&Kept::held>(call_options, 3u);
  run_until_idle();
  crash();
  run_until_idle();
  EXPECT_EQ(outcome(once[0]).status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(again[0].done());
  kept_.gate.set();
  serve();
  pass(1s);
  EXPECT_EQ(outcome(again[0]).value(), 4u);
  EXPECT_EQ(outcome(by_option).value(), 6u);
  EXPECT_EQ(kept_.ran[1], 1);
  EXPECT_EQ(kept_.ran[2], 2);
  EXPECT_EQ(kept_.ran[3], 2);
  EXPECT_EQ(stats().retries, 2u);
}

TEST_F(Pools, ACallThatMayHaveRunNeverSaysThatItHasNot) {
  serve();
  make(options());
  CallOptions soon;
  soon.timeout = 2s;
  auto late = pool().start<held_again>(soon, 1u);
  auto closed = pool().start<held_again>(2u);
  run_until_idle();
  crash();
  run_until_idle();
  auto never_sent = pool().start<held_again>(soon, 3u);
  run_until_idle();
  EXPECT_EQ(stats().retries, 2u);
  pass(3s);
  const Status out_of_time = outcome(late).status();
  EXPECT_EQ(out_of_time.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(out_of_time.message(), HasSubstr("its connection was lost"));
  EXPECT_FALSE(out_of_time.unprocessed()) << "it ran before the crash";
  EXPECT_TRUE(outcome(never_sent).status().unprocessed());
  pool().close();
  const Status of_closing = outcome(closed).status();
  EXPECT_EQ(of_closing.code(), StatusCode::kCancelled);
  EXPECT_FALSE(of_closing.unprocessed());
  EXPECT_EQ(kept_.ran[1], 1);
  EXPECT_EQ(kept_.ran[3], 0);
}

TEST_F(Pools, ACallIsRepeatedThreeTimesAndNoMore) {
  serve();
  make(options());
  auto calls = begin<held_again>(1, 1);
  for (int crashes = 0; crashes < 4; ++crashes) {
    EXPECT_FALSE(calls[0].done());
    crash();
    serve();
    pass(1s);
  }
  EXPECT_EQ(outcome(calls[0]).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(kept_.ran[1], 4);
}

TEST_F(Pools, RepetitionsOfWhatMayHaveRunAreBoundedByTheBudget) {
  serve();
  PoolOptions its = options();
  its.retry_budget = {.share_of_calls = 0.1, .floor_per_second = 0, .saved_max = 50};
  make(its);
  auto calls = begin<held_again>(100);
  crash();
  run_until_idle();
  int ended = 0;
  for (auto& call : calls) ended += call.done() ? 1 : 0;
  EXPECT_NEAR(ended, 89, 1) << "a tenth of them is repeated, and one that is there from the beginning";
  EXPECT_EQ(stats().retries_refused, static_cast<std::uint64_t>(ended));
}

TEST_F(Pools, CallsThatNeverLeftAreBegunAgainWithoutTheBudget) {
  serve();
  PoolOptions its = options();
  its.retry_budget = {.share_of_calls = 0, .floor_per_second = 0, .saved_max = 1};
  make(its);
  auto first = begin<&Kept::twice>(1);
  std::vector<Call<std::uint32_t>> calls;
  for (std::uint32_t i = 0; i < 50; ++i) calls.push_back(pool().start<&Kept::twice>(100 + i));
  crash();  // in the turn in which they were queued
  serve();
  pass(1s);
  int failed = 0;
  for (std::uint32_t i = 0; i < 50; ++i) failed += outcome(calls[i]).ok() ? 0 : 1;
  EXPECT_EQ(failed, 0);
  for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(kept_.ran[100 + i], 1) << i;
}

TEST_F(Pools, IdleConnectionsGoAndThoseBeyondTheUsualGoSooner) {
  serve();
  PoolOptions its = options();
  its.calls_per_connection = 1;
  make(its);
  auto calls = begin<&Kept::held>(5);
  EXPECT_EQ(stats().connections, 5u);
  kept_.gate.set();
  run_until_idle();
  pass(3500ms);
  EXPECT_EQ(stats().connections, 1u) << "five were used for a moment only";
  EXPECT_EQ(stats().connections_idle, 4u);
  pass(20s);
  EXPECT_EQ(stats().connections, 1u);
  pass(12s);
  EXPECT_EQ(stats().connections, 0u);
  EXPECT_EQ(stats().connections_leaving, 0u);
  EXPECT_FALSE(loop().next_timer().has_value()) << "a pool without connections costs nothing";
  auto later = begin<&Kept::twice>(1, 7);
  EXPECT_EQ(outcome(later[0]).value(), 14u);
}

TEST_F(Pools, TimesWithoutEndSetNoTimer) {
  PoolOptions its = options();
  its.spare_idle_timeout = kNoTimeout;
  its.idle_timeout = kNoTimeout;
  its.connection_life_max = kNoTimeout;
  serve();
  Call<std::uint32_t> call = make(its).start<&Kept::twice>(1);
  for (int turn = 0; turn < 1000 && loop().run_once(Duration::zero()); ++turn) {
  }
  // A time that has passed already would make each turn find work.
  ASSERT_FALSE(loop().run_once(Duration::zero()));
  EXPECT_EQ(stats().connections, 1u);
  EXPECT_EQ(outcome(call).value(), 2u);
}

TEST_F(Pools, AnIdleConnectionIsClosedHoweverLateSpareOnesAre) {
  for (const Duration spare : {Duration{1h}, kNoTimeout}) {
    PoolOptions its = options();
    its.spare_idle_timeout = spare;
    its.idle_timeout = 10s;
    its.connection_life_max = 0s;
    serve();
    make(its);
    connect();
    pass(9s);
    EXPECT_EQ(stats().connections, 1u);
    pass(12s);
    EXPECT_EQ(stats().connections, 0u);
    EXPECT_FALSE(loop().next_timer().has_value());
  }
}

TEST_F(Pools, AConnectionIsRenewedHoweverLateSpareOnesAre) {
  PoolOptions its = options();
  its.spare_idle_timeout = kNoTimeout;
  its.idle_timeout = 0s;
  its.connection_life_max = 1min;
  serve();
  make(its);
  connect();
  pass(44s);
  EXPECT_EQ(stats().connections_renewed, 0u);
  pass(17s);
  EXPECT_EQ(stats().connections_renewed, 1u);
  pass(10min);
  EXPECT_GE(stats().connections_renewed, 10u);
  EXPECT_LE(stats().connections_renewed, 15u);
  EXPECT_EQ(stats().connections, 1u);
}

TEST_F(Pools, ARenewalThatFailsIsTriedAgainAndSpinsNot) {
  PoolOptions its = options();
  its.spare_idle_timeout = kNoTimeout;
  its.idle_timeout = 0s;
  its.connection_life_max = 4s;
  serve();
  make(its);
  connect();
  network_->refuses = true;
  network_->attempts.clear();
  pass(30s);
  EXPECT_EQ(stats().connections, 1u);
  EXPECT_GE(network_->attempts.size(), 4u);
  EXPECT_LE(network_->attempts.size(), 12u);
  network_->refuses = false;
  pass(10s);
  EXPECT_GE(stats().connections_renewed, 1u);
}

TEST_F(Pools, TheLastConnectionIsNoSpareOne) {
  serve();
  make(options());
  connect();
  pass(5s);
  EXPECT_EQ(stats().connections, 1u) << "it carried nothing yet";
  pass(20s);
  EXPECT_EQ(stats().connections, 1u);
  pass(7s);
  EXPECT_EQ(stats().connections, 0u);
}

TEST_F(Pools, ConnectionsAreRenewedBeforeTheirLifeIsOverAndNoCallNoticesIt) {
  serve();
  PoolOptions its = options();
  its.idle_timeout = 0s;
  make(its);
  std::uint32_t number = 1000;
  for (int second = 0; second < 1500; ++second) {
    pass(1s);
    auto calls = begin<&Kept::twice>(1, ++number);
    ASSERT_TRUE(calls[0].done());
    ASSERT_EQ(outcome(calls[0]).value(), number * 2);
    EXPECT_LE(stats().connections, 2u);
  }
  EXPECT_GE(stats().connections_renewed, 5u);
  EXPECT_LE(stats().connections_renewed, 7u);
  EXPECT_EQ(stats().connections_lost, 0u);
}

TEST_F(Pools, ACallOnAConnectionThatIsRenewedGoesOnToItsEnd) {
  serve();
  PoolOptions its = options();
  its.client.call_timeout = kNoTimeout;
  make(its);
  auto slow = begin<&Kept::held>(1, 9);
  pass(400s);
  EXPECT_EQ(stats().connections_renewed, 1u);
  EXPECT_EQ(stats().connections_leaving, 1u);
  EXPECT_FALSE(slow[0].done());
  kept_.gate.set();
  run_until_idle();
  EXPECT_EQ(outcome(slow[0]).value(), 18u);
  pass(1s);
  EXPECT_EQ(stats().connections_leaving, 0u);
}

TEST_F(Pools, WhatAPoolServesIsCalledOverEachOfItsConnections) {
  serve();
  PoolOptions its = options();
  its.calls_per_connection = 1;
  make(its).register_handler<&Field::thrice>(&field_);
  auto calls = begin<&Kept::ask_back>(5);
  EXPECT_EQ(stats().connections, 5u);
  ASSERT_EQ(kept_.peers.size(), 5u);
  kept_.gate.set();
  run_until_idle();
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(outcome(calls[i]).value(), 3 * i);
  EXPECT_EQ(field_.asked, 5u);
  EXPECT_EQ(ask_peer(2).value(), 21u) << "a handle that was kept reaches its connection";
  pass(60s);
  EXPECT_EQ(stats().connections, 0u);
  EXPECT_EQ(ask_peer(2).status().code(), StatusCode::kUnavailable);
}

TEST_F(Pools, APoolThatServesNothingRefusesTheServersCalls) {
  serve();
  make(options());
  auto calls = begin<&Kept::ask_back>(1);
  kept_.gate.set();
  run_until_idle();
  EXPECT_EQ(outcome(calls[0]).status().code(), StatusCode::kUnimplemented);
}

TEST_F(Pools, AMistakeInWhatAPoolServesFailsItsCalls) {
  serve();
  ConnectionPool& its = make(options());
  its.register_handler<&Field::thrice>(&field_);
  its.register_handler<&Field::thrice>(&field_);
  auto calls = begin<&Kept::twice>(1);
  const Result<std::uint32_t> refused = outcome(calls[0]);
  EXPECT_EQ(refused.status().code(), StatusCode::kAlreadyExists) << refused.status().to_string();
  EXPECT_EQ(stats().connects, 0u);
}

TEST_F(Pools, AConnectionThatServesIsNotIdleAndOneThatIsLeftEndsBehindItsAnswers) {
  serve();
  PoolOptions its = options();
  its.client.call_timeout = kNoTimeout;
  make(its).register_handler<&Field::thrice, &Field::thrice_later>(&field_);
  kept_.gate.set();
  auto calls = begin<&Kept::ask_back>(1, 1);
  EXPECT_EQ(outcome(calls[0]).value(), 3u);
  CallOptions forever;
  forever.timeout = 3600s;
  auto asked = kept_.peers.at(0).start<&Field::thrice_later>(forever, 7u);
  pass(100s);
  EXPECT_EQ(stats().connections, 1u) << "it serves";
  pass(300s);
  EXPECT_EQ(stats().connections_renewed, 1u);
  EXPECT_EQ(stats().connections_leaving, 1u) << "it serves still";
  EXPECT_EQ(ask_peer(0).status().code(), StatusCode::kUnavailable) << "the server was told to ask no more";
  EXPECT_FALSE(asked.done());
  field_.gate.set();
  run_until_idle();
  EXPECT_EQ(outcome(asked).value(), 21u);
  pass(1s);
  EXPECT_EQ(stats().connections_leaving, 0u);
}

TEST_F(Pools, AConnectionThatServesAShortCallNowAndThenIsNotIdle) {
  serve();
  make(options()).register_handler<&Field::thrice>(&field_);
  kept_.gate.set();
  auto calls = begin<&Kept::ask_back>(1, 1);
  EXPECT_EQ(outcome(calls[0]).value(), 3u);
  for (int second = 0; second < 120; ++second) {
    pass(1s);
    ASSERT_EQ(ask_peer(0).status().code(), StatusCode::kOk) << second;
  }
  pass(60s);
  EXPECT_EQ(stats().connections, 0u) << "and then it is";
}

/// A pool that serves, and a server that asks it, 10 ms from each other: what one sends the other has not
/// heard of for a while.
class DistantPools : public ::testing::Test {
 protected:
  DistantPools() {
    ServerOptions options;
    options.listen = {"memory://server"};
    options.threads = 0;
    options.loop = loop_.get();
    server_ = std::make_unique<Server>(std::move(options), of(there_));
    server_->register_handler<&Kept::ask_back>(&kept_);
    server_->start().value();
    kept_.gate.set();
  }
  ~DistantPools() override {
    scope_.drop_all();
    pool_.reset();
    server_.reset();
  }

  static Transports of(const SimulatedHost& host) {
    Transports transports;
    transports.add(host.transport());
    return transports;
  }
  void make(PoolOptions options) {
    options.client.connect = "memory://server";
    pool_ = std::make_unique<ConnectionPool>(*loop_, std::move(options), of(here_));
    pool_->register_handler<&Field::thrice>(&field_);
  }
  void pass(Duration time) { testing::pass(*loop_, clock_, time); }
  void ask_the_server() { scope_.spawn(&DistantPools::keep_asked, pool_.get(), &introduced_); }
  /// Asks by the connection that the server heard from last.
  void ask_the_pool() { scope_.spawn(&DistantPools::keep_answer, kept_.peers.back(), &told_); }

  struct Told {
    int answered = 0;
    int unasked = 0;
    std::vector<std::string> lost;
  };

  Kept kept_;
  Field field_;
  Told told_;
  int introduced_ = 0;
  ManualClock clock_;
  std::unique_ptr<Loop> loop_ = Loop::create({.clock = &clock_, .seed = 1}).value();
  SimulatedNetwork network_{*loop_, {.seed = 1, .outgoing = {.latency = 10ms}}};
  SimulatedHost there_ = network_.host("there");
  SimulatedHost here_ = network_.host("here");
  std::unique_ptr<Server> server_;
  std::unique_ptr<ConnectionPool> pool_;
  Scope scope_;

 private:
  static Task<void> keep_asked(ConnectionPool* pool, int* introduced) {
    const Result<std::uint32_t> answer = co_await pool->call<&Kept::ask_back>(1u);
    EXPECT_TRUE(answer.ok()) << answer.status().to_string();
    ++*introduced;
  }
  static Task<void> keep_answer(Peer peer, Told* told) {
    const Result<std::uint32_t> answer = co_await peer.call<&Field::thrice>(7u);
    if (answer.ok()) {
      ++told->answered;
    } else if (answer.status().unprocessed()) {
      ++told->unasked;
    } else {
      told->lost.push_back(answer.status().to_string());
    }
  }
};

TEST_F(DistantPools, ACallThatTheServerSentBeforeItHeardThatItsConnectionIsLeftIsServed) {
  PoolOptions options;
  options.connection_life_max = 1s;
  make(std::move(options));
  ask_the_server();
  pass(100ms);
  ASSERT_EQ(introduced_, 1);
  for (int i = 0; i < 5000; ++i) {
    if (i % 200 == 0) ask_the_server();
    ask_the_pool();
    pass(1ms);
  }
  pass(1s);
  EXPECT_GE(pool_->stats().connections_renewed, 4u);
  EXPECT_GT(told_.unasked, 0) << "the server heard that, and asked no more";
  EXPECT_EQ(told_.answered + told_.unasked, 5000);
  EXPECT_THAT(told_.lost, ::testing::IsEmpty());
  pass(10s);
  EXPECT_EQ(pool_->stats().connections_leaving, 0u);
}

TEST_F(Pools, ManyConnectionsThatAreLostTogetherMakeOneAttemptAtATime) {
  serve();
  PoolOptions its = options();
  its.calls_per_connection = 1;
  its.retry_budget.floor_per_second = 20;
  make(its);
  auto calls = begin<held_again>(20);
  EXPECT_EQ(stats().connections, 20u);
  network_->attempts.clear();
  crash();
  pass(10s);
  EXPECT_LE(network_->attempts.size(), 30u);
  EXPECT_GE(network_->attempts.size(), 10u);
  serve();
  kept_.gate.set();
  pass(2s);
  for (std::uint32_t i = 0; i < 20; ++i) EXPECT_EQ(outcome(calls[i]).value(), i * 2);
}

TEST_F(Pools, CallsWithLargeAttachmentsGoByAConnectionOfTheirOwn) {
  serve();
  PoolOptions its = options();
  its.bulk_bytes_min = 100'000;
  make(its);
  const Buffer large = blob(200'000);
  CallOptions call_options;
  call_options.attachment = large.bytes();
  auto bulk = pool().start<&Kept::weigh>(call_options, 1u);
  run_until_idle();
  EXPECT_EQ(stats().connections, 1u);
  auto small = begin<&Kept::twice>(1, 2);
  CallOptions plain;
  plain.timeout = 1s;
  auto with_options = pool().start<&Kept::twice>(plain, 3u);
  run_until_idle();
  EXPECT_EQ(stats().connections, 2u);
  EXPECT_EQ(outcome(bulk).value(), 200'001u);
  EXPECT_EQ(outcome(small[0]).value(), 4u);
  EXPECT_EQ(outcome(with_options).value(), 6u);
  EXPECT_EQ(stats().connects, 2u);
}

TEST_F(Pools, ClosingEndsWhatIsInFlightAndWhatWaits) {
  serve();
  PoolOptions its = options();
  its.calls_per_connection = 1;
  its.connections_max = 1;
  make(its);
  auto calls = begin<held_again>(3);
  pool().close();
  for (auto& call : calls) EXPECT_EQ(outcome(call).status().code(), StatusCode::kCancelled);
  auto late = begin<&Kept::twice>(1);
  EXPECT_THAT(outcome(late[0]).status().to_string(), HasSubstr("the pool was closed"));
}

TEST_F(Pools, PoolsAreMadeByAddressAndShared) {
  serve();
  ConnectionPools pools{loop(), options(), transports()};
  ConnectionPool& one = pools.at("memory://server");
  EXPECT_EQ(&pools.at("memory://server"), &one);
  ConnectionPool& other = pools.at("memory://other");
  EXPECT_NE(&other, &one);
  EXPECT_EQ(pools.size(), 2u);
  auto call = one.start<&Kept::twice>(4u);
  run_until_idle();
  EXPECT_EQ(outcome(call).value(), 8u);
  pools.drop("memory://other");
  EXPECT_EQ(pools.size(), 1u);
}

}  // namespace

}  // namespace weft::simulation
