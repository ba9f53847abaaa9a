// SPDX-License-Identifier: Apache-2.0
// Callbacks of pools and fleets close or destroy them, begin and cancel calls, and stop the server: over each
// carrier, on live, closing and lost connections.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <weft/fleet.hpp>
#include <weft/weft.hpp>

#include "integration/callbacks/callback_ways.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::testing::many_connections {

using namespace std::chrono_literals;

/// Called by each callback, with the name of the callback.
std::function<void(std::string_view)>* hook = nullptr;

void reached(std::string_view callback) {
  if (hook != nullptr) (*hook)(callback);
}

struct Text {
  std::string text;
};

}  // namespace weft::testing::many_connections

template <>
struct weft::CodecTraits<weft::testing::many_connections::Text> {
  using Wire = std::string_view;
  static Wire to_wire(const weft::testing::many_connections::Text& value) {
    weft::testing::many_connections::reached("written");
    return value.text;
  }
  static bool from_wire(Wire wire, weft::testing::many_connections::Text& value) {
    weft::testing::many_connections::reached("read");
    value.text = wire;
    return true;
  }
};

namespace weft::testing::many_connections {
namespace {

Text echo(const Text& text) {
  return text;
}
int show(int number) {
  reached("function");
  return number;
}
Task<int> show_slowly(int number) {
  reached("coroutine");
  co_await yield();
  reached("coroutine later");
  co_await yield();
  co_return number;
}
void owe(Reply<int> reply) {
  reached("reply");
  std::move(reply)(7);
}
Task<int> poke(CallContext& context, std::string text) {
  Peer peer = context.peer();
  std::size_t answered = 0;
  Result<int> answer = co_await peer.call<show>(3);
  answered += answer.ok() ? 1 : 0;
  answer = co_await peer.call<show_slowly>(3);
  answered += answer.ok() ? 1 : 0;
  answer = co_await peer.call<owe>();
  answered += answer.ok() ? 1 : 0;
  co_return static_cast<int>(answered + text.size());
}

Task<int> hang() {
  Event never;
  [[maybe_unused]] const Result<void> told = co_await never.wait();
  co_return 0;
}

class Asked final : public ClientInterceptor {
 public:
  Status before(OutgoingCall&) override {
    reached("before");
    return {};
  }
  void after(const EndedCall&) noexcept override { reached("after"); }
};

/// Picks the first server.
class First final : public BalancingPolicy {
 public:
  Status set_endpoints(std::span<const EndpointSpec> endpoints) override {
    reached("list");
    count_ = endpoints.size();
    return {};
  }
  std::optional<std::uint32_t> pick(const PickRequest&) noexcept override {
    reached("pick");
    if (count_ == 0) return std::nullopt;
    return 0;
  }
  std::size_t size() const noexcept override { return count_; }
  void set_share(std::uint32_t, double) noexcept override { reached("share"); }
  void begun(std::uint32_t, TimePoint) noexcept override { reached("begun"); }
  void ended(std::uint32_t, const CallReport&) noexcept override { reached("ended"); }

 private:
  std::size_t count_ = 0;
};

class Lines final : public Logger {
 public:
  void write(LogLevel, std::string_view) override { reached("log"); }
};

enum class Deed : int { kClose, kDestroy, kCancelOthers, kCancelOwn, kCall, kStopServer, kLast };
constexpr const char* kDeedNames[] = {"Close", "Destroy", "CancelOthers", "CancelOwn", "Call", "StopServer"};
static_assert(std::size(kDeedNames) == static_cast<std::size_t>(Deed::kLast));

/// State of the connections when the callback acts. In the last two states they were closed, or lost, in an
/// earlier callback.
enum class State : int { kLive, kClosing, kLost, kClosedBefore, kLostBefore, kLast };
constexpr const char* kStateNames[] = {"live", "closing", "lost", "closed before", "lost before"};
static_assert(std::size(kStateNames) == static_cast<std::size_t>(State::kLast));

struct Case {
  Deed deed = Deed::kLast;
  State state = State::kLive;
  /// Number of the callback that acts.
  int number = 0;
};

/// A server and a pool or fleet on one loop.
template <typename Caller>
class World {
 public:
  World(const Way& way, const Transports& transports, Case its = {})
      : case_(its), checksums_(way.checksums), transports_(transports) {
    ServerOptions options;
    options.listen = {unused_url(way)};
    options.threads = 0;
    options.loop = loop_.get();
    options.checksums = checksums_;
    server_ = std::make_unique<Server>(std::move(options), transports_);
    server_->register_handler<echo, poke, hang>();
    server_->start().value();
    make_caller();
    hook_ = [this](std::string_view callback) { on(callback); };
    hook = &hook_;
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    hook = nullptr;
    caller_.reset();
    others_.cancel(CancelReason::kRequested);
    calls_.cancel(CancelReason::kRequested);
    server_->stop(0s);
    const bool ended =
        turn_until([this] { return server_->stopped() && calls_.count() == 0 && others_.count() == 0; });
    EXPECT_TRUE(ended);
    if (!ended) std::abort();  // the calls refer to this object
  }

