// SPDX-License-Identifier: Apache-2.0
// How bytes flow while they are many: nobody waits for somebody who waits for him, and a transfer that takes
// long is no death. On a clock that stands still, so that a slow connection costs no time.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "weft/detail/transport/memory.hpp"

namespace weft::testing::flow_tests {
namespace {

using namespace std::chrono_literals;

std::string echo(std::string_view text) {
  return std::string{text};
}
std::size_t take(CallContext& context) {
  return context.attachment().size();
}
int give(CallContext& context, std::uint32_t bytes) {
  Result<Buffer> buffer = Buffer::try_allocate(bytes);
  context.set_attachment(std::move(buffer).value());
  return 1;
}

/// Keeps its callers waiting until all are answered at once.
struct Holder {
  std::vector<Reply<std::string>> held;
  void hold(Reply<std::string> reply) { held.push_back(std::move(reply)); }
  void answer_all(const std::string& text) {
    for (auto& reply : held) std::move(reply)(text);
    held.clear();
  }
};

/// Notes when its answers have left.
struct Teller {
  std::vector<bool> left;
  int tell(CallContext& context, std::uint32_t attachment_bytes) {
    if (attachment_bytes != 0) context.set_attachment(Buffer::adopt(std::string(attachment_bytes, 'a')));
    context.on_answer_sent([this](bool sent) { left.push_back(sent); });
    return 1;
  }
};

/// A client and a server on one loop, over one connection in memory.
class Flow : public ::testing::Test {
 protected:
  void begin(const MemoryOptions& memory, const RpcLimits& limits) {
    LoopOptions loop_options;
    loop_options.clock = &clock_;
    loop_ = Loop::create(loop_options).value();
    transports_.add(std::make_unique<MemoryNetwork>(memory));
    ServerOptions server;
    server.listen = {"memory://server"};
    server.threads = 0;
    server.loop = loop_.get();
    server.limits = limits;
    server_ = std::make_unique<Server>(std::move(server), transports_);
    server_->register_handler<echo>();
    server_->register_handler<take>();
    server_->register_handler<give>();
    server_->register_handler<&Holder::hold>(&holder_);
    server_->register_handler<&Teller::tell>(&teller_);
    server_->start().value();
    ClientOptions client;
    client.connect = "memory://server";
    client.limits = limits;
    client_ = std::make_unique<Client>(*loop_, std::move(client), transports_);
  }

  /// Turns the loop, and moves the clock when there is nothing left to do at this time. False when
  /// `condition` does not hold `patience` later.
  template <typename Condition>
  bool turn_until(Condition condition, Duration patience) {
    const TimePoint end = clock_.now() + patience;
    while (!condition()) {
      loop_->run_until_idle();
      if (condition()) return true;
      const auto next = loop_->next_timer();
      if (!next || *next > end) return false;
      clock_.set(std::max(*next, clock_.now()));
    }
    return true;
  }
  Client& client() { return *client_; }
  Loop& loop() { return *loop_; }
  Holder& holder() { return holder_; }
  Teller& teller() { return teller_; }
  static bool all_done(const std::vector<Call<std::string>>& calls) {
    return std::ranges::all_of(calls, [](const auto& call) { return call.done(); });
  }

  /// 16 KiB are on their way at a time, and take `delay`.
  static MemoryOptions slow(Duration delay) {
    MemoryOptions memory;
    memory.pipe_bytes = 16 * 1024;
    memory.peer_may_vanish = true;
    memory.to_server.delay = memory.to_client.delay = delay;
    return memory;
  }
  static RpcLimits pinging() {
    RpcLimits limits;
    limits.ping_interval = 1s;
    limits.unrequested_attachment_bytes_max = 4u << 20;
    return limits;
  }

