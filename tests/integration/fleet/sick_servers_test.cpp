// SPDX-License-Identifier: Apache-2.0
// CR-13: a fleet of two healthy servers beside sick ones, over TCP. The sick servers hang, send garbage,
// flap, refuse, or are stopped. From one timeout of a call on, at least 99 % of the calls must succeed.
//
// `sick_servers_test --serve` is the process that a test stops.
#include <sys/prctl.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "integration/fleet/sick_listener.hpp"
#include "integration/rpc/rpc_testing.hpp"
#include "integration/victim.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/fleet/fleet_client.hpp"

namespace weft::testing::sick_servers_tests {
namespace {

enum class Kind {
  kHung,            ///< says hello, takes calls, answers nothing
  kOtherSignature,  ///< has the method with another signature
  kNoMethod,        ///< does not have the method
  kUnavailable,     ///< its handler fails with kUnavailable
  kExhausted,       ///< its handler fails with kResourceExhausted
  kUnimplemented,   ///< its handler fails with kUnimplemented
  kNoHello,         ///< from here on: the habits of a SickListener
  kNoFrames,
  kNoResults,
  kLeavesAtOnce,
  kLeavesAfterItsHello,
  kLeavesAtTheFirstCall,
  kRefused,    ///< its port is closed
  kUnserved,   ///< its system accepts connections, and no program takes them
  kFullQueue,  ///< its system answers no connection, because its queue is full
  kStopped,    ///< a process that is stopped while it serves calls
  kMix,        ///< one server of each kind above
};

constexpr const char* kNames[] = {"Hung",
                                  "OtherSignature",
                                  "NoMethod",
                                  "Unavailable",
                                  "Exhausted",
                                  "Unimplemented",
                                  "NoHello",
                                  "NoFrames",
                                  "NoResults",
                                  "LeavesAtOnce",
                                  "LeavesAfterItsHello",
                                  "LeavesAtTheFirstCall",
                                  "Refused",
                                  "Unserved",
                                  "FullQueue",
                                  "Stopped",
                                  "Mix"};
static_assert(std::size(kNames) == static_cast<std::size_t>(Kind::kMix) + 1);

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (int kind = 0; kind <= static_cast<int>(Kind::kMix); ++kind) kinds.push_back(static_cast<Kind>(kind));
  return kinds;
}

std::string answer(std::uint32_t number) {
  return std::to_string(number);
}
std::uint32_t answer_otherwise(std::uint32_t number) {
  return number;
}
template <StatusCode Code>
Result<std::string> refuse(std::uint32_t /*number*/) {
  return Status{Code, Layer::kUser, "not here"};
}
using AskType = std::string(std::uint32_t);
constexpr auto& kAsk = remote<"ask", AskType>;

/// A handler that answers nothing until it is cancelled.
struct Hung {
  Event never;
  Task<std::string> answer(std::uint32_t number) {
    static_cast<void>(co_await never.wait());
    co_return std::to_string(number);
  }
};

/// A port of 127.0.0.1 on which nothing listens, and nothing else can.
class ClosedPort {
 public:
  ClosedPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), length), 0);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
  }
  ~ClosedPort() { ::close(fd_); }
  ClosedPort(const ClosedPort&) = delete;
  ClosedPort& operator=(const ClosedPort&) = delete;
  std::string url() const { return "tcp://127.0.0.1:" + std::to_string(port_); }

 private:
  const int fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
};

constexpr Duration kTimeout = 1s;
constexpr std::size_t kCalls = 10'000;

/// State that all callers share. A call counts if it begins at `counts_from` or later.
struct Load {
  static Task<void> call_on(Load* load) {
    const FleetCallOptions options{.call = {.timeout = kTimeout}};
    for (std::uint32_t number = 0; load->counted < kCalls; ++number) {
      const bool counts = load->fleet->loop().now() >= load->counts_from;
      auto call = load->fleet->call<kAsk>(options, number);
      const Result<std::string> answer = co_await std::move(call);
      EXPECT_TRUE(!answer.ok() || *answer == std::to_string(number));
      if (!counts) continue;
      ++load->counted;
      if (answer.ok()) continue;
      ++load->failed;
      load->failure = answer.status();
    }
    --load->callers;
  }

  FleetClient* fleet = nullptr;
  TimePoint counts_from = TimePoint::max();
  int callers = 0;
  std::size_t counted = 0;
  std::size_t failed = 0;
  Status failure{};
};

/// Handlers that exist for longer than the servers of RpcTest.
struct HungHandlers {
  std::vector<std::unique_ptr<Hung>> hung;
};

class SickServers : private HungHandlers, public RpcTest, public ::testing::WithParamInterface<Kind> {
 protected:
  ~SickServers() override { fleet_.reset(); }

