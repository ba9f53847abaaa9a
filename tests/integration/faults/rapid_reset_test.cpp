// SPDX-License-Identifier: Apache-2.0
// Faults, part "peers bad in time": a peer that asks and gives up at once, again and again, while the
// handlers that it started go on.
#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/heap_count.hpp"
#include "integration/faults/hostile_peer.hpp"

namespace weft::faults::rapid_reset_tests {

using namespace weft::detail;
namespace {

/// Handlers that do not hear of a cancel: they run until the test ends them. Thread: any.
class Deaf {
 public:
  void run(Reply<int> reply) {
    const std::lock_guard lock(mutex_);
    running_.push_back(std::move(reply));
    most_ = std::max(most_, running_.size());
  }
  void end_all() {
    const std::lock_guard lock(mutex_);
    for (Reply<int>& reply : running_) std::move(reply)(1);
    running_.clear();
  }
  std::size_t most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::vector<Reply<int>> running_;
  std::size_t most_ = 0;
};

class RapidResets : public FaultTest {
 protected:
  static constexpr std::uint64_t kPairs = kHeapIsCounted ? 1'000'000 : 30'000;
  static constexpr std::uint64_t kPairsAtOnce = 1000;

  /// Asks and cancels `kPairs` times, and reads whatever comes.
  void flood(Server& server) {
    HostilePeer peer{server.urls().front()};
    ASSERT_TRUE(peer.send(hello_bytes()));
    std::thread reader([&] { EXPECT_TRUE(peer.closed_by_other_side()); });
    Client& honest = client(server.urls().front());
    for (std::uint64_t id = 1; id <= kPairs;) {
      std::string pairs;
      for (std::uint64_t i = 0; i < kPairsAtOnce; ++i, ++id) {
        pairs += request_bytes<&Deaf::run>(id) + control_bytes(wire::FrameType::kCancel, id);
      }
      ASSERT_TRUE(peer.send(pairs));
      ASSERT_EQ(wait_for(honest.start<&add>(3, 4)).value(), 7) << "others notice nothing";
    }
    // Those of the honest client are among them. What is taken later would find the handlers ended, and run.
    EXPECT_TRUE(eventually([&] { return server.stats().calls == kPairs + kPairs / kPairsAtOnce; }));
    const ServerStats stats = server.stats();
    std::printf("%lu requests taken, %lu refused, at most %zu handlers ran\n",
                static_cast<unsigned long>(stats.calls), static_cast<unsigned long>(stats.calls_refused),
                deaf_.most());
    deaf_.end_all();
    peer.end_sending();
    reader.join();
    EXPECT_TRUE(eventually([&] { return server.stats().calls_running == 0; }));
  }
  void fill(Server& server, const HandlerOptions& options) {
    server.register_handler<&Deaf::run>(&deaf_, options);
    server.register_handler<&add>();
  }

  Deaf deaf_;
};

TEST_F(RapidResets, RunNoMoreHandlersThanAMethodMay) {
  flood(serve({.threads = 1}, [&](Server& server) { fill(server, {.running_max = 100}); }));
  EXPECT_EQ(deaf_.most(), 100u);
}

TEST_F(RapidResets, RunNoMoreHandlersThanAConnectionMayHaveOfAServers) {
  flood(serve({.threads = 1, .calls_running_max = 900}, [&](Server& server) { fill(server, {}); }));
  EXPECT_EQ(deaf_.most(), 800u);
}

TEST_F(RapidResets, RunNoMoreHandlersThanAConnectionMay) {
  ServerOptions options{.threads = 1};
  options.limits.calls_in_flight_max = 500;
  flood(serve(std::move(options), [&](Server& server) { fill(server, {}); }));
  EXPECT_EQ(deaf_.most(), 500u);
}

}  // namespace
}  // namespace weft::faults::rapid_reset_tests