 private:
  ManualClock clock_;
  Holder holder_;
  Teller teller_;
  std::unique_ptr<Loop> loop_;
  Transports transports_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

// Both queues are over their high-water marks: if each side then waited with reading until its own output has
// drained, none would ever drain.
TEST_F(Flow, MuchInBothDirectionsDoesNotWaitForItself) {
  MemoryOptions memory;
  memory.pipe_bytes = 4 * 1024;
  RpcLimits limits;
  limits.outbox_high_water = 64 * 1024;
  begin(memory, limits);
  std::vector<Call<std::string>> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(client().start<&Holder::hold>());
  ASSERT_TRUE(turn_until([&] { return holder().held.size() == 8; }, 1s));
  for (const std::size_t bytes : {30'000u, 30'000u, 500'000u}) {
    calls.push_back(client().start<echo>(std::string(bytes, 'x')));
  }
  holder().answer_all(std::string(60'000, 'y'));
  EXPECT_TRUE(turn_until([&] { return all_done(calls); }, 1s))
      << client().stats().calls_in_flight << " calls wait for each other";
}

// What is answered while the client's queue is full makes room for the calls that wait.
TEST_F(Flow, CallsThatWaitGoOnHoweverFullTheQueueWas) {
  MemoryOptions memory;
  memory.pipe_bytes = 4 * 1024;
  RpcLimits limits;
  limits.outbox_high_water = 16 * 1024;
  limits.calls_in_flight_max = 2;
  begin(memory, limits);
  std::vector<Call<std::string>> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(client().start<echo>(std::string(40'000, 'x')));
  EXPECT_TRUE(turn_until([&] { return all_done(calls); }, 1s)) << client().stats().calls_waiting << " wait";
}

TEST_F(Flow, AnUploadThatTakesLongerThanAPingIsNoDeath) {
  begin(slow(100ms), pinging());
  const std::vector<std::byte> bytes(1u << 20);
  CallOptions options;
  options.attachment = Bytes{bytes};
  Call<std::size_t> call = client().start<take>(options);
  ASSERT_TRUE(turn_until([&] { return call.done(); }, 60s));
  EXPECT_EQ(client().stats().calls_in_flight, 0u);
  EXPECT_EQ(client().stats().connections, 1u);
  Call<std::string> next = client().start<echo>("still here");
  ASSERT_TRUE(turn_until([&] { return next.done(); }, 60s));
  EXPECT_EQ(client().stats().connections, 1u) << "the connection has survived the upload";
}

TEST_F(Flow, ADownloadThatTakesLongerThanAPingIsNoDeath) {
  begin(slow(100ms), pinging());
  Call<int> call = client().start<give>(1u << 20);
  ASSERT_TRUE(turn_until([&] { return call.done(); }, 60s));
  Call<std::string> next = client().start<echo>("still here");
  ASSERT_TRUE(turn_until([&] { return next.done(); }, 60s));
  EXPECT_EQ(client().stats().connections, 1u) << "the connection has survived the download";
}

TEST_F(Flow, ABodyThatTakesLongerThanAPingIsNoDeath) {
  begin(slow(100ms), pinging());
  Call<std::string> call = client().start<echo>(std::string(1u << 20, 'x'));
  ASSERT_TRUE(turn_until([&] { return call.done(); }, 60s));
  Call<std::string> next = client().start<echo>("still here");
  ASSERT_TRUE(turn_until([&] { return next.done(); }, 60s));
  EXPECT_EQ(client().stats().connections, 1u);
}

TEST_F(Flow, AnAnswerHasLeftWhenItHasAndNotWhenItIsQueued) {
  MemoryOptions memory;
  memory.pipe_bytes = 16 * 1024;
  memory.to_client.delay = 100ms;
  begin(memory, {});
  std::vector<Call<std::string>> first;
  first.push_back(client().start<echo>("connected"));
  ASSERT_TRUE(turn_until([&] { return all_done(first); }, 1h));
  Call<std::string> large = client().start<echo>(std::string(256 * 1024, 'l'));
  std::vector<Call<int>> told;
  for (const std::uint32_t attachment : {0u, 100u, 100'000u}) {
    told.push_back(client().start<&Teller::tell>(attachment));
  }
  loop().run_until_idle();
  EXPECT_TRUE(teller().left.empty()) << "16 KiB of the answer before are on their way, the rest is queued";
  ASSERT_TRUE(turn_until([&] { return told.back().done(); }, 1h));
  EXPECT_EQ(teller().left, (std::vector<bool>{true, true, true}));
}

}  // namespace
}  // namespace weft::testing::flow_tests
