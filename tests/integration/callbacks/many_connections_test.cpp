// SPDX-License-Identifier: Apache-2.0
// Pools and fleets that are closed, or destroyed, by what they have called.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <weft/fleet.hpp>
#include <weft/weft.hpp>

namespace weft::testing::many_connections {

using namespace std::chrono_literals;

/// Called by whatever is called back, with its name.
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

template <typename Caller>
class ManyConnections : public ::testing::Test {
 protected:
  ManyConnections() {
    ServerOptions options;
    options.listen = {"tcp://127.0.0.1:0"};
    options.threads = 0;
    options.loop = loop_.get();
    server_ = std::make_unique<Server>(std::move(options));
    server_->register_handler<echo, poke>();
    server_->start().value();
  }
  ~ManyConnections() override {
    server_->stop(0s);
    while (!server_->stopped()) loop_->run_once(1ms);
  }

  PoolOptions pool_options() {
    PoolOptions options;
    options.client.interceptors = {std::make_shared<Asked>()};
    options.client.logger = &lines_;
    return options;
  }
  std::unique_ptr<Caller> make() {
    if constexpr (std::is_same_v<Caller, FleetClient>) {
      FleetOptions options;
      options.name = "static:" + server_->urls().front();
      options.balancing = std::make_unique<First>();
      options.naming.logger = &lines_;
      options.pool = pool_options();
      return std::make_unique<Caller>(*loop_, std::move(options));
    } else {
      PoolOptions options = pool_options();
      options.client.connect = server_->urls().front();
      return std::make_unique<Caller>(*loop_, std::move(options));
    }
  }
  static Task<void> use(Caller* caller, const bool* is_gone) {
    const Text text{std::string(100, 't')};
    Result<Text> echoed = co_await caller->template call<echo>(text);
    if (*is_gone) co_return;
    std::string name = "abc";
    Result<int> poked = co_await caller->template call<poke>(name);
    if (*is_gone) co_return;
    Text longer{std::string(300'000, 'l')};
    echoed = co_await caller->template call<echo>(longer);
    if (echoed.ok()) {
      EXPECT_EQ(echoed->text, longer.text);
    }
  }

  /// The `number`th callback from the beginning does `deed`. False when there are not so many.
  bool at_callback(int number, bool destroys) {
    std::unique_ptr<Caller> caller = make();
    caller->template register_handler<show, show_slowly, owe>();
    bool is_gone = false;
    int count = 0;
    std::function<void(std::string_view)> act = [&](std::string_view callback) {
      if (count++ != number || caller == nullptr) return;
      SCOPED_TRACE(std::string{callback});
      is_gone = true;
      if (destroys) {
        caller.reset();
      } else {
        caller->close();
      }
    };
    hook = &act;
    Scope calls;
    for (int i = 0; i < 2 && caller != nullptr; ++i) calls.spawn(&use, caller.get(), &is_gone);
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (calls.count() != 0 && std::chrono::steady_clock::now() < patience) loop_->run_once(1ms);
    EXPECT_EQ(calls.count(), 0u) << number;
    hook = nullptr;
    caller.reset();
    return is_gone;
  }
  void at_each(bool destroys) {
    int number = 0;
    while (at_callback(number, destroys)) ++number;
    EXPECT_GT(number, 30);
  }

  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<Server> server_;
  Lines lines_;
};

using Callers = ::testing::Types<ConnectionPool, FleetClient>;
TYPED_TEST_SUITE(ManyConnections, Callers);
using FleetOfOne = ManyConnections<FleetClient>;

TYPED_TEST(ManyConnections, ArgumentsWithHooksArriveWhole) {
  std::unique_ptr<TypeParam> caller = this->make();
  int written = 0;
  std::function<void(std::string_view)> count = [&](std::string_view callback) {
    written += callback == "written" ? 1 : 0;
  };
  hook = &count;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{300'000}}) {
    const Text text{std::string(bytes, 't')};
    const Result<Text> echoed = this->loop_->block_on(caller->template call<echo>(text));
    ASSERT_TRUE(echoed.ok()) << echoed.status().to_string();
    EXPECT_EQ(echoed->text, text.text);
  }
  EXPECT_GT(written, 0);
  hook = nullptr;
}

TEST_F(FleetOfOne, ArgumentsWithHooksAreEncodedOnceForAllServersAndAttempts) {
  std::unique_ptr<FleetClient> fleet = make();
  const Text text{std::string(1000, 't')};
  FleetCallOptions options;
  options.backup_after = 1ms;
  options.call.idempotent = true;
  for (int i = 0; i < 20; ++i) {
    const Result<Text> echoed = loop_->block_on(fleet->call<echo>(options, text));
    ASSERT_TRUE(echoed.ok()) << echoed.status().to_string();
    EXPECT_EQ(echoed->text, text.text);
  }
  const auto all = loop_->block_on(fleet->call_all<echo>(text));
  ASSERT_TRUE(all.ok()) << all.status().to_string();
  ASSERT_EQ(all->size(), 1u);
  ASSERT_TRUE(all->front().outcome.ok()) << all->front().outcome.status().to_string();
  EXPECT_EQ(all->front().outcome->text, text.text);
}

TYPED_TEST(ManyConnections, AnyCallbackMayCloseThem) {
  this->at_each(false);
}

TYPED_TEST(ManyConnections, AnyCallbackMayDestroyThem) {
  this->at_each(true);
}

}  // namespace
}  // namespace weft::testing::many_connections
