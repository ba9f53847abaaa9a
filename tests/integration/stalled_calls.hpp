// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <semaphore>
#include <vector>

#include "weft/client.hpp"
#include "weft/server.hpp"

/// Calls to a server whose loop is blocked for longer than its callers wait, over any carrier.
namespace weft::stall_testing {

using namespace std::chrono_literals;

/// Handlers of a server that has a thread of its own.
struct StalledService {
  std::atomic<int> ran{0};
  std::binary_semaphore began{0};
  std::binary_semaphore released{0};

  int count(int number) {
    ++ran;
    return number;
  }
  /// Blocks its loop.
  void block() {
    began.release();
    released.acquire();
  }
};

inline void register_stalled(Server& server, StalledService& service) {
  server.register_handler<&StalledService::count>(&service);
  server.register_handler<&StalledService::block>(&service);
}

/// Time at which the requests arrive at the server.
enum class Arrival : std::uint8_t {
  kMeanwhile,         ///< while the loop is blocked
  kWithBlockingCall,  ///< in one piece with the call that blocks the loop
  kBeforeOthers,      ///< while the loop is blocked, and other requests follow them until the end
};

inline constexpr int kStalledCalls = 1000;
inline constexpr Duration kStallTimeout = 200ms;
inline constexpr Duration kStall = 600ms;

inline Task<void> await_block(StalledService* service) {
  while (!service->began.try_acquire()) {
    auto turn = sleep_for(1ms);
    (void)co_await std::move(turn);
  }
}

/// Starts the calls, and blocks the server's loop until they have expired. `others` are the requests that
/// follow them.
inline Task<void> stall(StalledService* service, Client* client, Arrival arrival,
                        std::vector<Call<int>>* calls, std::vector<Call<int>>* others) {
  CallOptions options;
  options.timeout = kStallTimeout;
  auto blocking = client->start<&StalledService::block>();
  if (arrival != Arrival::kWithBlockingCall) co_await await_block(service);
  for (int i = 0; i < kStalledCalls; ++i) calls->push_back(client->start<&StalledService::count>(options, i));
  if (arrival == Arrival::kWithBlockingCall) co_await await_block(service);
  const TimePoint end = client->loop().now() + kStall;
  while (client->loop().now() < end) {
    if (arrival == Arrival::kBeforeOthers) others->push_back(client->start<&StalledService::count>(-1));
    auto turn = sleep_for(10ms);
    (void)co_await std::move(turn);
  }
  service->released.release();
  auto blocked = co_await std::move(blocking);
  EXPECT_TRUE(blocked.ok()) << blocked.status().to_string();
}

inline Task<Result<int>> outcome_of_stalled(Call<int> call) {
  Result<int> result = co_await std::move(call);
  co_return result;
}

/// Handling of the requests that reached the server.
struct StallOutcome {
  int sent = 0;
  int ran = 0;
  int refused = 0;
};

/// Returns when the server has handled all requests of a stall. Each caller had given up before.
inline StallOutcome calls_in_stall(StalledService& service, Server& server, Loop& loop, Client& client,
                                   Arrival arrival) {
  // The loop reads its clock after up to 32 short calls from then on.
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(loop.block_on(outcome_of_stalled(client.start<&StalledService::count>(i))).ok());
  }
  const int ran_before = service.ran;
  const auto late_before = client.stats().late_answers;
  const auto refused_before = server.stats().refused[RefusalReason::kBehind];
  std::vector<Call<int>> calls;
  std::vector<Call<int>> others;
  loop.block_on(stall(&service, &client, arrival, &calls, &others));
  StallOutcome outcome;
  for (auto& call : calls) {
    const Result<int> result = loop.block_on(outcome_of_stalled(std::move(call)));
    EXPECT_EQ(result.status().code(), StatusCode::kDeadlineExceeded) << result.status().to_string();
    if (!result.status().unprocessed()) ++outcome.sent;
  }
  for (auto& other : others) {
    const Result<int> result = loop.block_on(outcome_of_stalled(std::move(other)));
    EXPECT_TRUE(result.ok()) << result.status().to_string();
  }
  // The next request comes after all of these are handled: its arrival would hide how long they have waited.
  while (client.stats().late_answers - late_before < static_cast<std::uint64_t>(outcome.sent)) {
    loop.run_once(5ms);
  }
  outcome.ran = service.ran - ran_before - static_cast<int>(others.size());
  outcome.refused = static_cast<int>(server.stats().refused[RefusalReason::kBehind] - refused_before);
  const Result<int> after = loop.block_on(outcome_of_stalled(client.start<&StalledService::count>(7)));
  EXPECT_TRUE(after.ok()) << after.status().to_string();
  EXPECT_GT(outcome.sent, 0);
  EXPECT_EQ(outcome.ran + outcome.refused, outcome.sent);
  return outcome;
}

/// Requests may run where the carrier does not tell when bytes arrived: they may have arrived just now.
inline void expect_expired_calls_run(const StallOutcome& outcome) {
  EXPECT_GT(outcome.ran, 0)
      << "the server knows how long these requests waited; docs/guide/overload.md says otherwise";
}

/// Requests in the memory of the loop have surely waited for as long as the loop was blocked. It reads its
/// clock after 32 of them, or after each one if a handler blocked it within the last 10 s.
inline void expect_known_expired_calls_do_not_run(StalledService& service, Server& server, Loop& loop,
                                                  Client& client) {
  EXPECT_LT(calls_in_stall(service, server, loop, client, Arrival::kWithBlockingCall).ran, 32);
  EXPECT_EQ(calls_in_stall(service, server, loop, client, Arrival::kWithBlockingCall).ran, 0);
}

}  // namespace weft::stall_testing
