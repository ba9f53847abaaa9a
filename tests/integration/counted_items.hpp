// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <weft/weft.hpp>

#include "support/counting_clock.hpp"
#include "support/heap_count.hpp"
#include "support/kernel_calls.hpp"

/// Counts what an item of a stream costs each side: allocations, and questions to the kernel. Nothing is
/// timed.
namespace weft::counted_items {

using Item = std::array<std::uint64_t, 16>;

/// Items that have arrived where they were sent to, over all streams of the program.
inline std::size_t arrived = 0;

inline Stream<Item> send_items() {
  for (Item item{};; ++item[0]) co_yield item;
}
inline Task<void> take_items(Reader<Item>& items) {
  while (auto item = co_await items.next()) ++arrived;
}
inline Stream<Item> answer_items(Reader<Item>& items) {
  while (auto item = co_await items.next()) {
    Item answer = *item;
    ++answer[0];
    co_yield answer;
  }
}

inline Task<void> read_items(Client* client) {
  auto stream = client->open<send_items>();
  while (auto item = co_await stream.next()) ++arrived;
}
inline Task<void> write_items(Client* client) {
  auto stream = client->open<take_items>();
  for (Item item{};; ++item[0]) {
    if (const bool taken = co_await stream.write(item); !taken) break;
  }
}
inline Task<void> write_and_read_items(Client* client) {
  auto stream = client->open<answer_items>();
  for (Item item{};; ++item[0]) {
    if (const bool taken = co_await stream.write(item); !taken) break;
    auto answer = co_await stream.next();
    if (!answer || (*answer)[0] != item[0] + 1) break;
    ++arrived;
  }
}

/// One side: its loop, and what happened in the turns of that.
class Side {
 public:
  explicit Side(Clock& clock) : loop_(Loop::create({.clock = &clock}).value()) {}

  Loop& loop() { return *loop_; }
  void turn() {
    const std::size_t allocations = testing::heap_allocations();
    const std::size_t kernel_calls = testing::kernel_calls();
    const std::size_t bytes = testing::heap_bytes();
    loop_->run_once(Duration{});
    allocated_ += testing::heap_allocations() - allocations;
    bytes_ += testing::heap_bytes() - bytes;
    asked_ += testing::kernel_calls() - kernel_calls;
  }
  void restart() { allocated_ = asked_ = bytes_ = 0; }
  std::size_t allocated() const { return allocated_; }
  /// Bytes that were taken and not given back.
  std::size_t bytes() const { return bytes_; }
  double asked_per(std::size_t items) const {
    return static_cast<double>(asked_) / static_cast<double>(items);
  }

 private:
  std::unique_ptr<Loop> loop_;
  std::size_t allocated_ = 0;
  std::size_t asked_ = 0;
  std::size_t bytes_ = 0;
};

/// A server at one end of a connection and a client at the other, each with a loop, both turned by the test.
class CountedItems : public ::testing::Test {
 protected:
  /// `transports` makes what each of both has.
  template <typename Transports>
  CountedItems(std::string url, Transports transports)
      : client_side_(clock_),
        server_side_(clock_),
        server_(ServerOptions{.listen = {std::move(url)}, .threads = 0, .loop = &server_side_.loop()},
                transports()) {
    server_.register_handler<send_items, take_items, answer_items>();
    server_.start().value();
    client_.emplace(client_side_.loop(), ClientOptions{.connect = server_.urls().front()}, transports());
  }
  ~CountedItems() override {
    client_side_.loop().post([this] { users_.cancel(CancelReason::kRequested); });
    // The server has heard of it: nobody of the next test is counted with these.
    for (int i = 0; i < 10'000 && (users_.count() > 0 || server_.stats().calls_running > 0); ++i) turn();
  }

  /// Lets `streams` coroutines use a stream each, and counts the time in which kCounted items arrive, after
  /// kWarmUp others. The machine decides how many items come in one batch, and the largest batch so far may
  /// take a block more, which is kept: so who allocated is counted again, up to twice. What items cost shows
  /// each time.
  void count(std::size_t streams, Task<void> (*use)(Client*)) {
    client_side_.loop().post([this, streams, use] {
      for (std::size_t i = 0; i < streams; ++i) users_.spawn(use, &*client_);
    });
    ASSERT_NO_FATAL_FAILURE(turn_until_arrived(kWarmUp));
    for (int time = 0; time < 3; ++time) {
      restart();
      const std::size_t before = arrived;
      ASSERT_NO_FATAL_FAILURE(turn_until_arrived(kCounted));
      items_ = arrived - before;
      if (client_side_.allocated() + server_side_.allocated() == 0) break;
    }
    EXPECT_EQ(users_.count(), streams) << "a stream ended";
  }

  void restart() {
    client_side_.restart();
    server_side_.restart();
  }
  void turn() {
    client_side_.turn();
    server_side_.turn();
  }
  Client& client() { return *client_; }
  Loop& client_loop() { return client_side_.loop(); }
  std::uint64_t running_streams() const { return server_.stats().calls_running; }
  std::size_t client_bytes() const { return client_side_.bytes(); }
  std::size_t server_bytes() const { return server_side_.bytes(); }

  void expect_no_allocations() const {
    if (!kCountsAllocations) GTEST_SKIP() << "this build cannot count or bypasses the frame pool";
    EXPECT_EQ(client_side_.allocated(), 0u);
    EXPECT_EQ(server_side_.allocated(), 0u);
  }
  void expect_few_kernel_calls() const {
    RecordProperty("kernel_calls_of_the_client_per_item", std::to_string(client_side_.asked_per(items_)));
    RecordProperty("kernel_calls_of_the_server_per_item", std::to_string(server_side_.asked_per(items_)));
    EXPECT_LE(client_side_.asked_per(items_), 0.02);
    EXPECT_LE(server_side_.asked_per(items_), 0.02);
    EXPECT_GT(client_side_.asked_per(items_), 0) << "nothing was counted";
    EXPECT_GT(server_side_.asked_per(items_), 0) << "nothing was counted";
  }

 private:
  static constexpr bool kCountsAllocations = testing::kHeapIsCounted && !detail::kFramePoolBypassed;
  static constexpr std::size_t kWarmUp = 100'000;
  static constexpr std::size_t kCounted = 20'000;
  static constexpr int kIdleTurnsMax = 10'000;

  void turn_until_arrived(std::size_t more) {
    const std::size_t enough = arrived + more;
    int idle_turns = 0;
    for (std::size_t before = arrived; arrived < enough; before = arrived) {
      turn();
      idle_turns = arrived > before ? 0 : idle_turns + 1;
      ASSERT_LT(idle_turns, kIdleTurnsMax) << "no item arrives any more";
    }
  }

  testing::CountingClock clock_;
  Side client_side_;
  Side server_side_;
  Server server_;
  std::optional<Client> client_;
  Scope users_;
  std::size_t items_ = 0;
};

}  // namespace weft::counted_items
