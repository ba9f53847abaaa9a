// SPDX-License-Identifier: Apache-2.0
// Callbacks of a call, a stream or a transfer that end this very call, stream or transfer.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "weft/detail/coro/event.hpp"

namespace weft::testing::own_end {

using namespace std::chrono_literals;

/// Called when a value of type Read is decoded.
std::function<void()>* on_read = nullptr;

struct Read {
  int number = 0;
};

}  // namespace weft::testing::own_end

template <>
struct weft::CodecTraits<weft::testing::own_end::Read> {
  using Wire = int;
  static Wire to_wire(const weft::testing::own_end::Read& value) { return value.number; }
  static bool from_wire(Wire wire, weft::testing::own_end::Read& value) {
    if (weft::testing::own_end::on_read != nullptr) (*weft::testing::own_end::on_read)();
    value.number = wire;
    return true;
  }
};

namespace weft::testing::own_end {
namespace {

constexpr std::size_t kAttachmentBytes = std::size_t{4} << 20;

int add(int number) {
  return number + 1;
}
Read add_read(int number) {
  return Read{number + 1};
}
Task<int> never() {
  Event event;
  [[maybe_unused]] const Result<void> told = co_await event.wait();
  co_return 0;
}
std::size_t measure(std::string text) {
  return text.size();
}
int give_bytes(CallContext& context) {
  context.set_attachment(Buffer::adopt(std::vector<std::byte>(kAttachmentBytes, std::byte{7})));
  return 1;
}
std::size_t take_bytes(CallContext& context) {
  return context.attachment().size();
}
Stream<int> count_up(int number) {
  for (int i = 0; i < number; ++i) co_yield i;
}
Stream<Read> read_up(int number) {
  for (int i = 0; i < number; ++i) co_yield Read{i};
}
Task<int> sum_up(Reader<int>& numbers) {
  int sum = 0;
  while (auto number = co_await numbers.next()) sum += *number;
  co_return sum;
}

/// Calls a function before and after each call of its client.
class Around final : public ClientInterceptor {
 public:
  Status before(OutgoingCall& call) override {
    if (on_before) on_before(call.method());
    return {};
  }
  void after(const EndedCall& call) noexcept override {
    ++ended;
    if (on_after) on_after(call);
  }

  std::function<void(std::string_view)> on_before;
  std::function<void(const EndedCall&)> on_after;
  int ended = 0;
};

class OwnEnd : public ::testing::Test {
 protected:
  OwnEnd() {
    ServerOptions options;
    options.listen = {"tcp://127.0.0.1:0"};
    options.threads = 0;
    options.loop = loop_.get();
    options.limits.body_bytes_max = 1 << 20;
    server_ = std::make_unique<Server>(std::move(options));
    server_->register_handler<add, add_read, never, measure, give_bytes, take_bytes, count_up, read_up,
                              sum_up>();
    server_->start().value();
    make_client({});
  }
  ~OwnEnd() override {
    on_read = nullptr;
    around_->on_before = nullptr;
    around_->on_after = nullptr;
    client_.reset();
    server_->stop(0s);
    EXPECT_TRUE(turn_until([this] { return server_->stopped(); }));
  }

