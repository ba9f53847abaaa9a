// SPDX-License-Identifier: Apache-2.0
// LG-1: closures, services and interceptors of calls by protobuf's own stubs close or destroy the client and
// its channel, begin and cancel calls, and stop the server: on live, closing and lost connections.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <weft/connection_pool.hpp>
#include <weft/fleet.hpp>
#include <weft/protobuf.hpp>
#include <weft/protobuf_fleet.hpp>
#include <weft/weft.hpp>

#include "dropin.pb.h"
#include "integration/callbacks/callback_ways.hpp"

namespace weft::testing::protobuf_closures {
namespace {

using dropin::EchoRequest;
using dropin::EchoResponse;
using dropin::EchoService;
using dropin::EchoService_Stub;
using google::protobuf::Closure;
using google::protobuf::NewCallback;
using google::protobuf::RpcController;
using namespace std::chrono_literals;

enum class ClosureOf : int {
  kDone,
  kDoneOfFailure,
  kDoneOfCancelledCall,
  kDoneOfUnsentCall,
  kBefore,
  kAfter,
  kService,
  kServiceAfterDone,
  kCancelAtServer,
  kEndAtServer,
  kLast
};
constexpr const char* kClosureNames[] = {
    "Done",  "DoneOfFailure", "DoneOfCancelledCall", "DoneOfUnsentCall", "Before",
    "After", "Service",       "ServiceAfterDone",    "CancelAtServer",   "EndAtServer"};
static_assert(std::size(kClosureNames) == static_cast<std::size_t>(ClosureOf::kLast));

enum class ClosureDeed : int {
  kCloseClient,
  kDestroyChannel,
  kDestroyClient,
  kCall,
  kCancelOwn,
  kCancelOther,
  kCancelUnsent,
  kStopServer,
  kLast
};
constexpr const char* kClosureDeedNames[] = {"CloseClient", "DestroyChannel", "DestroyClient", "Call",
                                             "CancelOwn",   "CancelOther",    "CancelUnsent",  "StopServer"};
static_assert(std::size(kClosureDeedNames) == static_cast<std::size_t>(ClosureDeed::kLast));

enum class ClosureState : int { kLive, kClosing, kLost, kLast };
constexpr const char* kClosureStateNames[] = {"live", "closing", "lost"};
static_assert(std::size(kClosureStateNames) == static_cast<std::size_t>(ClosureState::kLast));

struct ClosureCase {
  ClosureOf closure = ClosureOf::kLast;
  ClosureDeed deed = ClosureDeed::kLast;
  ClosureState state = ClosureState::kLive;
};

/// A server with one service, a client of the kind `Caller` with its channel, and their calls, on one loop.
template <typename Caller>
class ClosureWorld final : private EchoService {
 public:
  ClosureWorld(const Way& way, const Transports& transports, ClosureCase its)
      : case_(its), transports_(transports) {
    ServerOptions options;
    options.listen = {unused_url(way)};
    options.threads = 0;
    options.loop = loop_.get();
    options.checksums = way.checksums;
    server_ = std::make_unique<Server>(std::move(options), transports_);
    protobuf::Services{*server_}.add(static_cast<EchoService&>(*this));
    server_->start().value();
    make_client();
  }
  ClosureWorld(const ClosureWorld&) = delete;
  ClosureWorld& operator=(const ClosureWorld&) = delete;
  ~ClosureWorld() override {
    armed_ = false;
    channel_.reset();
    client_.reset();
    server_->stop(0s);
    const bool ended = turn_until([this] { return server_->stopped() && all_done(); });
    EXPECT_TRUE(ended);
    if (!ended) std::abort();  // the calls refer to this object
    for (const OneCall& call : calls_) EXPECT_EQ(call.done, 1);
  }

  /// True if the closure was reached.
  bool run() {
    begin("hello", ClosureOf::kLast);
    EXPECT_TRUE(turn_until([this] { return all_done(); }));
    EXPECT_FALSE(calls_.front().controller.Failed()) << calls_.front().controller.ErrorText();
    other_ = &begin("hang", ClosureOf::kLast);
    EXPECT_TRUE(turn_until([this] { return hanging_ == 1; }));
    sockets_ = new_sockets_.list();
    armed_ = true;
    in_turn([this] { trigger(); });
    EXPECT_TRUE(turn_until([this] { return fired_ && all_done_but_other(); }));
    return fired_;
  }

  google::protobuf::RpcChannel& channel() { return *channel_; }
  /// Calls that the service has not answered.
  int hanging() const { return hanging_; }
  void destroy_client() {
    channel_.reset();
    client_.reset();
  }
  template <typename Work>
  void in_turn(Work work) {
    if (Loop::current() != nullptr) return work();
    loop_->post([work] { work(); });
  }
  template <typename Condition>
  bool turn_until(Condition condition) {
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < patience) loop_->run_once(1ms);
    return condition();
  }

 private:
  struct OneCall {
    ClosureWorld* world;
    ClosureOf closure;
    EchoRequest request{};
    EchoResponse response{};
    protobuf::Controller controller{};
    int done = 0;

