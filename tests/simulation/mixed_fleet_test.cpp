// SPDX-License-Identifier: Apache-2.0
// CR-13: fleets of healthy and sick servers, on a simulated network and a manual clock. The sick servers
// hang, send garbage, flap, refuse, or do nothing.
//
// `mixed_fleet_test --seeds=N --first=M` runs the seeds M to M + N - 1. `./dev seeds` builds the program and
// runs 10,000 seeds. A failure prints its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/bad_visit.hpp"
#include "simulation/world.hpp"
#include "support/manual_time.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/transport/simulated_network.hpp"
#include "weft/fleet.hpp"

namespace weft::simulation::mixed_fleets {

/// A number whose bytes are refused if the number is kGarbage.
struct Checked {
  static constexpr std::uint32_t kGarbage = 666;
  std::uint32_t number = 0;
};

}  // namespace weft::simulation::mixed_fleets

template <>
struct weft::CodecTraits<weft::simulation::mixed_fleets::Checked> {
  using Wire = std::uint32_t;
  static Wire to_wire(const simulation::mixed_fleets::Checked& value) { return value.number; }
  static bool from_wire(Wire number, simulation::mixed_fleets::Checked& value) {
    value.number = number;
    return number != simulation::mixed_fleets::Checked::kGarbage;
  }
};

namespace weft::simulation::mixed_fleets {
namespace {

std::uint64_t first_seed = 1;
std::uint64_t seeds = 200;

enum class Kind {
  kHealthy,
  kHung,           ///< says hello, takes calls, answers nothing
  kUnreadable,     ///< answers with bytes that its caller cannot decode
  kOtherType,      ///< has the method with another signature
  kNoHello,        ///< sends other bytes than a hello
  kGarbageFrames,  ///< says hello, and sends bytes that are no frames at the first call
  kFlapsAtHello,   ///< says hello and leaves
  kFlapsAtCall,    ///< leaves at the first call
  kRefuses,        ///< nothing listens
  kUnavailable,    ///< its handler fails with kUnavailable
  kExhausted,      ///< its handler fails with kResourceExhausted
  kUnimplemented,  ///< its handler fails with kUnimplemented
  kStopped,        ///< its system accepts, and its program says nothing
  kDark,           ///< nothing answers to a connect
  kEnd,
};

constexpr const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {
      "healthy",        "hung",           "unreadable",    "other type", "no hello",
      "garbage frames", "flaps at hello", "flaps at call", "refuses",    "unavailable",
      "exhausted",      "unimplemented",  "stopped",       "dark"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Kind::kEnd));
  return kNames[static_cast<int>(kind)];
}

/// Returns the behaviour of a server that is made of frames and serves nothing; nullopt for the others.
std::optional<Manners> manners_of(Kind kind) {
  switch (kind) {
    case Kind::kNoHello:
      return Manners::kSaysNoHello;
    case Kind::kGarbageFrames:
      return Manners::kSendsGarbageAtTheFirstCall;
    case Kind::kFlapsAtHello:
      return Manners::kLeavesAfterItsHello;
    case Kind::kFlapsAtCall:
      return Manners::kLeavesAtTheFirstCall;
    default:
      return std::nullopt;
  }
}

/// Returns the failure of every call of a server that refuses; ok for the others.
Status refusal_of(Kind kind) {
  switch (kind) {
    case Kind::kUnavailable:
      return {StatusCode::kUnavailable, Layer::kUser, "not now"};
    case Kind::kExhausted:
      return {StatusCode::kResourceExhausted, Layer::kUser, "too many"};
    case Kind::kUnimplemented:
      return {StatusCode::kUnimplemented, Layer::kUser, "not here"};
    default:
      return {};
  }
}

using AskType = Checked(std::uint32_t);
constexpr auto kAsk = remote<"ask", AskType>;

/// A server of one kind, on a host of its own.
class MixedServer {
 public:
  MixedServer(Loop& loop, SimulatedHost host, Kind kind, Duration work, Logger& logger)
      : kind_(kind), work_(work), host_(std::move(host)) {
    transports_.add(host_.transport());
    if (kind == Kind::kRefuses || kind == Kind::kDark) {
      if (kind == Kind::kDark) host_.power_off();
      return;
    }
    if (const auto manners = manners_of(kind)) {
      accept_visits(loop, *manners);
      return;
    }
    ServerOptions options;
    options.listen = {url()};
    options.threads = 0;
    options.loop = &loop;
    options.logger = &logger;
    server_ = std::make_unique<Server>(std::move(options), transports_);
    if (kind == Kind::kOtherType) {
      server_->register_handler<method<&MixedServer::answer_otherwise, "ask">>(this);
    } else {
      server_->register_handler<method<&MixedServer::answer, "ask">>(this);
    }
    server_->start().value();
    if (kind == Kind::kStopped) host_.stop();
  }

