// SPDX-License-Identifier: Apache-2.0
// CR-13, CR-14, LG-1: stubs that protoc generates over a fleet of servers, which fail and are slow.
#include <array>
#include <vector>

#include "integration/protobuf/dropin_testing.hpp"
#include "weft/detail/balancing/round_robin.hpp"
#include "weft/detail/fleet/protobuf/fleet_channel.hpp"
#include "weft/detail/runtime/with_deadline.hpp"

namespace weft::testing {

using namespace weft::detail;
namespace {

/// Says who it is, at once or when it is let go, which a cancel does too.
class Replica : public EchoService {
 public:
  void Echo(RpcController* controller, const EchoRequest* request, EchoResponse* response,
            Closure* done) override {
    ++calls;
    auto& ours = dynamic_cast<protobuf::Controller&>(*controller);
    response->set_text(name);
    if (request->text() == "fail") controller->SetFailed("as was asked");
    if (!ours.context().attachment().empty()) ours.context().set_attachment(ours.context().take_attachment());
    if (!holds) return done->Run();
    held.push_back(done);
    controller->NotifyOnCancel(NewCallback(this, &Replica::note_cancel));
  }
  void note_cancel() {
    ++cancels;
    let_go();
  }
  void let_go() {
    for (Closure* done : std::exchange(held, {})) done->Run();
  }

  std::string name;
  bool holds = false;
  int calls = 0;
  int cancels = 0;
  std::vector<Closure*> held;
};

class ProtobufFleets : public ProtobufTest {
 protected:
  static constexpr std::size_t kServers = 3;

  ProtobufFleets() {
    for (std::size_t i = 0; i < kServers; ++i) {
      replicas_[i].name = "replica " + std::to_string(i);
      serve(i);
    }
  }
  ~ProtobufFleets() override {
    channel_.reset();
    fleet_.reset();
  }

  void serve(std::size_t index) {
    servers_[index] =
        std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}, .threads = 0, .loop = &loop()});
    protobuf::Services{*servers_[index]}.add(replicas_[index]);
    servers_[index]->start().value();
  }
  /// All servers are connected when this returns.
  EchoService_Stub& make_stub(const FleetCallOptions& options = {}) {
    FleetOptions its;
    for (const auto& server : servers_)
      its.name += (its.name.empty() ? "static:" : ",") + server->urls().front();
    its.balancing = std::make_unique<RoundRobin>();
    its.outliers.reset();
    its.pool.spare_idle_timeout = std::chrono::hours{1};
    fleet_ = std::make_unique<FleetClient>(loop(), std::move(its));
    channel_ = std::make_unique<protobuf::FleetChannel>(*fleet_, options);
    EchoService_Stub& stub = stub_.emplace(channel_.get());
    for (int i = 0; i < 100 && fleet_->stats().ready < kServers; ++i) {
      EXPECT_TRUE(await(echo(&stub, "hello")).ok());
    }
    for (Replica& replica : replicas_) replica.calls = 0;
    return stub;
  }
  int calls() const {
    int sum = 0;
    for (const Replica& replica : replicas_) sum += replica.calls;
    return sum;
  }
  Replica* busy() {
    for (Replica& replica : replicas_) {
      if (!replica.held.empty()) return &replica;
    }
    return nullptr;
  }
  bool gets_busy() {
    return turn_until(loop(), [this] { return busy() != nullptr; });
  }
  void hold_all(bool holds) {
    for (Replica& replica : replicas_) replica.holds = holds;
  }

  std::array<Replica, kServers> replicas_;
  std::array<std::unique_ptr<Server>, kServers> servers_;
  std::unique_ptr<FleetClient> fleet_;
  std::unique_ptr<protobuf::FleetChannel> channel_;
  std::optional<EchoService_Stub> stub_;
};

/// One call by a callback.
struct Called {
  explicit Called(std::string text) : request(request_of(std::move(text))) {}
  void note() { ended = true; }
  void begin(EchoService_Stub& stub) {
    stub.Echo(&controller, &request, &response, NewCallback(this, &Called::note));
  }

  EchoRequest request;
  EchoResponse response;
  protobuf::Controller controller;
  bool ended = false;
};

TEST_F(ProtobufFleets, CallsGoToAllServersInTurn) {
  EchoService_Stub& stub = make_stub();
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(await(echo(&stub, "hi")).ok());
  for (const Replica& replica : replicas_) EXPECT_EQ(replica.calls, 10) << replica.name;
}