  void make_client(RpcLimits limits) {
    ClientOptions options{.connect = server_->urls().front()};
    options.interceptors = {around_};
    options.limits = limits;
    client_ = std::make_unique<Client>(*loop_, std::move(options));
  }
  void connect() { loop_->block_on(client_->connect()).value(); }
  /// Turns until the condition holds, or for long.
  template <typename Condition>
  bool turn_until(Condition condition) {
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < patience) loop_->run_once(1ms);
    return condition();
  }
  /// The client is well: it makes many calls at once.
  void expect_calls_go_on() {
    on_read = nullptr;
    around_->on_before = nullptr;
    around_->on_after = nullptr;
    std::vector<Call<int>> calls;
    for (int i = 0; i < 100; ++i) calls.push_back(client_->start<add>(i));
    for (int i = 0; i < 100; ++i) {
      const Result<int> answer = loop_->block_on(std::move(calls[static_cast<std::size_t>(i)]));
      ASSERT_TRUE(answer.ok()) << answer.status().to_string();
      EXPECT_EQ(*answer, i + 1);
    }
    EXPECT_EQ(client_->stats().calls_in_flight, 0u);
    EXPECT_EQ(client_->stats().calls_waiting, 0u);
  }

  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::shared_ptr<Around> around_ = std::make_shared<Around>();
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(OwnEnd, AnInterceptorDestroysTheCallThatItIsToldOf) {
  connect();
  std::optional<Call<int>> call;
  around_->on_after = [&](const EndedCall&) { call.reset(); };
  call.emplace(client_->start<add>(1));
  EXPECT_TRUE(turn_until([&] { return !call; }));
  expect_calls_go_on();
}

TEST_F(OwnEnd, AnInterceptorDestroysTheCallWhoseAnswerCameInPieces) {
  connect();
  std::optional<Call<int>> call;
  bool was_good = false;
  around_->on_after = [&](const EndedCall& ended) {
    was_good = ended.status.ok();
    call.reset();
  };
  std::vector<std::byte> place(kAttachmentBytes);
  CallOptions options;
  options.landing = place;
  call.emplace(client_->start<give_bytes>(options));
  EXPECT_TRUE(turn_until([&] { return !call; }));
  EXPECT_TRUE(was_good);
  EXPECT_EQ(place.back(), std::byte{7});
  expect_calls_go_on();
}

TEST_F(OwnEnd, AnInterceptorDestroysTheCallThatIsRefusedOnceItIsConnected) {
  std::optional<Call<std::size_t>> call;
  StatusCode code = StatusCode::kOk;
  around_->on_after = [&](const EndedCall& ended) {
    code = ended.status.code();
    call.reset();
  };
  // Longer than the server takes, which the client does not know yet.
  call.emplace(client_->start<measure>(std::string(2 << 20, 'x')));
  EXPECT_TRUE(turn_until([&] { return !call; }));
  EXPECT_EQ(code, StatusCode::kResourceExhausted);
  expect_calls_go_on();
}

TEST_F(OwnEnd, AnInterceptorDestroysTheCallThatIsCancelled) {
  connect();
  std::optional<Call<int>> call;
  around_->on_after = [&](const EndedCall&) { call.reset(); };
  for (const int turns : {0, 1, 5}) {
    call.emplace(client_->start<never>());
    for (int i = 0; i < turns; ++i) loop_->run_once(1ms);
    call->cancel();
    EXPECT_FALSE(call);
  }
  expect_calls_go_on();
}

TEST_F(OwnEnd, AnInterceptorDestroysTheCallThatLosesItsConnection) {
  connect();
  std::optional<Call<int>> call;
  around_->on_after = [&](const EndedCall&) { call.reset(); };
  call.emplace(client_->start<never>());
  turn_until([&] { return server_->stats().calls_running == 1; });
  loop_->post([&] { server_->peers().for_each_here([](Peer peer) { peer.close("cut"); }); });
  EXPECT_TRUE(turn_until([&] { return !call; }));
  expect_calls_go_on();
}

// The place of the cancelled call goes to one that waits, whose end is told in the middle of the cancel.
TEST_F(OwnEnd, AnInterceptorDestroysTheCallThatMadeRoomForTheOneThatItIsToldOf) {
  for (const bool destroys : {false, true}) {
    RpcLimits limits;
    limits.calls_in_flight_max = 1;
    make_client(limits);
    connect();
    std::optional<Call<int>> first{client_->start<never>()};
    turn_until([&] { return server_->stats().calls_running == 1; });
    bool told = false;
    around_->on_after = [&](const EndedCall& ended) {
      if (ended.status.code() != StatusCode::kResourceExhausted) return;
      told = true;
      destroys ? first.reset() : first->cancel();
    };
    Call<std::size_t> second = client_->start<measure>(std::string(2 << 20, 'x'));
    EXPECT_EQ(client_->stats().calls_waiting, 1u);
    first->cancel();
    EXPECT_TRUE(turn_until([&] { return told; }));
    EXPECT_TRUE(second.done());
    expect_calls_go_on();
  }
}

TEST_F(OwnEnd, AnInterceptorDestroysTheStreamThatItIsToldOf) {
  connect();
  std::optional<StreamOf<count_up>> stream;
  around_->on_after = [&](const EndedCall&) { stream.reset(); };
  stream.emplace(client_->open<count_up>(3));
  EXPECT_TRUE(turn_until([&] { return !stream; }));
  stream.emplace(client_->open<count_up>(1'000'000'000));
  for (int i = 0; i < 5; ++i) loop_->run_once(1ms);
  stream->cancel();
  EXPECT_FALSE(stream);
  stream.emplace(client_->open<count_up>(1'000'000'000));
  for (int i = 0; i < 5; ++i) loop_->run_once(1ms);
  loop_->post([&] { server_->peers().for_each_here([](Peer peer) { peer.close("cut"); }); });
  EXPECT_TRUE(turn_until([&] { return !stream; }));
  expect_calls_go_on();
}

Task<void> call_with_interceptor(Client* client, StatusCode* code) {
  const Result<int> answer = co_await client->call<add>(1);
  *code = answer.status().code();
}

Task<void> write_bytes(StreamOf<sum_up>* upload, Buffer bytes) {
  static_cast<void>(co_await upload->write(1, std::move(bytes)));
}

// The write is cancelled when nothing, a part, or all of the attachment has been sent.
TEST_F(OwnEnd, TheReleaseOfAnItemsAttachmentClosesTheClient) {
  std::vector<std::byte> bytes(kAttachmentBytes);
  for (int turns = 0; turns < 24; ++turns) {
    for (const bool in_turn : {false, true}) {
      make_client({});
      connect();
      std::optional<StreamOf<sum_up>> upload;
      bool released = false;
      std::function<void()> release = [&] {
        released = true;
        client_->close();
      };
      Buffer buffer = Buffer::adopt(
          bytes, &release, [](void* owner) noexcept { (*static_cast<std::function<void()>*>(owner))(); });
      upload.emplace(client_->open<sum_up>());
      Scope scope;
      scope.spawn(&write_bytes, &*upload, std::move(buffer));
      for (int turn = 0; turn < turns; ++turn) loop_->run_once(Duration::zero());
      bool cancelled = false;
      const auto cancel = [&] {
        cancelled = true;
        scope.cancel(CancelReason::kRequested);
      };
      if (in_turn) {
        loop_->post(cancel);
      } else {
        cancel();
      }
      ASSERT_TRUE(turn_until([&] { return cancelled && released && scope.count() == 0; })) << turns;
      EXPECT_FALSE(upload->status().ok());
      upload.reset();
    }
  }
  make_client({});
  connect();
  expect_calls_go_on();
}

TEST_F(OwnEnd, AnInterceptorCancelsTheScopeOfTheCallThatIsAboutToBegin) {
  connect();
  Scope scope;
  StatusCode code = StatusCode::kOk;
  around_->on_before = [&](std::string_view) { scope.cancel(CancelReason::kRequested); };
  scope.spawn(&call_with_interceptor, client_.get(), &code);
  EXPECT_TRUE(turn_until([&] { return scope.count() == 0; }));
  EXPECT_EQ(code, StatusCode::kCancelled);
  EXPECT_EQ(around_->ended, 1);
  expect_calls_go_on();
}

Task<void> read_answer(Client* client, Result<Read>* answer) {
  *answer = co_await client->call<add_read>(1);
}

TEST_F(OwnEnd, AHookCancelsTheScopeOfTheCallWhoseAnswerItReads) {
  connect();
  Scope scope;
  Result<Read> answer = Status{StatusCode::kInternal, Layer::kUser, "none"};
  std::function<void()> cancel = [&] { scope.cancel(CancelReason::kRequested); };
  on_read = &cancel;
  scope.spawn(&read_answer, client_.get(), &answer);
  EXPECT_TRUE(turn_until([&] { return scope.count() == 0; }));
  // The answer is here: the cancel comes too late.
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->number, 2);
  expect_calls_go_on();
}

TEST_F(OwnEnd, AHookCancelsTheCallWhoseAnswerItReads) {
  for (const bool intercepted : {false, true}) {
    if (!intercepted)
      client_ = std::make_unique<Client>(*loop_, ClientOptions{.connect = server_->urls()[0]});
    if (intercepted) make_client({});
    connect();
    std::optional<Call<Read>> call;
    bool was_done = true;
    std::function<void()> cancel = [&] {
      call->cancel();
      was_done = call->done();
    };
    on_read = &cancel;
    call.emplace(client_->start<add_read>(1));
    EXPECT_TRUE(turn_until([&] { return call->done(); }));
    EXPECT_FALSE(was_done);
    EXPECT_EQ(loop_->block_on(*std::move(call)).value().number, 2);
    expect_calls_go_on();
  }
}

TEST_F(OwnEnd, AHookClosesTheClientWhileItReadsTheAnswer) {
  connect();
  std::optional<Call<Read>> call;
  std::function<void()> close = [&] { client_->close(); };
  on_read = &close;
  call.emplace(client_->start<add_read>(1));
  EXPECT_TRUE(turn_until([&] { return call->done(); }));
  EXPECT_EQ(loop_->block_on(*std::move(call)).value().number, 2);
}

TEST_F(OwnEnd, AHookCancelsTheStreamWhoseItemItReads) {
  connect();
  auto stream = client_->open<read_up>(1'000'000'000);
  std::function<void()> cancel = [&] { stream.cancel(); };
  on_read = &cancel;
  const std::optional<Read> item = loop_->block_on(stream.next());
  ASSERT_TRUE(item);
  EXPECT_EQ(item->number, 0);
  EXPECT_FALSE(loop_->block_on(stream.next()));
  EXPECT_EQ(stream.status().code(), StatusCode::kCancelled);
  expect_calls_go_on();
}

TEST_F(OwnEnd, AProgressReplacesItsOwnCallback) {
  connect();
  const std::vector<std::byte> bytes(kAttachmentBytes);
  TransferProgress progress;
  int first = 0;
  int second = 0;
  progress.on_change([&, text = std::string(1000, 't')](const TransferProgress&) {
    ++first;
    progress.on_change([&](const TransferProgress&) { ++second; });
    EXPECT_EQ(text.size(), 1000u);
  });
  CallOptions options;
  options.attachment = bytes;
  options.progress = &progress;
  EXPECT_EQ(loop_->block_on(client_->call<take_bytes>(options)).value(), kAttachmentBytes);
  turn_until([&] { return second != 0; });
  EXPECT_EQ(first, 1);
  EXPECT_GE(second, 1);
}

TEST_F(OwnEnd, AProgressIsDestroyedWithItsCallByItsOwnCallback) {
  connect();
  const std::vector<std::byte> bytes(kAttachmentBytes);
  std::optional<Call<std::size_t>> call;
  std::optional<TransferProgress> progress{std::in_place};
  bool told = false;
  progress->on_change([&, text = std::string(1000, 't')](const TransferProgress&) {
    told = true;
    call.reset();
    progress.reset();
    EXPECT_EQ(text.size(), 1000u);
  });
  CallOptions options;
  options.attachment = bytes;
  options.progress = &*progress;
  call.emplace(client_->start<take_bytes>(options));
  EXPECT_TRUE(turn_until([&] { return told; }));
  expect_calls_go_on();
}

TEST(OwnEndDeathTest, AHookThatDestroysTheCallWhoseAnswerItReadsIsToldSo) {
  const auto run = [] {
    auto loop = Loop::create().value();
    ServerOptions options;
    options.listen = {"tcp://127.0.0.1:0"};
    options.threads = 0;
    options.loop = loop.get();
    Server server{std::move(options)};
    server.register_handler<add_read>();
    server.start().value();
    Client client{*loop, {.connect = server.urls().front()}};
    std::optional<Call<Read>> call;
    std::function<void()> destroy = [&] { call.reset(); };
    on_read = &destroy;
    call.emplace(client.start<add_read>(1));
    while (call && !call->done()) loop->run_once(1ms);
  };
  EXPECT_DEATH(run(), "a hook of the codec destroyed the call whose answer it reads");
}

}  // namespace
}  // namespace weft::testing::own_end