  Task<Result<Checked>> answer(std::uint32_t number) {
    if (kind_ == Kind::kHung) static_cast<void>(co_await never_.wait());
    if (kind_ == Kind::kUnreadable) number = Checked::kGarbage;
    auto pause = sleep_for(work_);
    static_cast<void>(co_await pause);
    if (Status refusal = refusal_of(kind_); !refusal.ok()) co_return refusal;
    co_return Checked{number};
  }
  std::string answer_otherwise(std::uint32_t number) { return std::to_string(number); }

  std::string url() const { return "memory://" + host_.name(); }
  Kind kind() const { return kind_; }
  std::size_t visits() const { return visits_.size(); }

 private:
  void accept_visits(Loop& loop, Manners manners) {
    const auto network = host_.transport();
    listener_ = network->listen(loop, detail::Url::parse(url()).value()).value();
    listener_->start([this, &loop, manners](std::unique_ptr<detail::Incoming> incoming) {
      visits_.push_back(std::make_unique<Visit>(incoming->adopt_connection(loop).value(), manners, 1000));
    });
  }

  const Kind kind_;
  const Duration work_;
  SimulatedHost host_;
  Transports transports_;
  Event never_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<detail::Listener> listener_;
  std::vector<std::unique_ptr<Visit>> visits_;
};

/// Numbers that a seed stands for.
struct Scenario {
  explicit Scenario(std::uint64_t its_seed) : seed(its_seed), random(its_seed) {
    const std::size_t healthy = 1 + below(3);
    const std::size_t bad = 1 + below(4);
    for (std::size_t i = 0; i < healthy; ++i) kinds.push_back(Kind::kHealthy);
    for (std::size_t i = 0; i < bad; ++i) {
      kinds.push_back(static_cast<Kind>(1 + below(static_cast<std::size_t>(Kind::kEnd) - 1)));
    }
    std::shuffle(kinds.begin(), kinds.end(), random);
    callers = 6 + below(20);
    timeout = 300ms + 100ms * below(18);
    think = 10ms + 1ms * below(60);
    work = 1ms * below(4);
    policy = below(5);
  }
  std::size_t below(std::size_t most) { return random() % most; }
  std::unique_ptr<BalancingPolicy> make_policy() const {
    switch (policy) {
      case 0:
        return std::make_unique<RoundRobin>();
      case 1:
        return std::make_unique<RandomPick>();
      case 2:
        return std::make_unique<SmoothWeightedRoundRobin>(seed);
      case 3:
        return std::make_unique<ConsistentHash>();
      default:
        return nullptr;
    }
  }
  std::string text() const {
    constexpr const char* kPolicies[] = {"round robin", "random", "smooth", "consistent hash",
                                         "least loaded"};
    std::string all = "seed " + std::to_string(seed) + ", " + kPolicies[policy] + ", " +
                      std::to_string(callers) + " callers, timeout " + std::to_string(timeout / 1ms) +
                      " ms, think " + std::to_string(think / 1ms) + " ms:";
    for (const Kind kind : kinds) all += std::string{" ["} + name_of(kind) + ']';
    return all;
  }

  std::uint64_t seed;
  std::mt19937_64 random;
  std::vector<Kind> kinds;
  std::size_t callers = 0;
  Duration timeout{};
  Duration think{};
  Duration work{};
  std::size_t policy = 0;
};