  void add_healthy() { add_server<answer>(); }
  void add(Kind kind) {
    switch (kind) {
      case Kind::kHung:
        hung.push_back(std::make_unique<Hung>());
        return add_url(serve_here([&](Server& server) {
                         server.register_handler<method<&Hung::answer, "ask">>(hung.back().get());
                       })
                           .urls()
                           .front());
      case Kind::kOtherSignature:
        return add_server<answer_otherwise>();
      case Kind::kNoMethod:
        return add_url(serve_here([](Server&) {}).urls().front());
      case Kind::kUnavailable:
        return add_server<refuse<StatusCode::kUnavailable>>();
      case Kind::kExhausted:
        return add_server<refuse<StatusCode::kResourceExhausted>>();
      case Kind::kUnimplemented:
        return add_server<refuse<StatusCode::kUnimplemented>>();
      case Kind::kRefused:
        closed_.push_back(std::make_unique<ClosedPort>());
        return add_url(closed_.back()->url());
      case Kind::kUnserved:
        unserved_.push_back(std::make_unique<SilentListener>());
        return add_url(unserved_.back()->url());
      case Kind::kFullQueue:
        full_.push_back(std::make_unique<SwallowingListener>());
        return add_url("tcp://127.0.0.1:" + std::to_string(full_.back()->port()));
      case Kind::kStopped:
        processes_.push_back(
            std::make_unique<carrier_testing::Victim>("/proc/self/exe", std::vector<std::string>{"--serve"}));
        processes_at_.push_back(urls_.size());
        return add_url(processes_.back()->read_line());
      default:
        const int habit = static_cast<int>(kind) - static_cast<int>(Kind::kNoHello);
        listeners_.push_back(std::make_unique<SickListener>(static_cast<Habit>(habit)));
        return add_url(listeners_.back()->url());
    }
  }
  FleetClient& make_fleet() {
    FleetOptions options;
    options.name = "static:";
    for (const std::string& url : urls_) options.name += (url == urls_.front() ? "" : ",") + url;
    fleet_ = std::make_unique<FleetClient>(loop(), std::move(options));
    return *fleet_;
  }
  /// Turns the loop, and serves the connections of the sick listeners, until `done`.
  template <typename Done>
  [[nodiscard]] bool turn_all_until(Done done) {
    return turn_until(loop(), [&] {
      for (const auto& listener : listeners_) listener->serve();
      return done();
    });
  }
  /// The processes have answered calls.
  bool processes_serve() const {
    const auto stats = fleet_->endpoint_stats();
    return std::ranges::all_of(processes_at_, [&](std::size_t at) {
      const auto of = std::ranges::find(stats, urls_[at], &FleetEndpointStats::url);
      return of != stats.end() && of->latency > Duration::zero();
    });
  }
  void stop_processes() {
    for (const auto& process : processes_) process->stop();
  }
  /// The fleet has used each server, and has noticed which are sick.
  void expect_all_tried(std::size_t healthy) const {
    for (const FleetEndpointStats& each : fleet_->endpoint_stats()) {
      const auto at = static_cast<std::size_t>(std::ranges::find(urls_, each.url) - urls_.begin());
      if (at < healthy) {
        EXPECT_TRUE(each.ready && each.picks > each.failures) << each.url;
      } else if (std::ranges::find(listeners_, each.url, &SickListener::url) == listeners_.end()) {
        EXPECT_TRUE(!each.ready || each.failures > 0) << "sick server " << at - healthy << " was not tried";
      }
    }
    for (const auto& listener : listeners_) EXPECT_GT(listener->visits(), 0u);
    for (const auto& listener : unserved_) EXPECT_TRUE(listener->has_waiting());
  }

  std::vector<std::unique_ptr<SickListener>> listeners_;

 private:
  template <auto Handler>
  void add_server() {
    add_url(
        serve_here([](Server& server) { server.register_handler<method<Handler, "ask">>(); }).urls().front());
  }
  void add_url(std::string url) { urls_.push_back(std::move(url)); }

  std::vector<std::string> urls_;
  std::vector<std::unique_ptr<ClosedPort>> closed_;
  std::vector<std::unique_ptr<SilentListener>> unserved_;
  std::vector<std::unique_ptr<SwallowingListener>> full_;
  std::vector<std::unique_ptr<carrier_testing::Victim>> processes_;
  std::vector<std::size_t> processes_at_;
  std::unique_ptr<FleetClient> fleet_;
};

TEST_P(SickServers, GetAtMostOneCallInAHundredAfterOneTimeout) {
  constexpr std::size_t kHealthy = 2;
  constexpr int kCallers = 16;
  for (std::size_t i = 0; i < kHealthy; ++i) add_healthy();
  if (GetParam() == Kind::kMix) {
    for (int kind = 0; kind < static_cast<int>(Kind::kMix); ++kind) add(static_cast<Kind>(kind));
  } else {
    for (int i = 0; i < 2; ++i) add(GetParam());
  }
  Load load{.fleet = &make_fleet()};
  Scope scope;
  load.callers = kCallers;
  loop().post([&] {
    for (int caller = 0; caller < kCallers; ++caller) scope.spawn(&Load::call_on, &load);
  });
  ASSERT_TRUE(turn_all_until([&] { return processes_serve(); }));
  stop_processes();
  const TimePoint began = std::chrono::steady_clock::now();
  load.counts_from = began + kTimeout;
  ASSERT_TRUE(turn_all_until([&] { return load.callers == 0; }));
  EXPECT_GE(load.counted, kCalls);
  EXPECT_LE(load.failed * 100, load.counted)
      << load.failed << " of " << load.counted << " calls failed: " << load.failure.to_string();
  expect_all_tried(kHealthy);
  // Connections to servers that flap have growing pauses, of up to a second.
  const auto seconds = static_cast<std::size_t>((std::chrono::steady_clock::now() - began) / 1s);
  for (const auto& listener : listeners_) EXPECT_LE(listener->visits(), 20 + 2 * seconds);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SickServers, ::testing::ValuesIn(all_kinds()),
                         [](const auto& info) { return kNames[static_cast<int>(info.param)]; });

/// Serves until it is killed, with its parent at the latest.
int serve_for_ever() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Server server{{.listen = {kAnyPort}, .threads = 1}};
  server.register_handler<method<answer, "ask">>();
  server.start().value();
  std::puts(server.urls().front().c_str());
  std::fflush(stdout);
  server.wait();
  return 0;
}

}  // namespace
}  // namespace weft::testing::sick_servers_tests

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view{argv[1]} == "--serve") {
    return weft::testing::sick_servers_tests::serve_for_ever();
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
