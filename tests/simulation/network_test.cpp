// SPDX-License-Identifier: Apache-2.0
// Hosts and links that are simulated: what a server and its client see of latency, bandwidth, loss,
// partitions, crashes and hosts that stand still.
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "simulation/world.hpp"
#include "weft/detail/transport/simulated_network.hpp"

namespace weft::simulation {

using namespace weft::detail;
namespace {

using Number = std::uint32_t;

SimulatedNetworkOptions with_latency(Duration latency) {
  SimulatedNetworkOptions options;
  options.outgoing.latency = latency;
  return options;
}

/// A server and a client on hosts of their own. Nothing but what a test asks for happens by itself: no pings.
class TwoHosts {
 public:
  explicit TwoHosts(const SimulatedNetworkOptions& options = {})
      : loop_(Loop::create({.clock = &clock_}).value()), network_(*loop_, options) {
    limits_.ping_interval = limits_.stall_timeout = limits_.frame_timeout = limits_.hello_timeout = 24h;
    serve();
  }
  ~TwoHosts() {
    client_.reset();
    server_.reset();
    loop_->run_until_idle();
  }

  void serve() {
    Transports transports;
    transports.add(far.transport());
    ServerOptions options;
    options.listen = {"memory://server"};
    options.threads = 0;
    options.loop = loop_.get();
    options.limits = limits_;
    options.logger = &logger_;
    server_ = std::make_unique<Server>(std::move(options), transports);
    server_->register_handler<&Service::plain>(&service);
    server_->register_handler<&Service::take>(&service);
    server_->register_handler<&Service::give>(&service);
    server_->start().value();
  }
  void end_server() { server_.reset(); }
  Client& client(RpcLimits limits) {
    Transports transports;
    transports.add(near.transport());
    ClientOptions options;
    options.connect = "memory://server";
    options.limits = limits;
    options.connect_timeout = 10min;
    options.call_timeout = kNoTimeout;
    options.logger = &logger_;
    client_ = std::make_unique<Client>(*loop_, options, transports);
    return *client_;
  }
  Client& client() { return client_ == nullptr ? client(limits_) : *client_; }

  Loop& loop() { return *loop_; }
  SimulatedNetwork& network() { return network_; }
  RpcLimits limits() const { return limits_; }
  Call<Number> call(Number number = 1) { return client().start<&Service::plain>(number); }
  /// Lets time pass until `call` is done; returns how much.
  template <typename T>
  Duration took(Call<T>& call, Duration at_most = 24h) {
    const TimePoint start = clock_.now();
    while (!call.done() && clock_.now() - start < at_most) {
      loop_->run_until_idle();
      if (call.done()) break;
      const auto next = loop_->next_timer();
      if (!next) break;
      clock_.set(std::max(clock_.now(), *next));
    }
    return clock_.now() - start;
  }
  template <typename T>
  Result<T> outcome(Call<T> call) {
    took(call);
    return loop_->block_on(std::move(call));
  }
  void pass(Duration time) {
    const TimePoint end = clock_.now() + time;
    loop_->run_until_idle();
    while (loop_->next_timer() && *loop_->next_timer() <= end) {
      clock_.set(std::max(clock_.now(), *loop_->next_timer()));
      loop_->run_until_idle();
    }
    clock_.set(end);
    loop_->run_until_idle();
  }
  /// Makes the connection, with the hellos behind it.
  void connect() { ASSERT_TRUE(outcome(call()).ok()); }

 private:
  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_;
  SimulatedNetwork network_;
  RpcLimits limits_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;