    void ended() {
      ++done;
      world->on(closure);
    }
  };
  class Asked final : public ClientInterceptor {
   public:
    explicit Asked(ClosureWorld& world) : world_(world) {}
    Status before(OutgoingCall&) override {
      world_.on(ClosureOf::kBefore);
      return {};
    }
    void after(const EndedCall&) noexcept override { world_.on(ClosureOf::kAfter); }

   private:
    ClosureWorld& world_;
  };

  void make_client() {
    ClientOptions options{.connect = server_->urls().front()};
    options.interceptors = {std::make_shared<Asked>(*this)};
    if constexpr (std::is_same_v<Caller, FleetClient>) {
      FleetOptions fleet;
      fleet.name = "static:" + options.connect;
      fleet.waits_for_ready = false;
      fleet.pool.client = std::move(options);
      fleet.pool.client.connect.clear();
      client_ = std::make_unique<Caller>(*loop_, std::move(fleet), transports_);
      channel_ = std::make_unique<protobuf::FleetChannel>(*client_);
    } else {
      if constexpr (std::is_same_v<Caller, ConnectionPool>) {
        // A call of a stopped server fails, and does not wait for its timeout.
        client_ = std::make_unique<Caller>(
            *loop_, PoolOptions{.client = std::move(options), .waits_for_ready = false}, transports_);
      } else {
        client_ = std::make_unique<Caller>(*loop_, std::move(options), transports_);
      }
      channel_ = std::make_unique<protobuf::Channel>(*client_);
    }
  }

  // The service. A call "hang" ends when it is cancelled.
  void Echo(RpcController* controller, const EchoRequest* request, EchoResponse* response,
            Closure* done) override {
    const std::string text = request->text();
    response->set_text(text);
    if (text == "hang") {
      ++hanging_;
      return controller->NotifyOnCancel(NewCallback(this, &ClosureWorld::end_hanging, done));
    }
    if (text == "hang and tell") {
      ++hanging_;
      return controller->NotifyOnCancel(NewCallback(this, &ClosureWorld::tell_and_end, done));
    }
    if (text == "tell the end") controller->NotifyOnCancel(NewCallback(this, &ClosureWorld::tell_end));
    if (text == "fail") controller->SetFailed("as was asked");
    on(ClosureOf::kService);
    done->Run();
    on(ClosureOf::kServiceAfterDone);
  }
  void end_hanging(Closure* done) {
    --hanging_;
    done->Run();
  }
  void tell_and_end(Closure* done) {
    on(ClosureOf::kCancelAtServer);
    end_hanging(done);
  }
  void tell_end() { on(ClosureOf::kEndAtServer); }

  OneCall& begin(std::string text, ClosureOf closure, bool unsent = false) {
    OneCall& call = calls_.emplace_back(this, closure);
    call.request.set_text(std::move(text));
    if (unsent) call.controller.StartCancel();
    own_ = &call;
    EchoService_Stub stub{channel_.get()};
    stub.Echo(&call.controller, &call.request, &call.response, NewCallback(&call, &OneCall::ended));
    return call;
  }
  void trigger() {
    switch (case_.closure) {
      case ClosureOf::kDoneOfFailure:
        begin("fail", case_.closure);
        return;
      case ClosureOf::kDoneOfUnsentCall:
        begin("hello", case_.closure, true);
        return;
      case ClosureOf::kDoneOfCancelledCall:
        begin("hang", case_.closure).controller.StartCancel();
        return;
      case ClosureOf::kCancelAtServer: {
        OneCall& call = begin("hang and tell", case_.closure);
        loop_->post([this, &call] { cancel_when_it_hangs(call); });
        return;
      }
      case ClosureOf::kEndAtServer:
        begin("tell the end", case_.closure);
        return;
      default:
        begin("hello", case_.closure);
    }
  }
  void cancel_when_it_hangs(OneCall& call) {
    if (hanging_ == 2) return call.controller.StartCancel();
    loop_->post([this, &call] { cancel_when_it_hangs(call); });
  }

  void on(ClosureOf which) {
    if (which != case_.closure || !std::exchange(armed_, false)) return;
    fired_ = true;
    in_turn([this] {
      if (case_.state == ClosureState::kClosing)
        server_->peers().for_each_here([](Peer peer) { peer.close("cut"); });
    });
    if (case_.state == ClosureState::kLost) shut(sockets_);
    act();
  }
  void act() {
    switch (case_.deed) {
      case ClosureDeed::kCloseClient:
        return client_->close();
      case ClosureDeed::kDestroyChannel:
        return channel_.reset();
      case ClosureDeed::kDestroyClient:
        return destroy_client();
      case ClosureDeed::kCall:
        for (int i = 0; i < 3; ++i) begin("hello", ClosureOf::kLast);
        return;
      case ClosureDeed::kCancelOwn:
        return own_->controller.StartCancel();
      case ClosureDeed::kCancelOther:
        return other_->controller.StartCancel();
      case ClosureDeed::kCancelUnsent:
        begin("hello", ClosureOf::kLast, true);
        return;
      case ClosureDeed::kStopServer:
        return server_->stop(0s);
      case ClosureDeed::kLast:
        return;
    }
  }