TEST_F(ProtobufFleets, CarryFailuresAndAttachmentsOfTheService) {
  EchoService_Stub& stub = make_stub();
  const Result<std::string> failed = await(echo(&stub, "fail"));
  EXPECT_EQ(failed.status().message(), "as was asked");
  EXPECT_EQ(calls(), 1) << "what the service says is an answer";
  const std::vector<std::byte> bytes(100'000, std::byte{7});
  Called called{"attached"};
  called.controller.options().attachment = Bytes{bytes};
  called.begin(stub);
  called.request.set_text("fail");  // the call has what it needs
  ASSERT_TRUE(turn_until(loop(), [&] { return called.ended; }));
  EXPECT_FALSE(called.controller.Failed()) << called.controller.ErrorText();
  EXPECT_EQ(called.controller.take_answer_attachment().size(), bytes.size());
}

TEST_F(ProtobufFleets, RepeatElsewhereWhatIsIdempotentAndNothingElse) {
  EchoService_Stub& stub = make_stub();
  hold_all(true);
  Called once{"once"};
  once.begin(stub);
  ASSERT_TRUE(gets_busy());
  servers_[static_cast<std::size_t>(busy() - replicas_.data())].reset();
  ASSERT_TRUE(turn_until(loop(), [&] { return once.ended; }));
  EXPECT_EQ(once.controller.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(calls(), 1);

  Called again{"again"};
  again.controller.options().idempotent = true;
  again.begin(stub);
  ASSERT_TRUE(gets_busy());
  Replica& lost = *busy();
  hold_all(false);
  servers_[static_cast<std::size_t>(&lost - replicas_.data())].reset();
  ASSERT_TRUE(turn_until(loop(), [&] { return again.ended; }));
  EXPECT_FALSE(again.controller.Failed()) << again.controller.ErrorText();
  EXPECT_NE(again.response.text(), lost.name);
  EXPECT_GE(fleet_->stats().retries, 1u);
}

TEST_F(ProtobufFleets, AskASecondServerWhenTheFirstIsSlow) {
  FleetCallOptions options{.backup_after = std::chrono::milliseconds{1}};
  EchoService_Stub& stub = make_stub(options);
  hold_all(true);
  Called called{"soon"};
  called.controller.options().idempotent = true;
  called.begin(stub);
  ASSERT_TRUE(gets_busy());
  Replica& slow = *busy();
  hold_all(false);
  ASSERT_TRUE(turn_until(loop(), [&] { return called.ended; }));
  EXPECT_FALSE(called.controller.Failed()) << called.controller.ErrorText();
  ASSERT_TRUE(turn_until(loop(), [&] { return slow.held.empty(); })) << "the slow one is told";
  EXPECT_NE(called.response.text(), "");
  EXPECT_GE(fleet_->stats().backups, 1u);
}

/// A call whose time is that of the scope it is awaited in.
Task<Result<void>> held_call(EchoService_Stub* stub, std::string* text) {
  const EchoRequest request = request_of("held");
  EchoResponse response;
  protobuf::Controller controller;
  protobuf::Finished finished{controller};
  stub->Echo(&controller, &request, &response, &finished);
  Result<void> outcome = co_await finished;
  *text = response.text();
  co_return outcome;
}

TEST_F(ProtobufFleets, EndByTheirTimeoutAndByTheDeadlineOfWhoAwaitsThem) {
  EchoService_Stub& stub = make_stub();
  hold_all(true);
  EXPECT_EQ(await(echo(&stub, "hi", std::chrono::milliseconds{20})).status().code(),
            StatusCode::kDeadlineExceeded);
  std::string text = "untouched";
  const Deadline soon = Deadline::after(loop().now(), std::chrono::milliseconds{20});
  EXPECT_EQ(await(with_deadline(soon, held_call(&stub, &text))).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_EQ(text, "") << "no answer of an attempt that lost is in the response";
  ASSERT_TRUE(turn_until(loop(), [&] { return busy() == nullptr; })) << "the servers hear of it";
}

TEST_F(ProtobufFleets, AreCancelledFromOtherThreadsAndEndWhenTheirCallerGoes) {
  EchoService_Stub& stub = make_stub();
  hold_all(true);
  Called called{"cancel me"};
  called.begin(stub);
  ASSERT_TRUE(gets_busy());
  std::thread canceller{[&] { called.controller.StartCancel(); }};
  ASSERT_TRUE(turn_until(loop(), [&] { return called.ended; }));
  canceller.join();
  EXPECT_EQ(called.controller.status().code(), StatusCode::kCancelled);
  ASSERT_TRUE(turn_until(loop(), [&] { return busy() == nullptr; }));
  {
    Scope scope;
    std::string text;
    run_in_turn([&] {
      scope.spawn(
          [](EchoService_Stub* its, std::string* to) -> Task<void> {
            auto outcome = co_await held_call(its, to);
            static_cast<void>(outcome);
          },
          &stub, &text);
    });
    ASSERT_TRUE(gets_busy());
    scope.drop_all();
  }
  ASSERT_TRUE(turn_until(loop(), [&] { return busy() == nullptr; }));
  EXPECT_EQ(fleet_->stats().calls_in_flight, 0u);
}

TEST_F(ProtobufFleets, BlockOtherThreadsAndLetThemGoWhenTheChannelEnds) {
  EchoService_Stub& stub = make_stub();
  std::atomic<int> good = 0;
  std::atomic<int> ended = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const EchoRequest request = request_of("from a thread");
      for (int j = 0; j < 20; ++j) {
        EchoResponse response;
        protobuf::Controller controller;
        stub.Echo(&controller, &request, &response, nullptr);
        good += !controller.Failed() && response.text().starts_with("replica") ? 1 : 0;
      }
      ++ended;
    });
  }
  EXPECT_TRUE(turn_until(loop(), [&] { return ended == 4; }));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 80);

  hold_all(true);
  StatusCode code = StatusCode::kOk;
  std::thread waiting{[&] {
    const EchoRequest request = request_of("held");
    EchoResponse response;
    protobuf::Controller controller;
    stub.Echo(&controller, &request, &response, nullptr);
    code = controller.status().code();
    ++ended;
  }};
  ASSERT_TRUE(gets_busy());
  run_in_turn([&] { channel_.reset(); });
  EXPECT_TRUE(turn_until(loop(), [&] { return ended == 5; }));
  waiting.join();
  EXPECT_EQ(code, StatusCode::kCancelled);
}

TEST_F(ProtobufFleets, ThatAreClosedEndTheirCallsAndRefuseOthers) {
  EchoService_Stub& stub = make_stub();
  hold_all(true);
  Called called{"held"};
  called.begin(stub);
  ASSERT_TRUE(gets_busy());
  run_in_turn([&] { fleet_->close(); });
  ASSERT_TRUE(turn_until(loop(), [&] { return called.ended; }));
  EXPECT_EQ(called.controller.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(await(echo(&stub, "late")).status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace weft::testing
