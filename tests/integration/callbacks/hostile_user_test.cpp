// SPDX-License-Identifier: Apache-2.0
// Programs of a user who keeps, drops and reuses what Weft gives at the worst time.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

#include "weft/detail/coro/event.hpp"

namespace weft::testing::hostile_user {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kAttachmentBytes = 300'000;

int add(int number) {
  return number + 1;
}
std::string echo(std::string text) {
  return text;
}
Task<int> never() {
  Event event;
  [[maybe_unused]] const Result<void> told = co_await event.wait();
  co_return 0;
}
int give_bytes(CallContext& context) {
  context.set_attachment(Buffer::adopt(std::vector<std::byte>(kAttachmentBytes, std::byte{7})));
  return 1;
}
std::size_t take_bytes(CallContext& context) {
  return context.attachment().size();
}
std::size_t count_metadata(CallContext& context) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& pair : context.metadata()) ++count;
  return count;
}
Stream<int> count_up(int number) {
  for (int i = 0; i < number; ++i) co_yield i;
}
Task<int> sum_up(Reader<int>& numbers) {
  int sum = 0;
  while (auto number = co_await numbers.next()) sum += *number;
  co_return sum;
}
/// Replies and peers that handlers were given, and that are kept.
std::vector<Reply<int>>* replies = nullptr;
std::vector<Peer>* kept_peers = nullptr;
void owe(Reply<int> reply) {
  replies->push_back(std::move(reply));
}
int introduce(CallContext& context) {
  kept_peers->push_back(context.peer());
  return 1;
}
int show(int number) {
  return number * 2;
}

class HostileUser : public ::testing::Test {
 protected:
  HostileUser() {
    replies = &replies_;
    kept_peers = &kept_peers_;
    serve();
    make_client();
  }
  ~HostileUser() override {
    client_.reset();
    replies_.clear();
    stop();
    kept_peers_.clear();
    replies = nullptr;
    kept_peers = nullptr;
  }

  void serve() {
    ServerOptions options;
    options.listen = {"tcp://127.0.0.1:0"};
    options.threads = 0;
    options.loop = loop_.get();
    server_ = std::make_unique<Server>(std::move(options));
    server_->register_handler<add, echo, never, give_bytes, take_bytes, count_metadata, count_up, sum_up, owe,
                              introduce>();
    server_->start().value();
  }
  void make_client() {
    client_ = std::make_unique<Client>(*loop_, ClientOptions{.connect = server_->urls().front()});
    client_->register_handler<show>();
    loop_->block_on(client_->connect()).value();
  }
  void stop() {
    if (server_ == nullptr) return;
    server_->stop(0s);
    EXPECT_TRUE(turn_until([this] { return server_->stopped(); }));
    server_.reset();
  }
  template <typename Condition>
  bool turn_until(Condition condition) {
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < patience) loop_->run_once(1ms);
    return condition();
  }
  void expect_served() {
    const Result<int> answer = loop_->block_on(client_->call<add>(1));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(*answer, 2);
  }

  std::vector<Reply<int>> replies_;
  std::vector<Peer> kept_peers_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(HostileUser, RepliesAreUsedAndDroppedOnOtherThreadsWhenTheirCallersAreGone) {
  std::vector<Call<int>> calls;
  for (int i = 0; i < 40; ++i) calls.push_back(client_->start<owe>());
  ASSERT_TRUE(turn_until([&] { return replies_.size() == 40; }));
  client_->close();
  std::thread user{[this] {
    for (std::size_t i = 0; i < 20; ++i) std::move(replies_[i])(static_cast<int>(i));
    replies_.erase(replies_.begin(), replies_.begin() + 30);
  }};
  for (int i = 0; i < 50; ++i) loop_->run_once(1ms);
  user.join();
  server_->stop(0s);
  replies_.clear();
  EXPECT_TRUE(turn_until([&] { return server_->stopped(); }));
}

