// SPDX-License-Identifier: Apache-2.0
// CR-13, CR-14, LG-1: coroutine stubs over a fleet of servers, which fail and are slow.
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "integration/protobuf/services_testing.hpp"
#include "shelf.weft.hpp"
#include "weft/detail/balancing/consistent_hash.hpp"
#include "weft/detail/balancing/round_robin.hpp"
#include "weft/detail/calls/gate/client_interceptor.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/runtime/with_deadline.hpp"

namespace weft::testing::fleet_stub_tests {

using namespace weft::detail;

namespace {

/// Says whose books they are, at once or when it may.
class Librarian : public test::ShelfServer {
 public:
  Task<Result<void>> Look(CallContext&, const test::Book& request, test::Book& response) override {
    return serve(request, response);
  }
  Task<Result<void>> Put(CallContext&, const test::Book& request, test::Book& response) override {
    return serve(request, response);
  }

  std::string name;
  bool holds = false;
  int calls = 0;
  int held = 0;
  int cancels = 0;

 private:
  Task<Result<void>> serve(const test::Book& request, test::Book& response) {
    ++calls;
    response.set_title(name + " has " + request.title());
    if (request.title() == "nothing") co_return user_error(3, "there is no such book");
    if (!holds) co_return Result<void>{};
    ++held;
    Result<void> waited = co_await never_.wait();
    --held;
    cancels += waited.ok() ? 0 : 1;
    co_return waited;
  }

  Event never_;
};

class Shop : public test::ShopServer {
  Task<Result<void>> Buy(CallContext&, const test::Order& request, test::Receipt& response) override {
    response.set_number(request.id() + 1);
    co_return Result<void>{};
  }
};

test::Book book_of(std::string title) {
  test::Book book;
  book.set_title(std::move(title));
  return book;
}

/// Marks what passes it, and counts.
class Marker : public ClientInterceptor {
 public:
  Status before(OutgoingCall& call) override {
    ++begun;
    targets.emplace(call.target());
    if (call.metadata().find("tenant")) return {};
    return call.set("tenant", "marked").status();
  }
  void after(const EndedCall&) noexcept override { ++ended; }

  int begun = 0;
  int ended = 0;
  std::set<std::string> targets;
};

using Outcome = std::optional<Result<test::Book>>;

class ProtobufFleetStubs : public ProtobufTest {
 protected:
  static constexpr std::size_t kServers = 3;

  ProtobufFleetStubs() {
    for (std::size_t i = 0; i < kServers; ++i) {
      librarians_[i].name = "library " + std::to_string(i);
      servers_[i] =
          std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}, .threads = 0, .loop = &loop()});
      protobuf::Services all{*servers_[i]};
      all.add(librarians_[i]);
      all.add(echoes_[i]);
      all.add(shop_);
      servers_[i]->start().value();
    }
  }
  ~ProtobufFleetStubs() override { fleet_.reset(); }

  /// All servers are connected when this returns.
  FleetClient& make(std::unique_ptr<BalancingPolicy> balancing = std::make_unique<RoundRobin>()) {
    FleetOptions options;
    for (const auto& server : servers_) {
      options.name += (options.name.empty() ? "static:" : ",") + server->urls().front();
    }
    options.balancing = std::move(balancing);
    options.outliers.reset();
    options.pool.spare_idle_timeout = std::chrono::hours{1};
    options.pool.client.interceptors = {marker_};
    fleet_ = std::make_unique<FleetClient>(loop(), std::move(options));
    for (int i = 0; i < 100 && fleet_->stats().ready < kServers; ++i) {
      const FleetCallOptions with_key{.key_hash = key_hash(std::to_string(i))};
      EXPECT_TRUE(await(test::ShelfFleetStub{*fleet_}.Look(with_key, book_of("hello"))).ok());
    }
    for (Librarian& librarian : librarians_) librarian.calls = 0;
    *marker_ = Marker{};
    return *fleet_;
  }
  int calls() const {
    int sum = 0;
    for (const Librarian& librarian : librarians_) sum += librarian.calls;
    return sum;
  }
  void hold_all(bool holds) {
    for (Librarian& librarian : librarians_) librarian.holds = holds;
  }
  Librarian* busy() {
    for (Librarian& librarian : librarians_) {
      if (librarian.held != 0) return &librarian;
    }
    return nullptr;
  }
  bool gets_busy() {
    return turn_until(loop(), [this] { return busy() != nullptr; });
  }
  /// The connections of the busy one are lost; its port is closed.
  void crash(const Librarian& librarian) {
    servers_[static_cast<std::size_t>(&librarian - librarians_.data())].reset();
  }
  bool ends(const Outcome& outcome) {
    return turn_until(loop(), [&] { return outcome.has_value(); });
  }

  static Task<void> look(FleetClient* fleet, FleetCallOptions options, Outcome* outcome) {
    const test::Book book = book_of("it");
    outcome->emplace(co_await test::ShelfFleetStub{*fleet}.Look(options, book));
  }
  static Task<void> put(FleetClient* fleet, FleetCallOptions options, Outcome* outcome) {
    test::Book book = book_of("it");
    outcome->emplace(co_await test::ShelfFleetStub{*fleet}.Put(options, std::move(book)));
  }
  /// The answer goes where something is.
  static Task<Result<void>> look_into(FleetClient* fleet, test::Book* into) {
    const test::Book book = book_of("it");
    Result<void> outcome = co_await test::ShelfFleetStub{*fleet}.Look(book).into(*into);
    co_return outcome;
  }

  std::array<Librarian, kServers> librarians_;
  std::array<Echo, kServers> echoes_;
  Shop shop_;
  const std::shared_ptr<Marker> marker_ = std::make_shared<Marker>();
  std::array<std::unique_ptr<Server>, kServers> servers_;
  std::unique_ptr<FleetClient> fleet_;
};

