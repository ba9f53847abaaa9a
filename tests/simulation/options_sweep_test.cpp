// SPDX-License-Identifier: Apache-2.0
// Each field of each struct of options at its extremes, one at a time, in a world of a server and a client on
// a clock that stands still. Options are refused with words that name them, or calls end, in a bounded time
// and a bounded number of turns.
//
// options_sweep_test --show prints how the calls of each extreme end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/world.hpp"
#include "support/option_extremes.hpp"
#include "weft/connection_pool.hpp"
#include "weft/detail/calls/client/with_retry.hpp"
#include "weft/detail/transport/simulated_network.hpp"
#include "weft/fleet.hpp"

namespace weft::simulation::options_sweep {
namespace {

using testing::OptionExtreme;

bool show = false;

/// Turns of a loop and steps of its clock in which each part of a test ends.
constexpr int kStepsMax = 100'000;
/// The same for a network that takes the attachments byte by byte.
constexpr int kStepsOfBytesMax = 2'000'000;
constexpr std::uint32_t kBlobBytes = 40'000;

struct Swept {
  Task<std::string> echo(std::string text) { co_return text; }
  Task<std::uint32_t> weigh(CallContext& context) {
    co_return static_cast<std::uint32_t>(context.attachment().size());
  }
  Task<std::uint32_t> nap(CallContext& context) {
    context.set_attachment(blob(kBlobBytes));
    const auto slept = co_await sleep_for(1ms);
    co_return slept.ok() ? 1 : 0;
  }
  Task<Result<std::string>> ask_back(CallContext& context) {
    auto call = context.peer().call<&Swept::echo>("back");
    Result<std::string> answer = co_await std::move(call);
    co_return answer;
  }
  Stream<std::uint32_t> tick(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) co_yield i;
  }
};

/// A server on a simulated network, and all that has become of the calls to it.
class SweptWorld {
 public:
  explicit SweptWorld(LoopOptions loop = {}, SimulatedNetworkOptions network = quick_links()) {
    loop.clock = &clock_;
    loop.seed = 1;
    Result<std::unique_ptr<Loop>> made = Loop::create(loop);
    if (!made.ok()) {
      refused_ = made.status();
      return;
    }
    loop_ = std::move(made).value();
    network_ = std::make_unique<SimulatedNetwork>(*loop_, network);
  }
  ~SweptWorld() {
    if (!loop_) return;
    scope_.cancel(CancelReason::kRequested);
    turn(1s);
    EXPECT_EQ(begun_, ended_) << "calls have not ended";
    server_.reset();
    turn(1s);
    loop_->run_until_idle();
  }

  static SimulatedNetworkOptions quick_links() {
    SimulatedNetworkOptions options;
    options.outgoing.latency = 1ms;
    return options;
  }
  ServerOptions server_options() {
    ServerOptions options;
    options.listen = {"memory://server"};
    options.threads = 0;
    options.loop = loop_.get();
    options.logger = &logger_;
    return options;
  }
  void serve() { serve(server_options()); }
  void serve(ServerOptions options, const HandlerOptions& of_handlers = {}) {
    server_ = std::make_unique<Server>(std::move(options), of("server"));
    server_->register_handler<&Swept::echo>(&swept_, of_handlers);
    server_->register_handler<&Swept::weigh>(&swept_, of_handlers);
    server_->register_handler<&Swept::nap>(&swept_, of_handlers);
    server_->register_handler<&Swept::ask_back>(&swept_, of_handlers);
    server_->register_handler<&Swept::tick>(&swept_, of_handlers);
    const auto started = server_->start();
    if (started.ok()) return;
    note(started.status());
    server_.reset();
  }
  Transports of(std::string_view host) {
    Transports transports;
    if (memory_ != nullptr) {
      transports.add(std::move(memory_));
      in_memory_ = transports;
    }
    if (in_memory_) return *in_memory_;
    transports.add(network_->host(host).transport());
    return transports;
  }
  ClientOptions client_options() {
    ClientOptions options;
    options.connect = "memory://server";
    options.logger = &logger_;
    return options;
  }