TEST_F(HostileUser, PeersAreUsedWhenTheirConnectionTheirServerAndTheirLoopAreGone) {
  EXPECT_EQ(loop_->block_on(client_->call<introduce>()).value(), 1);
  Peer peer = kept_peers_.front();
  EXPECT_EQ(loop_->block_on(peer.call<show>(4)).value(), 8);
  std::optional<Call<int>> call{peer.start<show>(4)};
  client_.reset();
  EXPECT_FALSE(loop_->block_on(*std::move(call)).ok());
  EXPECT_EQ(loop_->block_on(peer.call<show>(4)).status().code(), StatusCode::kUnavailable);
  stop();
  EXPECT_EQ(loop_->block_on(peer.call<show>(4)).status().code(), StatusCode::kUnavailable);
  peer.close("gone already");
  kept_peers_.clear();
  loop_.reset();
  auto other = Loop::create().value();
  EXPECT_FALSE(other->block_on(peer.call<show>(4)).ok());
}

TEST_F(HostileUser, BuffersOfAnswersOutliveTheirClientTheirServerAndTheirLoop) {
  std::vector<Buffer> buffers;
  for (int i = 0; i < 3; ++i) {
    auto answer = loop_->block_on(client_->call<give_bytes>().with_attachment());
    ASSERT_TRUE(answer.ok());
    buffers.push_back(std::move(answer->attachment));
  }
  client_.reset();
  stop();
  loop_.reset();
  for (const Buffer& buffer : buffers) {
    ASSERT_EQ(buffer.size(), kAttachmentBytes);
    EXPECT_EQ(buffer.bytes().back(), std::byte{7});
  }
  std::thread{[its = std::move(buffers)]() mutable { its.clear(); }}.join();
}

TEST_F(HostileUser, OptionsAtTheirExtremesFailOrServeAndEndNothing) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::byte> place(kAttachmentBytes);
  std::vector<CallOptions> all;
  for (const Duration timeout : {Duration::min(), Duration{-1}, Duration{1}, Duration::max() - Duration{1},
                                 Duration::max(), kNoTimeout}) {
    all.push_back({.timeout = timeout});
  }
  for (const TimePoint at :
       {TimePoint::min(), TimePoint{}, TimePoint::max() - Duration{1}, TimePoint::max()}) {
    all.push_back({.deadline = Deadline{at}});
  }
  for (const std::uint64_t rate : {std::uint64_t{1}, kMost, kMost / 2, std::uint64_t{1} << 63}) {
    CallOptions options;
    options.attachment = place;
    options.attachment_rate = rate;
    all.push_back(options);
    options = {};
    options.landing = place;
    options.landing_rate = rate;
    all.push_back(options);
  }
  CallOptions both;
  both.attachment = place;
  both.landing = place;
  all.push_back(both);
  for (const CallOptions& options : all) {
    std::vector<Call<std::size_t>> taken;
    std::vector<Call<int>> given;
    for (int i = 0; i < 3; ++i) {
      taken.push_back(client_->start<take_bytes>(options));
      given.push_back(client_->start<give_bytes>(options));
    }
    for (int i = 0; i < 3; ++i) loop_->run_once(1ms);
    taken.clear();
    given.clear();
  }
  expect_served();
}