  bool all_done() const {
    return std::ranges::all_of(calls_, [](const OneCall& call) { return call.done > 0; });
  }
  bool all_done_but_other() const {
    return std::ranges::all_of(calls_,
                               [this](const OneCall& call) { return call.done > 0 || &call == other_; });
  }
  const ClosureCase case_;
  const Transports transports_;
  const NewSockets new_sockets_;
  std::vector<int> sockets_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<Server> server_;
  std::unique_ptr<Caller> client_;
  std::unique_ptr<google::protobuf::RpcChannel> channel_;
  std::list<OneCall> calls_;
  OneCall* own_ = nullptr;
  OneCall* other_ = nullptr;
  int hanging_ = 0;
  bool armed_ = false;
  bool fired_ = false;
};

/// Parameters: the carrier, and the number of the closure.
class ProtobufClosures : public ::testing::TestWithParam<std::tuple<Way, int>> {
 protected:
  template <typename Caller>
  void perform_each_deed() {
    const Way& way = std::get<0>(GetParam());
    const auto closure = static_cast<ClosureOf>(std::get<1>(GetParam()));
    const Transports transports = transports_of(way);
    for (int deed = 0; deed < static_cast<int>(ClosureDeed::kLast); ++deed) {
      for (int state = 0; state < static_cast<int>(ClosureState::kLast); ++state) {
        if (state == static_cast<int>(ClosureState::kLost) && !way.sockets) continue;
        SCOPED_TRACE(std::string{kClosureDeedNames[deed]} + ", " + kClosureStateNames[state]);
        ClosureWorld<Caller> world{
            way, transports, {closure, static_cast<ClosureDeed>(deed), static_cast<ClosureState>(state)}};
        ASSERT_TRUE(world.run());
      }
    }
  }
};

TEST_P(ProtobufClosures, ActOverAClient) {
  perform_each_deed<Client>();
}
TEST_P(ProtobufClosures, ActOverAPool) {
  perform_each_deed<ConnectionPool>();
}
TEST_P(ProtobufClosures, ActOverAFleet) {
  perform_each_deed<FleetClient>();
}

/// Awaits a call that hangs; the test destroys the coroutine.
Task<void> await_hanging_call(google::protobuf::RpcChannel* channel, protobuf::Controller* controller) {
  EchoRequest request;
  request.set_text("hang");
  EchoResponse response;
  protobuf::Finished finished{*controller};
  EchoService_Stub stub{channel};
  stub.Echo(controller, &request, &response, &finished);
  const Result<void> outcome = co_await finished;
  ADD_FAILURE() << "the coroutine was resumed: " << outcome.status().to_string();
}

// The end of the client ends the call. The coroutine that awaits it is destroyed before it is resumed.
template <typename Caller>
void drop_after_the_client(bool in_a_turn) {
  SCOPED_TRACE(in_a_turn ? "in a turn" : "between turns");
  const Way way{.name = "tcp", .url = "tcp://127.0.0.1:0"};
  ClosureWorld<Caller> world{way, transports_of(way), {}};
  protobuf::Controller controller;
  struct Nobody : detail::Completion {
    Nobody() : Completion{[](detail::Completion&, detail::TaskPromiseBase&) noexcept {}} {}
  } nobody;
  std::optional<Task<void>> call;
  world.in_turn([&] {
    call.emplace(await_hanging_call(&world.channel(), &controller));
    detail::start(*call, nullptr, nobody);
  });
  ASSERT_TRUE(world.turn_until([&] { return world.hanging() == 1; }));
  bool dropped = false;
  const auto drop = [&] {
    world.destroy_client();
    call.reset();
    dropped = true;
  };
  in_a_turn ? world.in_turn(drop) : drop();
  EXPECT_TRUE(world.turn_until([&] { return dropped && world.hanging() == 0; }));
  EXPECT_EQ(controller.status().code(), StatusCode::kCancelled);
}
TEST(ProtobufClosuresDrops, ACallThatEndedWithItsClientIsDropped) {
  drop_after_the_client<Client>(true);
  drop_after_the_client<Client>(false);
}
TEST(ProtobufClosuresDrops, ACallThatEndedWithItsPoolIsDropped) {
  drop_after_the_client<ConnectionPool>(true);
  drop_after_the_client<ConnectionPool>(false);
}
TEST(ProtobufClosuresDrops, ACallThatEndedWithItsFleetIsDropped) {
  drop_after_the_client<FleetClient>(true);
  drop_after_the_client<FleetClient>(false);
}

INSTANTIATE_TEST_SUITE_P(Carriers, ProtobufClosures,
                         ::testing::Combine(::testing::ValuesIn(callback_ways()),
                                            ::testing::Range(0, static_cast<int>(ClosureOf::kLast))),
                         [](const auto& its) {
                           return std::string{std::get<0>(its.param).name} +
                                  kClosureNames[std::get<1>(its.param)];
                         });

}  // namespace
}  // namespace weft::testing::protobuf_closures