  /// One call of each kind, and a stream where the client has them, then calls to a server that is gone.
  template <typename C>
  void use(C& client) {
    if constexpr (std::is_same_v<C, FleetClient>) {
      use(client, FleetCallOptions{.call = patient()});
    } else {
      use(client, patient());
    }
  }
  template <typename C, typename Options>
  void use(C& client, const Options& options) {
    begin_calls(client, options);
    turn(10s);
    server_.reset();
    turn(2s);
    begin_calls(client, options);
    turn(10s);
  }
  static CallOptions patient() {
    CallOptions options;
    options.timeout = 2s;
    return options;
  }
  template <typename C, typename Options>
  void begin_calls(C& client, const Options& options) {
    spawn<C, Options, &SweptWorld::echo<C, Options>>(client, options);
    spawn<C, Options, &SweptWorld::weigh<C, Options>>(client, options);
    spawn<C, Options, &SweptWorld::nap<C, Options>>(client, options);
    spawn<C, Options, &SweptWorld::ask_back<C, Options>>(client, options);
    if constexpr (!std::is_same_v<C, FleetClient>) {
      spawn<C, Options, &SweptWorld::tick<C, Options>>(client, options);
    }
  }
  /// Serves what the server's handlers call.
  template <typename C>
  void prepare(C& client) {
    client.template register_handler<&Swept::echo>(&swept_);
  }
  /// Turns the loop for `time` of the clock, from timer to timer.
  void turn(Duration time) {
    const TimePoint end = clock_.now() + time;
    for (int step = 0; step < steps_max_; ++step) {
      if (loop_->run_once(Duration::zero())) continue;
      const auto next = loop_->next_timer();
      if (!next || *next > end) {
        clock_.set(end);
        return;
      }
      clock_.set(std::max(clock_.now(), *next));
    }
    ADD_FAILURE() << "it spins";
    for (int step = 0; step < kStepsMax && loop_->run_once(Duration::zero()); ++step) {
    }
  }
  void note(const Status& status) {
    ++seen_[status.ok() ? std::string{"OK"} : status.to_string()];
    if (status.code() != StatusCode::kInvalidArgument) return;
    if (refused_.ok()) refused_ = status;
  }
  /// Prints how calls ended, and expects that a refusal names the option.
  void judge(const OptionExtreme& extreme) {
    if (show) {
      std::printf("%s\n", extreme.text().c_str());
      for (const auto& [text, count] : seen_) std::printf("    %3d  %.150s\n", count, text.c_str());
    }
    if (refused_.ok()) return;
    const std::string text = refused_.to_string();
    EXPECT_TRUE(text.find(extreme.option()) != text.npos || text.find("is not a URL") != text.npos) << text;
  }

  /// Replaces the simulated network by connections in memory.
  void set_memory(const MemoryOptions& options) { memory_ = std::make_unique<MemoryNetwork>(options); }
  void allow_steps(int most) { steps_max_ = most; }
  Loop& loop() { return *loop_; }
  bool is_made() const { return loop_ != nullptr; }
  Server* server() { return server_.get(); }
  Logger& logger() { return logger_; }
  Scope& scope() { return scope_; }
  int begun() const { return begun_; }
  int ended() const { return ended_; }