  /// False if the calls had fewer callbacks than the case's number.
  bool run() {
    others_.spawn(&hang_on, caller_.get());
    for (int i = 0; i < 2 && !is_gone_; ++i) calls_.spawn(&use, this, caller_.get());
    EXPECT_TRUE(turn_until([this] { return calls_.count() == 0 || (acted_ && server_->stopped()); }));
    calls_.cancel(CancelReason::kRequested);
    EXPECT_TRUE(turn_until([this] { return calls_.count() == 0; }));
    if (acted_ && !is_gone_ && case_.deed != Deed::kStopServer) expect_still_calls();
    return acted_;
  }

  Loop& loop() { return *loop_; }
  Caller& caller() { return *caller_; }
  /// Callbacks of this name.
  int count_of(std::string_view callback) const {
    return static_cast<int>(std::ranges::count(names_, callback));
  }

 private:
  PoolOptions pool_options() {
    PoolOptions options;
    options.client.interceptors = {std::make_shared<Asked>()};
    options.client.logger = &lines_;
    options.client.checksums = checksums_;
    options.client.reconnect_wait_min = 1ms;
    options.client.reconnect_wait_max = 1ms;
    return options;
  }
  void make_caller() {
    if constexpr (std::is_same_v<Caller, FleetClient>) {
      FleetOptions options;
      options.name = "static:" + server_->urls().front();
      options.balancing = std::make_unique<First>();
      options.naming.logger = &lines_;
      options.pool = pool_options();
      options.retry.backoff_min = 1ms;
      options.retry.backoff_max = 1ms;
      caller_ = std::make_unique<Caller>(*loop_, std::move(options), transports_);
    } else {
      PoolOptions options = pool_options();
      options.client.connect = server_->urls().front();
      caller_ = std::make_unique<Caller>(*loop_, std::move(options), transports_);
    }
    caller_->template register_handler<show, show_slowly, owe>();
  }