class World {
 public:
  explicit World(Scenario scenario)
      : scenario_(std::move(scenario)),
        loop_(Loop::create({.clock = &clock_, .seed = scenario_.seed}).value()),
        network_(*loop_,
                 {.seed = scenario_.seed, .outgoing = {.latency = 200us}, .incoming = {.latency = 200us}}),
        begun_at_(clock_.now()) {
    FleetOptions options;
    options.name = "static:";
    for (std::size_t i = 0; i < scenario_.kinds.size(); ++i) {
      SimulatedHost host = network_.host("server" + std::to_string(i));
      servers_.push_back(std::make_unique<MixedServer>(*loop_, std::move(host), scenario_.kinds[i],
                                                       scenario_.work, logger_));
      options.name += (i == 0 ? "" : ",") + servers_.back()->url();
    }
    options.seed = scenario_.seed;
    options.balancing = scenario_.make_policy();
    options.naming.logger = &logger_;
    options.pool.client.logger = &logger_;
    options.pool.client.call_timeout = scenario_.timeout;
    Transports transports;
    transports.add(network_.host("client").transport());
    fleet_ = std::make_unique<FleetClient>(*loop_, std::move(options), std::move(transports));
    loop_->post([this] {
      for (std::size_t i = 0; i < scenario_.callers; ++i) scope_.spawn(&World::call_on, this);
    });
  }
  ~World() {
    scope_.cancel(CancelReason::kRequested);
    loop_->run_until_idle();
    fleet_.reset();
    testing::pass(*loop_, clock_, 1s);
    servers_.clear();
    testing::pass(*loop_, clock_, 1s);
  }

  void pass(Duration time) { testing::pass(*loop_, clock_, time); }
  std::uint64_t ended() const { return ended_; }
  std::uint64_t succeeded() const { return succeeded_; }
  const Status& failure() const { return failure_; }
  std::size_t visits() const {
    std::size_t sum = 0;
    for (const auto& server : servers_) sum = std::max(sum, server->visits());
    return sum;
  }

 private:
  static Task<void> call_on(World* world) {
    std::exponential_distribution<double> thinking{1 / static_cast<double>(world->scenario_.think.count())};
    while (true) {
      const bool counts = world->clock_.now() - world->begun_at_ >= world->scenario_.timeout;
      const FleetCallOptions options{.key_hash = world->scenario_.random()};
      auto call = world->fleet_->call<kAsk>(options, 7u);
      Result<Checked> answer = co_await std::move(call);
      if (world->scope_.cancelled()) co_return;
      if (counts) {
        ++world->ended_;
        world->succeeded_ += answer.ok() ? 1 : 0;
        if (!answer.ok()) world->failure_ = answer.status();
      }
      auto pause = sleep_for(Duration{static_cast<Duration::rep>(thinking(world->scenario_.random))});
      static_cast<void>(co_await pause);
    }
  }

  Scenario scenario_;
  ManualClock clock_;
  SilentLogger logger_;
  std::unique_ptr<Loop> loop_;
  SimulatedNetwork network_;
  const TimePoint begun_at_;
  std::vector<std::unique_ptr<MixedServer>> servers_;
  std::unique_ptr<FleetClient> fleet_;
  std::uint64_t ended_ = 0;
  std::uint64_t succeeded_ = 0;
  Status failure_;
  Scope scope_;
};

TEST(MixedFleets, LoseAtMostOneCallInAHundredAfterOneTimeout) {
  std::uint64_t calls = 0;
  std::uint64_t lost = 0;
  double worst = 1;
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    const Scenario scenario{seed};
    World world{scenario};
    world.pass(scenario.timeout + 20s);
    calls += world.ended();
    lost += world.ended() - world.succeeded();
    ASSERT_GT(world.ended(), 100u) << scenario.text();
    const double part = static_cast<double>(world.succeeded()) / static_cast<double>(world.ended());
    worst = std::min(worst, part);
    EXPECT_GE(part, 0.99) << scenario.text() << "\n"
                          << world.ended() << " calls, " << world.ended() - world.succeeded()
                          << " lost: " << world.failure().to_string();
    EXPECT_LE(world.visits(), 45u) << scenario.text() << "\na server that flaps is met again and again";
  }
  std::printf("%llu calls, %llu lost, the worst seed has %.4f\n", static_cast<unsigned long long>(calls),
              static_cast<unsigned long long>(lost), worst);
}

}  // namespace
}  // namespace weft::simulation::mixed_fleets

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kFirst = "--first=";
  constexpr std::string_view kSeeds = "--seeds=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kFirst)) {
      weft::simulation::mixed_fleets::first_seed = std::strtoull(argv[i] + kFirst.size(), nullptr, 10);
    }
    if (argument.starts_with(kSeeds)) {
      weft::simulation::mixed_fleets::seeds = std::strtoull(argv[i] + kSeeds.size(), nullptr, 10);
    }
  }
  return RUN_ALL_TESTS();
}