TEST_F(HostileUser, MetadataAtItsExtremesFailsOrArrives) {
  Metadata full;
  EXPECT_FALSE(full.set("", "value").ok());
  EXPECT_FALSE(full.set(std::string(70'000, 'k'), "value").ok());
  EXPECT_FALSE(full.set("key", std::string(70'000, 'v')).ok());
  std::size_t count = 0;
  while (full.set("key " + std::to_string(count), std::string{"\0\xFF\n", 3}).ok()) ++count;
  EXPECT_GE(count, 1u);
  std::size_t bytes = 0;
  Metadata long_one;
  while (long_one.set("key", std::string(bytes + 1, 'v')).ok()) ++bytes;
  for (const Metadata* metadata : {&full, &long_one}) {
    CallOptions options;
    options.metadata = *metadata;
    const Result<std::size_t> arrived = loop_->block_on(client_->call<count_metadata>(options));
    ASSERT_TRUE(arrived.ok()) << arrived.status().to_string();
    EXPECT_EQ(*arrived, metadata == &full ? count : 1);
  }
  expect_served();
}

/// Destroys a call or a stream whenever an interceptor is told of the end of another one.
class Sweeper final : public ClientInterceptor {
 public:
  Status before(OutgoingCall&) override {
    if (++begun % 7 == 0) throw std::bad_alloc{};
    if (begun % 5 == 0) return {StatusCode::kAborted, Layer::kUser, "not this one"};
    return {};
  }
  void after(const EndedCall&) noexcept override {
    if (on_after) on_after();
  }
  std::function<void()> on_after;
  int begun = 0;
};

TEST_F(HostileUser, CallsAndStreamsAreDestroyedByEachOthersEnds) {
  auto sweeper = std::make_shared<Sweeper>();
  ClientOptions options{.connect = server_->urls().front()};
  options.interceptors = {sweeper};
  Client client{*loop_, std::move(options)};
  loop_->block_on(client.connect()).value();
  std::vector<std::optional<Call<int>>> calls(50);
  std::vector<std::optional<StreamOf<count_up>>> streams(50);
  std::size_t next = 0;
  bool sweeps = true;
  sweeper->on_after = [&] {
    if (!sweeps) return;
    next = (next * 13 + 7) % 50;
    calls[next].reset();
    streams[(next + 25) % 50].reset();
  };
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < 50; ++i) {
      switch ((i + static_cast<std::size_t>(round)) % 4) {
        case 0:
          calls[i].emplace(client.start<add>(1));
          break;
        case 1:
          calls[i].emplace(client.start<never>());
          break;
        case 2:
          calls[i].emplace(client.start<give_bytes>());
          break;
        default:
          streams[i].emplace(client.open<count_up>(round % 2 == 0 ? 3 : 1'000'000));
      }
    }
    for (int turn = 0; turn < round % 4; ++turn) loop_->run_once(0ms);
    if (round % 3 == 0) {
      for (auto& call : calls) {
        if (call) call->cancel();
      }
    }
    if (round % 7 == 6) client.close();
    if (round % 7 == 6) break;
  }
  sweeps = false;
  calls.clear();
  streams.clear();
  expect_served();
}

Task<void> call_again_and_again(Client* client, int* ended) {
  for (int i = 0; i < 100; ++i) {
    CallOptions options;
    options.timeout = Duration{1};
    static_cast<void>(co_await client->call<never>(options));
    options.timeout = 1ms;
    static_cast<void>(co_await client->call<never>(options));
  }
  ++*ended;
}

TEST_F(HostileUser, TimeoutsOfANanosecondByTheThousandLeaveNothingBehind) {
  Scope scope;
  int ended = 0;
  for (int i = 0; i < 20; ++i) scope.spawn(&call_again_and_again, client_.get(), &ended);
  EXPECT_TRUE(turn_until([&] { return scope.count() == 0; }));
  EXPECT_EQ(ended, 20);
  EXPECT_TRUE(turn_until([&] { return server_->stats().calls_running == 0; }));
  EXPECT_EQ(client_->stats().calls_in_flight, 0u);
  expect_served();
}

Task<void> misuse_stream(Client* client, int* step) {
  {
    auto stream = client->open<sum_up>();
    static_cast<void>(co_await stream.write(1));
    stream.end_writing();
    EXPECT_FALSE(co_await stream.write(2)) << "after the end of writing";
    stream.end_writing();
    auto moved = std::move(stream);
    EXPECT_TRUE(stream.done()) << "one that was moved from";
    stream.cancel();
    const Result<int> sum = co_await moved.finish();
    EXPECT_EQ(sum.value(), 1);
    EXPECT_EQ((co_await moved.finish()).status().code(), StatusCode::kFailedPrecondition);
    EXPECT_FALSE(co_await moved.write(3));
    moved.cancel();
    EXPECT_TRUE(moved.status().ok());
  }
  ++*step;
  {
    auto stream = client->open<count_up>(1'000'000);
    EXPECT_EQ(*co_await stream.next(), 0);
    stream.cancel();
    stream.cancel();
    EXPECT_FALSE(co_await stream.next());
    EXPECT_FALSE(co_await stream.next());
    EXPECT_FALSE((co_await stream.finish()).ok());
    stream = client->open<count_up>(2);
    EXPECT_EQ(*co_await stream.next(), 0);
    stream = client->open<count_up>(1);
    EXPECT_EQ(*co_await stream.next(), 0);
    EXPECT_FALSE(co_await stream.next());
    EXPECT_TRUE(stream.status().ok());
  }
  ++*step;
  {
    auto stream = client->open<count_up>(1'000'000);
    EXPECT_EQ(*co_await stream.next(), 0);
    client->close();
    while (const auto item = co_await stream.next()) EXPECT_GT(*item, 0);
    EXPECT_FALSE(stream.status().ok());
    EXPECT_FALSE((co_await stream.finish()).ok());
    EXPECT_FALSE((co_await client->open<count_up>(1).finish()).ok());
  }
  ++*step;
}

TEST_F(HostileUser, StreamsAreUsedBehindTheirEnds) {
  Scope scope;
  int step = 0;
  scope.spawn(&misuse_stream, client_.get(), &step);
  EXPECT_TRUE(turn_until([&] { return scope.count() == 0; })) << step;
  EXPECT_EQ(step, 3);
}

/// Value whose destructor uses the client.
struct Meddler {
  std::function<void()> act;
  explicit Meddler(std::function<void()> its) : act(std::move(its)) {}
  Meddler(Meddler&&) = default;
  Meddler& operator=(Meddler&&) = default;
  ~Meddler() {
    if (act) act();
  }
};
Task<void> hold_meddler(Client* client, std::shared_ptr<Meddler> meddler) {
  [[maybe_unused]] const auto held = std::move(meddler);
  [[maybe_unused]] const Result<int> answer = co_await client->call<never>();
}

TEST_F(HostileUser, LocalsOfCancelledCoroutinesBeginAndDestroyOthers) {
  Scope first;
  Scope second;
  std::optional<Call<int>> late;
  auto meddler = std::make_shared<Meddler>([&] {
    late.emplace(client_->start<add>(1));
    second.cancel(CancelReason::kRequested);
  });
  auto other = std::make_shared<Meddler>([&] { client_.reset(); });
  first.spawn(&hold_meddler, client_.get(), std::move(meddler));
  second.spawn(&hold_meddler, client_.get(), std::move(other));
  turn_until([&] { return server_->stats().calls_running == 2; });
  first.cancel(CancelReason::kRequested);
  EXPECT_TRUE(turn_until([&] { return first.count() + second.count() == 0; }));
  EXPECT_EQ(client_, nullptr);
  EXPECT_TRUE(late->done());
}

TEST_F(HostileUser, TheServerIsStoppedByItsHooksOnPeers) {
  ServerOptions options;
  options.listen = {"tcp://127.0.0.1:0"};
  options.threads = 0;
  options.loop = loop_.get();
  Server server{std::move(options)};
  server.register_handler<never>();
  server.on_peers([&](const Peer&) { server.stop(0s); }, [&](const Peer&) { server.stop(1s); });
  server.start().value();
  Client client{*loop_, {.connect = server.urls().front()}};
  Call<int> call = client.start<never>();
  EXPECT_TRUE(turn_until([&] { return server.stopped(); }));
  EXPECT_TRUE(turn_until([&] { return call.done(); }));
}

}  // namespace
}  // namespace weft::testing::hostile_user