  static Task<void> hang_on(Caller* caller) {
    [[maybe_unused]] const Result<int> answer = co_await caller->template call<hang>();
  }
  static Task<void> use(World* world, Caller* caller) {
    const Text text{std::string(100, 't')};
    Result<Text> echoed = co_await caller->template call<echo>(text);
    if (world->is_gone_) co_return;
    std::string name = "abc";
    Result<int> poked = co_await caller->template call<poke>(name);
    if (world->is_gone_) co_return;
    Text longer{std::string(300'000, 'l')};
    echoed = co_await caller->template call<echo>(longer);
    if (echoed.ok()) {
      EXPECT_EQ(echoed->text, longer.text);
    }
  }
  static Task<Result<Text>> call_with(ConnectionPool& pool, CallOptions options, const Text& text) {
    co_return co_await pool.call<echo>(options, text);
  }
  static Task<Result<Text>> call_with(FleetClient& fleet, CallOptions options, const Text& text) {
    co_return co_await fleet.call<echo>(FleetCallOptions{.call = options}, text);
  }
  void expect_still_calls() {
    hook = nullptr;
    const Text text{std::string(1000, 's')};
    // The first attempt may still use the lost connection.
    CallOptions options;
    options.idempotent = true;
    const Result<Text> echoed = loop_->block_on(call_with(*caller_, options, text));
    ASSERT_TRUE(echoed.ok()) << echoed.status().to_string();
    EXPECT_EQ(echoed->text, text.text);
  }

  void on(std::string_view callback) {
    const int number = static_cast<int>(names_.size());
    names_.emplace_back(callback);
    if (number == state_number()) change_state();
    if (number != case_.number || case_.deed == Deed::kLast) return;
    SCOPED_TRACE(std::string{callback});
    acted_ = true;
    act();
  }
  int state_number() const {
    const bool before = case_.state == State::kClosedBefore || case_.state == State::kLostBefore;
    return before ? case_.number / 2 : case_.number;
  }
  void change_state() {
    if (case_.state == State::kClosing || case_.state == State::kClosedBefore) close_peers();
    if (case_.state == State::kLost || case_.state == State::kLostBefore) shut(sockets_.list());
  }
  void close_peers() {
    if (Loop::current() == nullptr) return loop_->post([this] { close_peers(); });
    server_->peers().for_each_here([](Peer peer) { peer.close("cut"); });
  }
  void act() {
    switch (case_.deed) {
      case Deed::kClose:
        is_gone_ = true;
        return caller_->close();
      case Deed::kDestroy:
        is_gone_ = true;
        return caller_.reset();
      case Deed::kCancelOthers:
        return others_.cancel(CancelReason::kRequested);
      case Deed::kCancelOwn:
        return calls_.cancel(CancelReason::kRequested);
      case Deed::kCall:
        return calls_.spawn(&use, this, caller_.get());
      case Deed::kStopServer:
        return server_->stop(0s);
      case Deed::kLast:
        return;
    }
  }

  template <typename Condition>
  bool turn_until(Condition condition) {
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < patience) loop_->run_once(1ms);
    return condition();
  }

  const Case case_;
  const bool checksums_;
  const Transports transports_;
  const NewSockets sockets_;
  Lines lines_;
  std::function<void(std::string_view)> hook_;
  std::vector<std::string> names_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<Server> server_;
  std::unique_ptr<Caller> caller_;
  Scope others_;
  Scope calls_;
  bool acted_ = false;
  bool is_gone_ = false;
};

const Way kTcp{.name = "tcp", .url = "tcp://127.0.0.1:0"};

template <typename Caller>
class ManyConnections : public ::testing::Test {
 protected:
  World<Caller> world_{kTcp, transports_of(kTcp)};
};

using Callers = ::testing::Types<ConnectionPool, FleetClient>;
TYPED_TEST_SUITE(ManyConnections, Callers);
using FleetOfOne = ManyConnections<FleetClient>;

TYPED_TEST(ManyConnections, ArgumentsWithHooksArriveWhole) {
  auto& world = this->world_;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{300'000}}) {
    const Text text{std::string(bytes, 't')};
    const Result<Text> echoed = world.loop().block_on(world.caller().template call<echo>(text));
    ASSERT_TRUE(echoed.ok()) << echoed.status().to_string();
    EXPECT_EQ(echoed->text, text.text);
  }
  EXPECT_GT(world.count_of("written"), 0);
}

TEST_F(FleetOfOne, ArgumentsWithHooksAreEncodedOnceForAllServersAndAttempts) {
  FleetClient& fleet = world_.caller();
  const Text text{std::string(1000, 't')};
  FleetCallOptions options;
  options.backup_after = 1ms;
  options.call.idempotent = true;
  for (int i = 0; i < 20; ++i) {
    const Result<Text> echoed = world_.loop().block_on(fleet.call<echo>(options, text));
    ASSERT_TRUE(echoed.ok()) << echoed.status().to_string();
    EXPECT_EQ(echoed->text, text.text);
  }
  const auto all = world_.loop().block_on(fleet.call_all<echo>(text));
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  ASSERT_EQ(all->size(), 1u);
  ASSERT_TRUE(all->front().outcome.ok()) << all->front().outcome.status().to_string();
  EXPECT_EQ(all->front().outcome->text, text.text);
}

/// Parameters: the carrier, and the number of the deed.
class ManyConnectionsMatrix : public ::testing::TestWithParam<std::tuple<Way, int>> {
 protected:
  /// Each callback performs the deed in one run; on some carriers, each of a sample of the callbacks.
  template <typename Caller>
  void at_each_callback() {
    const Way& way = std::get<0>(GetParam());
    const auto deed = static_cast<Deed>(std::get<1>(GetParam()));
    const Transports transports = transports_of(way);
    for (int state = 0; state < static_cast<int>(State::kLast); ++state) {
      const bool loses =
          state == static_cast<int>(State::kLost) || state == static_cast<int>(State::kLostBefore);
      if (loses && !way.sockets) continue;
      int number = static_cast<int>(deed) % way.sample;
      bool goes_on = true;
      while (goes_on) {
        SCOPED_TRACE(std::string{kDeedNames[static_cast<int>(deed)]} + ", " + kStateNames[state] +
                     ", callback " + std::to_string(number));
        World<Caller> world{way, transports, {deed, static_cast<State>(state), number}};
        goes_on = world.run();
        if (HasFailure()) return;
        number += way.sample;
      }
      EXPECT_GT(number, 30);
    }
  }
};

TEST_P(ManyConnectionsMatrix, AnyCallbackOfAPoolActs) {
  at_each_callback<ConnectionPool>();
}
TEST_P(ManyConnectionsMatrix, AnyCallbackOfAFleetActs) {
  at_each_callback<FleetClient>();
}

INSTANTIATE_TEST_SUITE_P(Carriers, ManyConnectionsMatrix,
                         ::testing::Combine(::testing::ValuesIn(callback_ways()),
                                            ::testing::Range(0, static_cast<int>(Deed::kLast))),
                         [](const auto& its) {
                           return std::string{std::get<0>(its.param).name} +
                                  kDeedNames[std::get<1>(its.param)];
                         });

}  // namespace
}  // namespace weft::testing::many_connections