 private:
  template <typename C, typename Options, auto kCall>
  void spawn(C& client, const Options& options) {
    ++begun_;
    loop_->post([this, &client, options] { scope_.spawn(kCall, this, &client, options); });
  }
  void end(const Status& status) {
    ++ended_;
    note(status);
  }
  template <typename C, typename Options>
  static Task<void> echo(SweptWorld* world, C* client, Options options) {
    auto call = client->template call<&Swept::echo>(options, "some text");
    const Result<std::string> answer = co_await std::move(call);
    world->end(answer.status());
  }
  template <typename C, typename Options>
  static Task<void> weigh(SweptWorld* world, C* client, Options options) {
    const Buffer data = blob(kBlobBytes);
    call_options(options).attachment = data.bytes();
    auto call = client->template call<&Swept::weigh>(options);
    const Result<std::uint32_t> answer = co_await std::move(call);
    world->end(answer.status());
  }
  template <typename C, typename Options>
  static Task<void> nap(SweptWorld* world, C* client, Options options) {
    auto call = client->template call<&Swept::nap>(options);
    const Result<std::uint32_t> answer = co_await std::move(call);
    world->end(answer.status());
  }
  template <typename C, typename Options>
  static Task<void> ask_back(SweptWorld* world, C* client, Options options) {
    auto call = client->template call<&Swept::ask_back>(options);
    const Result<std::string> answer = co_await std::move(call);
    world->end(answer.status());
  }
  template <typename C, typename Options>
  static Task<void> tick(SweptWorld* world, C* client, Options options) {
    auto numbers = client->template open<&Swept::tick>(options, 3u);
    std::uint32_t expected = 0;
    while (const auto number = co_await numbers.next()) EXPECT_EQ(*number, expected++);
    world->end(numbers.status());
  }
  static CallOptions& call_options(CallOptions& options) { return options; }
  static CallOptions& call_options(FleetCallOptions& options) { return options.call; }

  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<SimulatedNetwork> network_;
  Swept swept_;
  std::unique_ptr<Server> server_;
  Scope scope_;
  int begun_ = 0;
  int ended_ = 0;
  std::map<std::string, int> seen_;
  Status refused_;
  int steps_max_ = kStepsMax;
  std::unique_ptr<MemoryNetwork> memory_;
  std::optional<Transports> in_memory_;
};

int extremes_seen = 0;

/// Calls `use(options, extreme)` with each extreme of a `T`.
template <typename T, typename Use>
void sweep(Use use) {
  for (std::size_t number = 0;; ++number) {
    T options{};
    OptionExtreme extreme{number};
    if (!extreme.set(options)) {
      EXPECT_GT(number, 0u);
      return;
    }
    SCOPED_TRACE(extreme.text());
    ++extremes_seen;
    use(options, extreme);
  }
}

class OptionsSweep : public ::testing::Test {};

/// Uses `make(world)`, a client, with a server of the defaults.
template <typename Make, typename... Options>
void use_client(const OptionExtreme& extreme, Make make, const Options&... options) {
  SweptWorld world;
  world.serve();
  auto client = make(world);
  world.prepare(*client);
  world.use(*client, options...);
  world.turn(30s);
  client.reset();
  world.turn(1s);
  world.judge(extreme);
}

/// Makes a `Caller` (a client, pool or fleet) with each extreme of the options that `defaults(world)`
/// returns. `own` are options of a call that takes its time from those of the caller.
template <typename Caller, typename Defaults, typename Own>
void sweep_callers(Defaults defaults, const Own& own) {
  for (std::size_t number = 0;; ++number) {
    SweptWorld world;
    auto options = defaults(world);
    OptionExtreme extreme{number};
    if (!extreme.set(options)) {
      EXPECT_GT(number, 0u);
      return;
    }
    SCOPED_TRACE(extreme.text());
    ++extremes_seen;
    world.serve();
    auto caller = std::make_unique<Caller>(world.loop(), std::move(options), world.of("client"));
    world.prepare(*caller);
    world.use(*caller);
    world.begin_calls(*caller, own);
    world.turn(40s);
    caller.reset();
    world.turn(1s);
    world.judge(extreme);
  }
}

TEST_F(OptionsSweep, OptionsOfClientsAreRefusedByNameOrWork) {
  sweep_callers<Client>([](SweptWorld& world) { return world.client_options(); }, CallOptions{});
}

TEST_F(OptionsSweep, OptionsOfPoolsAreRefusedByNameOrWork) {
  const auto defaults = [](SweptWorld& world) {
    PoolOptions options;
    options.client = world.client_options();
    return options;
  };
  sweep_callers<ConnectionPool>(defaults, CallOptions{});
}

TEST_F(OptionsSweep, OptionsOfFleetsAreRefusedByNameOrWork) {
  const auto defaults = [](SweptWorld& world) {
    FleetOptions options;
    options.name = "static:memory://server,memory://absent";
    options.pool.client.logger = &world.logger();
    options.naming.logger = &world.logger();
    options.subset.emplace();
    return options;
  };
  sweep_callers<FleetClient>(defaults, FleetCallOptions{.call = {.idempotent = true}, .key_hash = 7});
}

TEST_F(OptionsSweep, OptionsOfServersAreRefusedByNameOrWork) {
  for (std::size_t number = 0;; ++number) {
    SweptWorld world;
    ServerOptions options = world.server_options();
    OptionExtreme extreme{number};
    if (!extreme.set(options)) break;
    SCOPED_TRACE(extreme.text());
    ++extremes_seen;
    world.serve(std::move(options));
    auto client = std::make_unique<Client>(world.loop(), world.client_options(), world.of("client"));
    world.prepare(*client);
    world.use(*client);
    client.reset();
    world.turn(1s);
    world.judge(extreme);
  }
}

TEST_F(OptionsSweep, OptionsOfHandlersAreRefusedByNameOrWork) {
  sweep<HandlerOptions>([](const HandlerOptions& options, const OptionExtreme& extreme) {
    if (options.blocking) return;  // a coroutine handler does not compile as one
    SweptWorld world;
    world.serve(world.server_options(), options);
    auto client = std::make_unique<Client>(world.loop(), world.client_options(), world.of("client"));
    world.prepare(*client);
    world.use(*client);
    client.reset();
    world.judge(extreme);
  });
}

TEST_F(OptionsSweep, OptionsOfCallsAreRefusedByNameOrWork) {
  sweep<CallOptions>([](const CallOptions& options, const OptionExtreme& extreme) {
    use_client(
        extreme,
        [&](SweptWorld& world) {
          return std::make_unique<Client>(world.loop(), world.client_options(), world.of("client"));
        },
        options);
  });
}

TEST_F(OptionsSweep, OptionsOfCallsOfFleetsAreRefusedByNameOrWork) {
  static const FleetRetry kRetry;
  sweep<FleetCallOptions>([](FleetCallOptions& options, const OptionExtreme& extreme) {
    options.retry = &kRetry;
    use_client(
        extreme,
        [&](SweptWorld& world) {
          FleetOptions of_fleet;
          of_fleet.name = "static:memory://server,memory://absent";
          of_fleet.pool.client.logger = &world.logger();
          return std::make_unique<FleetClient>(world.loop(), std::move(of_fleet), world.of("client"));
        },
        options);
  });
}

TEST_F(OptionsSweep, OptionsOfRetriesOfCallsOfFleetsAreRefusedByNameOrWork) {
  sweep<FleetRetry>([](const FleetRetry& retry, const OptionExtreme& extreme) {
    FleetCallOptions options;
    options.retry = &retry;
    options.call.timeout = 20s;
    use_client(
        extreme,
        [&](SweptWorld& world) {
          FleetOptions of_fleet;
          of_fleet.name = "static:memory://absent,memory://server";
          of_fleet.pool.client.logger = &world.logger();
          return std::make_unique<FleetClient>(world.loop(), std::move(of_fleet), world.of("client"));
        },
        options);
  });
}

/// Balances the calls of a fleet by policies made by `make`.
template <typename Options, typename Make>
void sweep_policy(Make make) {
  sweep<Options>([&](const Options& its, const OptionExtreme& extreme) {
    use_client(extreme, [&](SweptWorld& world) {
      FleetOptions options;
      options.name = "static:memory://server,memory://absent";
      options.pool.client.logger = &world.logger();
      options.balancing = make(its);
      return std::make_unique<FleetClient>(world.loop(), std::move(options), world.of("client"));
    });
  });
}

TEST_F(OptionsSweep, OptionsOfPoliciesAreRefusedByNameOrWork) {
  sweep_policy<LeastLoadedOptions>(
      [](const LeastLoadedOptions& options) { return std::make_unique<LeastLoaded>(options); });
  sweep_policy<ConsistentHashOptions>(
      [](const ConsistentHashOptions& options) { return std::make_unique<ConsistentHash>(options); });
  sweep_policy<LocalityFirstOptions>([](const LocalityFirstOptions& options) {
    return std::make_unique<LocalityFirst>(options, std::make_unique<RoundRobin>(),
                                           std::make_unique<RoundRobin>());
  });
}

TEST_F(OptionsSweep, OptionsOfLoopsAreRefusedByNameOrWork) {
  sweep<LoopOptions>([](const LoopOptions& options, const OptionExtreme& extreme) {
    SweptWorld world{options};
    if (world.is_made()) {
      world.serve();
      auto client = std::make_unique<Client>(world.loop(), world.client_options(), world.of("client"));
      world.prepare(*client);
      world.use(*client);
      client.reset();
      world.turn(1s);
    }
    world.judge(extreme);
  });
}

TEST_F(OptionsSweep, OptionsOfSimulatedNetworksAreRefusedByNameOrWork) {
  sweep<SimulatedNetworkOptions>([](const SimulatedNetworkOptions& options, const OptionExtreme& extreme) {
    SweptWorld world{{}, options};
    world.allow_steps(kStepsOfBytesMax);
    world.serve();
    auto client = std::make_unique<Client>(world.loop(), world.client_options(), world.of("client"));
    world.prepare(*client);
    world.use(*client);
    client.reset();
    world.turn(1s);
    world.judge(extreme);
  });
}

/// Calls the server's peers, of which there is one or none, with two broadcasts at once.
Task<void> broadcast_twice(SweptWorld* world, const BroadcastOptions* options) {
  const std::string text = "to all";
  Peers peers = world->server()->peers();
  for (int i = 0; i < 2; ++i) {
    auto outcome = co_await peers.broadcast<&Swept::echo>(*options, text);
    world->note(outcome.status());
  }
}

TEST_F(OptionsSweep, OptionsOfBroadcastsAreRefusedByNameOrWork) {
  sweep<BroadcastOptions>([](const BroadcastOptions& options, const OptionExtreme& extreme) {
    SweptWorld world;
    world.serve();
    auto client = std::make_unique<Client>(world.loop(), world.client_options(), world.of("client"));
    world.prepare(*client);
    world.begin_calls(*client, SweptWorld::patient());
    world.turn(1s);
    world.loop().post([&] { world.scope().spawn(&broadcast_twice, &world, &options); });
    world.turn(20s);
    world.use(*client);
    client.reset();
    world.turn(1s);
    world.judge(extreme);
  });
}

/// Calls a server that is there at first, and later is not.
Task<void> retry_calls(SweptWorld* world, Client* client, const RetryPolicy* policy) {
  for (int i = 0; i < 2; ++i) {
    auto answer =
        co_await with_retry(*policy, [client] { return client->call<&Swept::echo>(std::string{"again"}); });
    world->note(answer.status());
  }
}

TEST_F(OptionsSweep, OptionsOfRetriesAreRefusedByNameOrWork) {
  sweep<RetryPolicy>([](const RetryPolicy& policy, const OptionExtreme& extreme) {
    SweptWorld world;
    Client client{world.loop(), world.client_options(), world.of("client")};
    world.prepare(client);
    world.loop().post([&] { world.scope().spawn(&retry_calls, &world, &client, &policy); });
    world.turn(1s);
    world.serve();
    world.use(client);
    world.judge(extreme);
    world.scope().cancel(CancelReason::kRequested);
    client.close();
    world.turn(1s);
  });
}

TEST_F(OptionsSweep, OptionsOfMemoryNetworksAreRefusedByNameOrWork) {
  sweep<MemoryOptions>([](const MemoryOptions& options, const OptionExtreme& extreme) {
    SweptWorld world;
    world.allow_steps(kStepsOfBytesMax);
    world.set_memory(options);
    world.serve();
    auto client = std::make_unique<Client>(world.loop(), world.client_options(), world.of("client"));
    world.prepare(*client);
    world.use(*client);
    client.reset();
    world.turn(1s);
    world.judge(extreme);
  });
}

/// Structs that the sweeps above reach; tests/checks/swept_options.py compares them with the headers.
using Listed =
    testing::Structs<AdaptiveLimitOptions, BroadcastOptions, CallerRate, CallOptions,
                     detail::ChunkPoolOptions, ClientOptions, ConsistentHashOptions, FleetCallOptions,
                     FleetOptions, FleetRetry, HandlerOptions, LeastLoadedOptions, LocalityFirstOptions,
                     LoopOptions, MemoryFaults, MemoryOptions, NameOptions, OutlierOptions, PoolOptions, Rate,
                     RetryBudgetOptions, RetryPolicy, RpcLimits, ServerOptions, SimulatedLink,
                     SimulatedNetworkOptions, SubsetOptions>;
using Roots =
    testing::Structs<BroadcastOptions, CallOptions, ConsistentHashOptions, FleetCallOptions, FleetOptions,
                     FleetRetry, HandlerOptions, LeastLoadedOptions, LocalityFirstOptions, LoopOptions,
                     MemoryOptions, PoolOptions, RetryPolicy, ServerOptions, SimulatedNetworkOptions>;
static_assert(testing::reached_by(Roots{}, Listed{}));

}  // namespace
}  // namespace weft::simulation::options_sweep

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view{argv[i]} == "--show") weft::simulation::options_sweep::show = true;
  }
  const int outcome = RUN_ALL_TESTS();
  std::printf("%d extremes\n", weft::simulation::options_sweep::extremes_seen);
  return outcome;
}
