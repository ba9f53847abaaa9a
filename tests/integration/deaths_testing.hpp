// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "integration/carrier_handlers.hpp"
#include "integration/faults/faults_testing.hpp"
#include "integration/victim.hpp"

/// Peers that are killed with calls in flight, over any carrier.
namespace weft::carrier_testing {

/// Durations of something that was done many times.
class Times {
 public:
  using Clock = std::chrono::steady_clock;

  void add(Clock::duration time) { all_.push_back(std::chrono::duration<double, std::milli>(time).count()); }
  void print(const char* what) {
    if (all_.empty()) return;
    std::ranges::sort(all_);
    const auto at = [&](double part) {
      return all_[static_cast<std::size_t>(part * double(all_.size() - 1))];
    };
    std::printf("%s: p50 %.2f ms, p99 %.2f ms, longest %.2f ms of %zu\n", what, at(0.5), at(0.99),
                all_.back(), all_.size());
  }

 private:
  std::vector<double> all_;
};

/// Ends of calls.
struct Ends {
  int started = 0;
  int ended = 0;
  int ok = 0;
  int unavailable = 0;
  std::string other;
};
template <typename R>
Task<void> note_end(Call<R> call, Ends* ends) {
  const Result<R> result = co_await std::move(call);
  ++ends->ended;
  if (result.ok()) {
    ++ends->ok;
  } else if (result.status().code() == StatusCode::kUnavailable) {
    ++ends->unavailable;
  } else {
    ends->other = result.status().to_string();
  }
}

/// Calls of every sort to one server: many that nobody answers, and a few of `large` bytes, in one run and in
/// blocks.
struct Calls {
  explicit Calls(std::size_t large_bytes)
      : sent(pattern(large_bytes)), landings{2, std::vector<std::byte>(large_bytes)} {}

  void start(Client& client) {
    for (int i = 0; i < 64; ++i) scope.spawn(&note_end<int>, client.start<wait_for_ever>(i), &small);
    start_large(client, Bytes{sent}, landings[0]);
    const std::size_t blocks = sent.size() / (2 * kBlock);
    start_large(client, AttachmentView::strided(sent, blocks, kBlock, 2 * kBlock),
                LandingView::strided(landings[1], blocks, kBlock, 2 * kBlock));
    small.started = 64;
    large.started = 4;
  }
  bool ended() const { return small.ended == small.started && large.ended == large.started; }
  /// Every call ended once; those that nobody answers, because the peer was lost.
  void expect_all_lost(Loop& loop) {
    EXPECT_EQ(small.unavailable, small.started) << "F2: " << small.other;
    EXPECT_EQ(large.unavailable + large.ok, large.started) << "F2: " << large.other;
    loop.block_on(faults::join(scope));
  }

  void start_large(Client& client, AttachmentView attachment, LandingView landing) {
    const std::uint64_t bytes = landing.bytes();
    scope.spawn(&note_end<std::uint64_t>, client.start<sum_up>({.attachment = attachment}), &large);
    scope.spawn(&note_end<std::uint64_t>, client.start<produce>({.landing = landing}, bytes, 1u), &large);
  }

  static constexpr std::size_t kBlock = 4096;

  Ends small;
  Ends large;
  Scope scope;
  std::vector<std::byte> sent;
  std::vector<std::vector<std::byte>> landings;
};

}  // namespace weft::carrier_testing