 public:
  SimulatedHost near = network_.host("near");
  SimulatedHost far = network_.host("far");
  Service service;
};

TEST(SimulatedNetwork, TakesARoundTripForACallAndAnotherToConnect) {
  TwoHosts world{with_latency(10ms)};
  Call<Number> first = world.call();
  // To connect, the hellos, and the call, which waits for the peer's.
  const Duration connecting = world.took(first);
  EXPECT_GE(connecting, 40ms);
  EXPECT_LE(connecting, 60ms);
  Call<Number> second = world.call();
  EXPECT_EQ(world.took(second), 20ms);
}

TEST(SimulatedNetwork, ChangesALinkUnderAConnectionThatIsThere) {
  TwoHosts world{with_latency(10ms)};
  world.connect();
  SimulatedLink slower = world.far.incoming();
  slower.latency = 1s;
  world.far.set_incoming(slower);
  Call<Number> call = world.call();
  EXPECT_EQ(world.took(call), 1020ms);
}

TEST(SimulatedNetwork, JittersWithinItsBoundAndKeepsTheOrder) {
  SimulatedNetworkOptions options = with_latency(10ms);
  options.outgoing.jitter = 30ms;
  TwoHosts world{options};
  world.connect();
  Duration least = 1h;
  Duration most{};
  for (Number i = 0; i < 100; ++i) {
    Call<Number> call = world.call(i);
    const Duration took = world.took(call);
    least = std::min(least, took);
    most = std::max(most, took);
    // Many on their way at once: their bytes would make no sense in another order.
    std::vector<Call<Number>> calls;
    for (Number k = 0; k < 20; ++k) {
      calls.push_back(world.call(k));
      world.pass(1ms);
    }
    for (Number k = 0; k < 20; ++k)
      EXPECT_EQ(world.outcome(std::move(calls[k])).value(), Service::answer_to(k));
  }
  EXPECT_GE(least, 20ms);
  EXPECT_LE(most, 80ms);
  EXPECT_GE(most - least, 30ms);
}

TEST(SimulatedNetwork, SharesTheBandwidthOfALinkAmongItsConnections) {
  TwoHosts world;
  world.connect();
  SimulatedLink narrow;
  narrow.bytes_per_second = 1'000'000;
  world.far.set_incoming(narrow);
  const Buffer bytes = blob(500'000);
  CallOptions options;
  options.attachment = bytes.bytes();
  auto one = world.client().start<&Service::take>(options, 1u, 500'000u);
  const Duration alone = world.took(one);
  EXPECT_GE(alone, 500ms);
  EXPECT_LE(alone, 510ms);
  // A host of its own for the second client: the server's link is what they share.
  Transports transports;
  transports.add(world.network().host("third").transport());
  ClientOptions other_options;
  other_options.connect = "memory://server";
  other_options.limits = world.limits();
  Client other{world.loop(), other_options, transports};
  auto first = world.client().start<&Service::take>(options, 2u, 500'000u);
  auto second = other.start<&Service::take>(options, 3u, 500'000u);
  Duration both = world.took(first);
  both += world.took(second);
  EXPECT_GE(both, 1000ms);
  EXPECT_LE(both, 1030ms);
}

TEST(SimulatedNetwork, MakesDelayOfLossAndNothingElse) {
  SimulatedNetworkOptions options = with_latency(5ms);
  options.outgoing.loss = 0.2;
  TwoHosts world{options};
  Duration most{};
  Duration least = 1h;
  for (Number i = 0; i < 200; ++i) {
    Call<Number> call = world.call(i);
    const Duration took = world.took(call);
    if (i == 0) continue;  // it connects, too
    most = std::max(most, took);
    least = std::min(least, took);
    EXPECT_EQ(world.outcome(std::move(call)).value(), Service::answer_to(i));
  }
  EXPECT_EQ(least, 10ms);
  EXPECT_GE(most, 210ms) << "a packet that is lost is sent again after 200 ms";
  EXPECT_GT(world.network().stats().retransmissions, 30u);
  EXPECT_EQ(world.client().stats().connections, 1u);
}

TEST(SimulatedNetwork, DeliversAfterAPartitionWhatWasSentInIt) {
  TwoHosts world{with_latency(5ms)};
  world.connect();
  world.far.set_side(1);
  Call<Number> call = world.call(7);
  world.pass(10s);
  EXPECT_FALSE(call.done());
  EXPECT_EQ(world.service.executed[7], 0);
  world.far.set_side(0);
  // Tried again after 0.2, 0.6, 1.4, 3, 6.2 and 12.6 seconds.
  const Duration took = world.took(call);
  EXPECT_GE(took, 2500ms);
  EXPECT_LE(took, 2700ms);
  EXPECT_EQ(world.outcome(std::move(call)).value(), Service::answer_to(7));
  EXPECT_EQ(world.client().stats().connections, 1u);
}

TEST(SimulatedNetwork, EndsAConnectionThatWasNotAcknowledgedForTooLong) {
  SimulatedNetworkOptions options;
  options.give_up_after = 1min;
  TwoHosts world{options};
  world.connect();
  world.far.set_blocked(true);
  Call<Number> call = world.call();
  EXPECT_EQ(world.took(call), 1min);
  const Result<Number> result = world.outcome(std::move(call));
  EXPECT_EQ(result.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(result.status().native(), ETIMEDOUT);
}

TEST(SimulatedNetwork, DeliversInOneDirectionWhileTheOtherIsBlocked) {
  TwoHosts world;
  world.connect();
  world.network().set_blocked(world.far, world.near, true);
  Call<Number> call = world.call(5);
  world.pass(1s);
  EXPECT_EQ(world.service.executed[5], 1);
  EXPECT_FALSE(call.done()) << "the answer cannot come";
  world.network().set_blocked(world.far, world.near, false);
  world.took(call);
  EXPECT_TRUE(world.outcome(std::move(call)).ok());
}

TEST(SimulatedNetwork, TellsThePeerOfACrashAtOnceAndLetsAnotherServerTakeThePlace) {
  TwoHosts world{with_latency(10ms)};
  world.connect();
  Call<Number> call = world.call(3);
  world.pass(15ms);
  world.far.crash();
  world.end_server();
  EXPECT_EQ(world.took(call), 5ms) << "the answer was on its way, and comes before the reset";
  world.pass(5ms);
  EXPECT_TRUE(world.outcome(std::move(call)).ok());
  EXPECT_FALSE(world.client().connected());
  EXPECT_GE(world.network().stats().resets, 1u);
  world.serve();
  EXPECT_TRUE(world.outcome(world.call()).ok());
  EXPECT_EQ(world.client().stats().connections, 2u);
}

TEST(SimulatedNetwork, SaysNothingOfAHostThatIsOffUntilItIsBack) {
  TwoHosts world{with_latency(10ms)};
  world.connect();
  world.far.power_off();
  world.end_server();
  Call<Number> call = world.call();
  world.pass(1min);
  EXPECT_FALSE(call.done());
  EXPECT_TRUE(world.client().connected());
  world.far.power_on();
  world.serve();
  const Result<Number> lost = world.outcome(std::move(call));
  EXPECT_EQ(lost.status().code(), StatusCode::kUnavailable) << "its packet is answered with a reset";
  EXPECT_TRUE(world.outcome(world.call()).ok());
}

TEST(SimulatedNetwork, LosesAnIdleConnectionOfAHostThatIsOffByPings) {
  TwoHosts world;
  RpcLimits limits = world.limits();
  limits.ping_interval = 10s;
  world.client(limits);
  world.connect();
  world.far.power_off();
  world.pass(31s);
  EXPECT_FALSE(world.client().connected());
}

TEST(SimulatedNetwork, TakesConnectionsAndBytesForAHostThatStandsStillAndAnswersNothing) {
  TwoHosts world{with_latency(10ms)};
  world.far.stop();
  Call<Number> call = world.call(4);
  world.pass(1min);
  EXPECT_FALSE(call.done());
  EXPECT_EQ(world.network().stats().connections_made, 1u);
  EXPECT_EQ(world.service.executed[4], 0);
  world.far.resume();
  EXPECT_LE(world.took(call), 40ms);
  EXPECT_TRUE(world.outcome(std::move(call)).ok());
  // The same under a connection that is there, with more than there is room for.
  const Buffer bytes = blob(300'000);
  CallOptions options;
  options.attachment = bytes.bytes();
  world.far.stop();
  auto large = world.client().start<&Service::take>(options, 5u, 300'000u);
  world.pass(1h);
  EXPECT_FALSE(large.done());
  world.far.resume();
  EXPECT_LE(world.took(large), 200ms);
  EXPECT_EQ(world.outcome(std::move(large)).value(), Service::answer_to(5));
}

TEST(SimulatedNetwork, TriesToConnectAgainAsLongAsNobodyHears) {
  TwoHosts world;
  world.far.set_blocked(true);
  Call<Number> call = world.call();
  world.pass(2s);
  world.far.set_blocked(false);
  EXPECT_EQ(world.took(call), 1s) << "it is tried after 1, 3, 7 ... seconds";
  EXPECT_TRUE(world.outcome(std::move(call)).ok());
}

TEST(SimulatedNetwork, RefusesWhereNobodyListens) {
  TwoHosts world{with_latency(10ms)};
  world.end_server();
  Call<Number> call = world.call();
  EXPECT_EQ(world.took(call), 20ms);
  EXPECT_EQ(world.outcome(std::move(call)).status().native(), ECONNREFUSED);
  EXPECT_EQ(world.network().stats().connects_refused, 1u);
  EXPECT_EQ(world.network().stats().connections_made, 0u);
  world.serve();
  EXPECT_TRUE(world.outcome(world.call()).ok());
}

TEST(SimulatedNetwork, HoldsNothingOnceBothEndsAreGone) {
  ManualClock clock;
  auto loop = Loop::create({.clock = &clock}).value();
  std::optional<SimulatedNetwork> network{*loop};
  std::unique_ptr<detail::Transport> transport = network->host("one").transport();
  {
    TwoHosts world;
    world.connect();
    EXPECT_EQ(world.network().stats().connections_open, 1u);
    world.client().close();
    world.pass(1min);
    EXPECT_EQ(world.network().stats().connections_open, 0u);
  }
  network.reset();
  EXPECT_TRUE(transport->handles("memory")) << "a transport may outlive its network";
}

/// Calls over links that lose, jitter and change; the trace's hash.
std::uint64_t trace_of(std::uint64_t seed) {
  SimulatedNetworkOptions options = with_latency(5ms);
  options.seed = seed;
  options.outgoing.jitter = 5ms;
  options.outgoing.loss = 0.05;
  TwoHosts world{options};
  for (Number i = 0; i < 30; ++i) {
    Call<Number> call = world.call(i);
    world.took(call);
    if (i == 10) world.far.set_blocked(true);
    if (i == 10) world.pass(5s);
    if (i == 10) world.far.set_blocked(false);
    if (i == 20) world.far.crash();
    if (i == 20) world.end_server();
    if (i == 20) world.serve();
  }
  EXPECT_GE(world.network().stats().events, 100u);
  return world.network().stats().trace_hash;
}

TEST(SimulatedNetwork, HasTheSameTraceForTheSameSeed) {
  const std::uint64_t trace = trace_of(7);
  EXPECT_EQ(trace_of(7), trace);
  EXPECT_NE(trace_of(8), trace);
}

}  // namespace
}  // namespace weft::simulation
