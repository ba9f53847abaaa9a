// SPDX-License-Identifier: Apache-2.0
// Ten thousand clients whose server goes away and comes back, on a clock that stands still.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "simulation/noting_network.hpp"
#include "simulation/world.hpp"
#include "support/heap_count.hpp"
#include "support/manual_time.hpp"

namespace weft::simulation {

using namespace weft::detail;
namespace {

/// A server that comes and goes, and clients that each want one call answered at a time, always.
class Herd {
 public:
  // Fewer where a sanitizer makes each of them slow.
  static constexpr std::size_t kClients = testing::kHeapIsCounted ? 10'000 : 4'000;

  explicit Herd(std::size_t clients = kClients, std::uint64_t seed = 0, Duration spread = 0s)
      : loop_(Loop::create({.clock = &clock_, .seed = seed}).value()) {
    auto network = std::make_unique<NotingNetwork>();
    network_ = network.get();
    transports_.add(std::move(network));
    ClientOptions options;
    options.connect = "memory://server";
    options.logger = &logger_;
    options.limits.ping_interval = 0s;
    options.reconnect_spread = spread;
    for (std::size_t i = 0; i < clients; ++i) {
      clients_.push_back(std::make_unique<Client>(*loop_, options, transports_));
    }
  }
  ~Herd() {
    stopping_ = true;
    for (const auto& client : clients_) client->close();
    loop_->run_until_idle();
  }

  void serve() {
    ServerOptions options;
    options.listen = {"memory://server"};
    options.threads = 0;
    options.loop = loop_.get();
    options.logger = &logger_;
    options.limits.ping_interval = 0s;
    server_ = std::make_unique<Server>(std::move(options), transports_);
    server_->register_handler<&Service::nap>(&service_);
    server_->start().value();
  }
  void crash() { server_.reset(); }
  void begin() {
    loop_->post([this] {
      for (const auto& client : clients_) scope_.spawn(&Herd::call_again_and_again, this, client.get());
    });
    loop_->run_until_idle();
  }
  void pass(Duration time) { testing::pass(*loop_, clock_, time); }
  std::size_t connected() const {
    return static_cast<std::size_t>(std::count_if(clients_.begin(), clients_.end(),
                                                  [](const auto& client) { return client->connected(); }));
  }
  std::vector<TimePoint> take_attempts() { return std::exchange(network_->attempts, {}); }
  std::uint64_t succeeded() const { return succeeded_; }

 private:
  // As one does who must have an answer: a failed call is made again at once, and only the client waits.
  static Task<void> call_again_and_again(Herd* herd, Client* client) {
    while (!herd->stopping_) {
      const Result<std::uint32_t> answer = co_await client->call<&Service::nap>(0u, 500u);
      if (answer.ok()) ++herd->succeeded_;
    }
  }

  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_;
  NotingNetwork* network_ = nullptr;
  Transports transports_;
  Service service_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::uint64_t succeeded_ = 0;
  bool stopping_ = false;
  Scope scope_;
};

/// The most attempts that fall into one interval of `length`.
std::size_t most_within(const std::vector<TimePoint>& attempts, Duration length) {
  std::map<Duration::rep, std::size_t> intervals;
  std::size_t most = 0;
  for (const TimePoint at : attempts) most = std::max(most, ++intervals[at.time_since_epoch() / length]);
  return most;
}

TEST(Reconnecting, ClientsByTheThousandSpreadTheirAttemptsAndAreAllServedAgainSoon) {
  Herd herd;
  herd.serve();
  herd.begin();
  herd.pass(2s);
  ASSERT_EQ(herd.connected(), Herd::kClients);
  herd.take_attempts();  // as many as there is room for in the listener's backlog at a time

  herd.crash();
  herd.pass(3s);
  const std::vector<TimePoint> first = herd.take_attempts();
  herd.pass(2s);
  const std::vector<TimePoint> later = herd.take_attempts();
  const std::size_t most = most_within(later, 10ms);
  std::printf("%zu attempts in the first 3 s, %zu in the next 2 s, at most %zu of them within 10 ms\n",
              first.size(), later.size(), most);
  // The waits double to a second, less the jitter: few at first, and then at most two a second.
  EXPECT_LE(first.size(), Herd::kClients * 14);
  EXPECT_LE(later.size(), Herd::kClients * 2 * 2);
  EXPECT_GE(later.size(), Herd::kClients * 2) << "they try at least once a second";
  // Evenly spread it were a seventy-fifth of the clients in 10 ms, more or less.
  EXPECT_LE(most, Herd::kClients / 40);

  herd.serve();
  herd.pass(1s);
  EXPECT_EQ(herd.connected(), Herd::kClients);
  const std::vector<TimePoint> last = herd.take_attempts();
  EXPECT_EQ(last.size(), Herd::kClients) << "one attempt each suffices";
  EXPECT_LE(most_within(last, 10ms), Herd::kClients / 40);
  const std::uint64_t before = herd.succeeded();
  herd.pass(1s);
  EXPECT_GE(herd.succeeded() - before, Herd::kClients);
}

// CR-13: a server that is back at once, before any attempt has failed, is the case without a long wait.
TEST(Reconnecting, IsSpreadOverAWindowWhenTheServerIsBackAtOnce) {
  const auto attempts_of = [](Duration spread, std::uint64_t seed) {
    Herd herd{Herd::kClients, seed, spread};
    herd.serve();
    herd.begin();
    herd.pass(2s);
    EXPECT_EQ(herd.connected(), Herd::kClients);
    herd.take_attempts();
    herd.crash();
    herd.serve();
    herd.pass(spread + 1s);
    EXPECT_EQ(herd.connected(), Herd::kClients);
    return herd.take_attempts();
  };
  const std::vector<TimePoint> bunched = attempts_of(0s, 7);
  EXPECT_GE(most_within(bunched, 10ms), Herd::kClients / 3) << "which is what the window is for";
  const std::vector<TimePoint> spread = attempts_of(2s, 7);
  EXPECT_EQ(spread.size(), Herd::kClients) << "one attempt each suffices";
  std::printf("at most %zu attempts within 10 ms without a window, %zu with one of 2 s\n",
              most_within(bunched, 10ms), most_within(spread, 10ms));
  // Evenly spread it were a two-hundredth of the clients.
  EXPECT_LE(most_within(spread, 10ms), Herd::kClients / 100);
  EXPECT_EQ(attempts_of(2s, 7), spread);
}

TEST(Reconnecting, HappensAtTheSameTimesInEachRunThatBeginsWithTheSameSeed) {
  const auto attempts_of = [](std::uint64_t seed) {
    Herd herd{20, seed};
    herd.begin();
    herd.pass(5s);
    return herd.take_attempts();
  };
  const std::vector<TimePoint> attempts = attempts_of(7);
  EXPECT_GE(attempts.size(), 100u);
  EXPECT_EQ(attempts_of(7), attempts);
  EXPECT_EQ(attempts_of(0), attempts_of(0));
  EXPECT_NE(attempts_of(8), attempts);
}

}  // namespace
}  // namespace weft::simulation