TEST_F(ProtobufFleetStubs, CallAllServersInTurn) {
  const test::ShelfFleetStub stub{make()};
  const test::Book book = book_of("it");
  for (int i = 0; i < 15; ++i) EXPECT_TRUE(await(stub.Look(book)).ok());
  for (int i = 0; i < 15; ++i) EXPECT_TRUE(await(stub.Put(book_of("it"))).ok());
  for (const Librarian& librarian : librarians_) EXPECT_EQ(librarian.calls, 10) << librarian.name;
}

TEST_F(ProtobufFleetStubs, AreAwaitedTogether) {
  const test::ShelfFleetStub stub{make()};
  const test::Book book = book_of("it");
  const auto [looked, put] = await(when_all(stub.Look(book), stub.Put(book_of("another"))));
  EXPECT_TRUE(looked->title().ends_with("has it")) << looked.status().to_string();
  EXPECT_TRUE(put->title().ends_with("has another")) << put.status().to_string();
}

TEST_F(ProtobufFleetStubs, CarryMessagesAttachmentsAndMetadata) {
  const test::EchoFleetStub stub{make()};
  const Metadata metadata = metadata_of("ann");
  const std::vector<std::byte> bytes(300'000, std::byte{7});
  const FleetCallOptions options{.call = {.attachment = Bytes{bytes}, .metadata = metadata.view()}};
  const test::EchoRequest large = echo_request(std::string(20'000, 'x'), 100);
  const auto answer = await(stub.Say(options, large).with_attachment());
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->value.copies_size(), 100);
  EXPECT_EQ(answer->value.copies(99), large.text());
  EXPECT_EQ(answer->attachment.size(), bytes.size());
  EXPECT_EQ(answer->attachment_bytes, bytes.size());
  int with_ann = 0;
  for (const Echo& echo : echoes_) with_ann += echo.tenant == "ann" ? 1 : 0;
  EXPECT_EQ(with_ann, 1);

  test::EchoResponse response;
  const auto into = await(stub.Say(options, echo_request("short")).into(response).with_attachment());
  ASSERT_TRUE(into.ok()) << into.status().to_string();
  EXPECT_EQ(response.text(), "short");
  EXPECT_EQ(into->attachment.size(), bytes.size());
  EXPECT_TRUE(await(stub.Say(echo_request("short again")).into(response)).ok());
  EXPECT_EQ(response.text(), "short again");
}

TEST_F(ProtobufFleetStubs, GiveWhatAHandlerSaysAndAskNobodyElse) {
  const test::ShelfFleetStub stub{make()};
  const Result<test::Book> answer = await(stub.Look(book_of("nothing")));
  EXPECT_EQ(answer.status().message(), "there is no such book");
  EXPECT_EQ(answer.status().native(), 3);
  EXPECT_EQ(calls(), 1);
}

TEST_F(ProtobufFleetStubs, AskNobodyWithARequestThatLacksAField) {
  const test::ShopFleetStub stub{make()};
  const std::uint64_t attempts = fleet_->stats().attempts;
  const Status refused = await(stub.Buy(test::Order{})).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string{refused.message()}, ::testing::HasSubstr("id"));
  EXPECT_TRUE(refused.unprocessed());
  EXPECT_EQ(fleet_->stats().attempts, attempts);
  test::Order order;
  order.set_id(4);
  EXPECT_EQ(await(stub.Buy(order))->number(), 5u);
}

TEST_F(ProtobufFleetStubs, RepeatElsewhereWhatTheProtoFileCallsHarmlessAndNothingElse) {
  FleetClient& fleet = make();
  Scope scope;
  hold_all(true);
  Outcome put;
  run_in_turn([&] { scope.spawn(&ProtobufFleetStubs::put, &fleet, FleetCallOptions{}, &put); });
  ASSERT_TRUE(gets_busy());
  crash(*busy());
  ASSERT_TRUE(ends(put));
  EXPECT_EQ(put->status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(put->status().unprocessed());
  EXPECT_EQ(calls(), 1);

  ASSERT_TRUE(turn_until(loop(), [&] { return busy() == nullptr; }));
  Outcome looked;
  run_in_turn([&] { scope.spawn(&ProtobufFleetStubs::look, &fleet, FleetCallOptions{}, &looked); });
  ASSERT_TRUE(gets_busy());
  const Librarian& lost = *busy();
  hold_all(false);
  crash(lost);
  ASSERT_TRUE(ends(looked));
  ASSERT_TRUE(looked->ok()) << looked->status().to_string();
  EXPECT_FALSE((*looked)->title().starts_with(lost.name));
  EXPECT_GE(fleet.stats().retries, 1u);
}

TEST_F(ProtobufFleetStubs, TakeTheOptionsOfEachCall) {
  FleetClient& fleet = make();
  Scope scope;
  hold_all(true);
  const FleetRetry once{.attempts_max = 1};
  Outcome looked;
  const FleetCallOptions not_again{.retry = &once};
  run_in_turn([&] { scope.spawn(&ProtobufFleetStubs::look, &fleet, not_again, &looked); });
  ASSERT_TRUE(gets_busy());
  crash(*busy());
  ASSERT_TRUE(ends(looked));
  EXPECT_EQ(looked->status().code(), StatusCode::kUnavailable);

  ASSERT_TRUE(turn_until(loop(), [&] { return busy() == nullptr; }));
  Outcome put;
  const FleetCallOptions harmless{.call = {.idempotent = true}};
  run_in_turn([&] { scope.spawn(&ProtobufFleetStubs::put, &fleet, harmless, &put); });
  ASSERT_TRUE(gets_busy());
  const Librarian& lost = *busy();
  hold_all(false);
  crash(lost);
  ASSERT_TRUE(ends(put));
  EXPECT_TRUE(put->ok()) << put->status().to_string();
}

TEST_F(ProtobufFleetStubs, KeepCallsAboutOneKeyAtOneServer) {
  const test::ShelfFleetStub stub{make(std::make_unique<ConsistentHash>())};
  const FleetCallOptions about{.key_hash = key_hash("a shelf")};
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(await(stub.Put(about, book_of("it"))).ok());
  int busiest = 0;
  for (const Librarian& librarian : librarians_) busiest = std::max(busiest, librarian.calls);
  EXPECT_EQ(busiest, 9);
}

TEST_F(ProtobufFleetStubs, AskASecondServerWhenTheFirstIsSlow) {
  FleetClient& fleet = make();
  Scope scope;
  hold_all(true);
  Outcome outcome;
  const FleetCallOptions options{.backup_after = std::chrono::milliseconds{1}};
  run_in_turn([&] { scope.spawn(&ProtobufFleetStubs::look, &fleet, options, &outcome); });
  ASSERT_TRUE(gets_busy());
  Librarian& slow = *busy();
  for (Librarian& librarian : librarians_) librarian.holds = &librarian == &slow;
  ASSERT_TRUE(ends(outcome));
  ASSERT_TRUE(outcome->ok()) << outcome->status().to_string();
  EXPECT_FALSE((*outcome)->title().starts_with(slow.name));
  ASSERT_TRUE(turn_until(loop(), [&] { return slow.cancels == 1; })) << "the slow one is told";
  EXPECT_EQ(fleet.stats().backups_won, 1u);
}

TEST_F(ProtobufFleetStubs, EndByTheirTimeoutAndByTheDeadlineOfWhoAwaitsThem) {
  FleetClient& fleet = make();
  const test::ShelfFleetStub stub{fleet};
  hold_all(true);
  const FleetCallOptions soon{.call = {.timeout = std::chrono::milliseconds{20}}};
  EXPECT_EQ(await(stub.Look(soon, book_of("it"))).status().code(), StatusCode::kDeadlineExceeded);
  test::Book into = book_of("untouched");
  const Deadline deadline = Deadline::after(loop().now(), std::chrono::milliseconds{20});
  EXPECT_EQ(await(with_deadline(deadline, look_into(&fleet, &into))).status().code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_EQ(into.title(), "untouched") << "nothing of an attempt that lost is in the response";
  ASSERT_TRUE(turn_until(loop(), [&] { return busy() == nullptr; })) << "the servers hear of it";
}

TEST_F(ProtobufFleetStubs, AreCancelledAndDroppedWithTheirCaller) {
  FleetClient& fleet = make();
  hold_all(true);
  Outcome cancelled;
  Scope scope;
  run_in_turn([&] { scope.spawn(&ProtobufFleetStubs::look, &fleet, FleetCallOptions{}, &cancelled); });
  ASSERT_TRUE(gets_busy());
  run_in_turn([&] { scope.cancel(CancelReason::kRequested); });
  ASSERT_TRUE(ends(cancelled));
  EXPECT_EQ(cancelled->status().code(), StatusCode::kCancelled);
  ASSERT_TRUE(turn_until(loop(), [&] { return busy() == nullptr; }));

  Outcome dropped;
  Scope other;
  run_in_turn([&] { other.spawn(&ProtobufFleetStubs::put, &fleet, FleetCallOptions{}, &dropped); });
  ASSERT_TRUE(gets_busy());
  other.drop_all();
  ASSERT_TRUE(turn_until(loop(), [&] { return busy() == nullptr; }));
  EXPECT_FALSE(dropped.has_value());
  EXPECT_EQ(fleet.stats().calls_in_flight, 0u);
}

TEST_F(ProtobufFleetStubs, PassInterceptorsWithEachAttempt) {
  FleetClient& fleet = make();
  EXPECT_TRUE(await(test::EchoFleetStub{fleet}.Say(echo_request("hi"))).ok());
  int marked = 0;
  for (const Echo& echo : echoes_) marked += echo.tenant == "marked" ? 1 : 0;
  EXPECT_EQ(marked, 1);
  EXPECT_EQ(marker_->begun, 1);
  EXPECT_EQ(marker_->ended, 1);

  Scope scope;
  hold_all(true);
  Outcome looked;
  *marker_ = Marker{};
  run_in_turn([&] { scope.spawn(&ProtobufFleetStubs::look, &fleet, FleetCallOptions{}, &looked); });
  ASSERT_TRUE(gets_busy());
  const Librarian& lost = *busy();
  hold_all(false);
  crash(lost);
  ASSERT_TRUE(ends(looked));
  EXPECT_TRUE(looked->ok()) << looked->status().to_string();
  EXPECT_EQ(marker_->begun, 2);
  EXPECT_EQ(marker_->ended, 2);
  EXPECT_EQ(marker_->targets.size(), 2u) << "each has the server that it goes to";
}

TEST_F(ProtobufFleetStubs, EndWithAFleetThatIsClosed) {
  FleetClient& fleet = make();
  hold_all(true);
  Outcome held;
  Scope scope;
  run_in_turn([&] { scope.spawn(&ProtobufFleetStubs::look, &fleet, FleetCallOptions{}, &held); });
  ASSERT_TRUE(gets_busy());
  run_in_turn([&] { fleet.close(); });
  ASSERT_TRUE(ends(held));
  EXPECT_EQ(held->status().code(), StatusCode::kCancelled);
  EXPECT_EQ(await(test::ShelfFleetStub{fleet}.Look(book_of("late"))).status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace weft::testing::fleet_stub_tests
