// SPDX-License-Identifier: Apache-2.0
// Each callback performs each action that may destroy the callback's own client, call or server: over each
// carrier, on a live connection, on one that is closing, and on one that is lost. A memory error ends the
// process; the sanitizers' builds report it.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>
#include <weft/fleet.hpp>
#include <weft/weft.hpp>

#include "integration/callbacks/callback_ways.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::testing::callback_matrix {

using namespace std::chrono_literals;

enum class Callback : int {
  kServedFunction,
  kServedCoroutine,
  kServedCoroutineLater,
  kServedReply,
  kClientBefore,
  kClientAfter,
  kServerBefore,
  kServerAfter,
  kArgumentsMeasured,
  kArgumentsWritten,
  kArgumentsRead,
  kAnswerMeasured,
  kAnswerWritten,
  kAnswerRead,
  kArgumentEnds,
  kItemWritten,
  kItemRead,
  kBufferReleased,
  kRequestBufferReleased,
  kAnswerSent,
  kProgress,
  kPeerConnected,
  kPeerGone,
  kAuthenticator,
  kAuthorizer,
  kLandingChooser,
  kServerLog,
  kAccept,
  kRefusedLog,
  kCallerKey,
  kLast,
};
constexpr const char* kCallbackNames[] = {"ServedFunction",
                                          "ServedCoroutine",
                                          "ServedCoroutineLater",
                                          "ServedReply",
                                          "ClientBefore",
                                          "ClientAfter",
                                          "ServerBefore",
                                          "ServerAfter",
                                          "ArgumentsMeasured",
                                          "ArgumentsWritten",
                                          "ArgumentsRead",
                                          "AnswerMeasured",
                                          "AnswerWritten",
                                          "AnswerRead",
                                          "ArgumentEnds",
                                          "ItemWritten",
                                          "ItemRead",
                                          "BufferReleased",
                                          "RequestBufferReleased",
                                          "AnswerSent",
                                          "Progress",
                                          "PeerConnected",
                                          "PeerGone",
                                          "Authenticator",
                                          "Authorizer",
                                          "LandingChooser",
                                          "ServerLog",
                                          "Accept",
                                          "RefusedLog",
                                          "CallerKey"};
static_assert(std::size(kCallbackNames) == static_cast<std::size_t>(Callback::kLast));

enum class Action : int {
  kClose,
  kDestroy,
  kGiveUp,
  kCall,
  kCancel,
  kCancelOwn,
  kStopServer,
  kClosePeers,
  kLast
};
constexpr const char* kActionNames[] = {"Close",  "Destroy",   "GiveUp",     "Call",
                                        "Cancel", "CancelOwn", "StopServer", "ClosePeers"};
static_assert(std::size(kActionNames) == static_cast<std::size_t>(Action::kLast));

/// Number of the loop's turns after which the server closes the connection; kStands: never.
constexpr int kStands = -1;
/// The callback closes the peers before its action.
constexpr int kClosing = -2;
/// The callback shuts the sockets of the established connections before its action: the carriers find them
/// lost.
constexpr int kLost = -3;

class World;
/// The world whose callbacks hooks without a state of their own are.
World* world = nullptr;

void reached(Callback which);

/// Value whose hooks are callbacks of the world: when it is measured, written and read.
template <Callback kMeasured, Callback kWritten, Callback kRead>
struct Hooked {
  int number = 0;
};
using Argument = Hooked<Callback::kArgumentsMeasured, Callback::kArgumentsWritten, Callback::kArgumentsRead>;
using Answered = Hooked<Callback::kAnswerMeasured, Callback::kAnswerWritten, Callback::kAnswerRead>;
using Item = Hooked<Callback::kLast, Callback::kItemWritten, Callback::kItemRead>;

/// Value whose end is a callback.
struct Ending {
  int number = 0;
  ~Ending() { reached(Callback::kArgumentEnds); }
  explicit Ending(int its = 0) : number(its) {}
  Ending(const Ending&) = default;
  Ending& operator=(const Ending&) = default;
};

}  // namespace weft::testing::callback_matrix

namespace weft {

template <testing::callback_matrix::Callback kMeasured, testing::callback_matrix::Callback kWritten,
          testing::callback_matrix::Callback kRead>
struct CodecTraits<testing::callback_matrix::Hooked<kMeasured, kWritten, kRead>> {
  using Value = testing::callback_matrix::Hooked<kMeasured, kWritten, kRead>;
  static constexpr std::size_t kMinEncodedSize = 8;
  static void encoded_size(auto& size, const Value& value) {
    testing::callback_matrix::reached(kMeasured);
    size.add(value.number);
    size.add(value.number);
  }
  static void encode(auto& to, const Value& value) {
    to.write(value.number);
    testing::callback_matrix::reached(kWritten);
    to.write(value.number);
  }
  static bool decode(auto& from, Value& value) {
    int again = 0;
    if (!from.read(value.number)) return false;
    testing::callback_matrix::reached(kRead);
    return from.read(again) && again == value.number;
  }
  static constexpr void append_schema(auto& to) { to.put("hooked"); }
};

template <>
struct CodecTraits<testing::callback_matrix::Ending> {
  using Wire = int;
  static Wire to_wire(const testing::callback_matrix::Ending& value) { return value.number; }
  static bool from_wire(Wire wire, testing::callback_matrix::Ending& value) {
    value.number = wire;
    return true;
  }
};

}  // namespace weft

namespace weft::testing::callback_matrix {

constexpr std::size_t kAttachmentBytes = 200'000;

struct Case {
  Callback callback;
  Action action;
  int cut;
};

class Before final : public ClientInterceptor {
 public:
  Status before(OutgoingCall&) override {
    reached(Callback::kClientBefore);
    return {};
  }
  void after(const EndedCall&) noexcept override { reached(Callback::kClientAfter); }
};

class AtServer final : public ServerInterceptor {
 public:
  Status before(IncomingCall&) override {
    reached(Callback::kServerBefore);
    return {};
  }
  void after(const EndedCall&) noexcept override { reached(Callback::kServerAfter); }
};

/// Log of the server.
class Lines final : public Logger {
 public:
  void write(LogLevel, std::string_view line) override {
    const bool refused = line.find("connections_max") != std::string_view::npos;
    reached(refused ? Callback::kRefusedLog : Callback::kServerLog);
  }
};

class Keys final : public CallerKey {
 public:
  std::string_view of(const IncomingCall&) const noexcept override {
    reached(Callback::kCallerKey);
    return "caller";
  }
};

class Tokens final : public Authenticator {
 public:
  Result<Authenticated> authenticate(const Credentials&) noexcept override {
    reached(Callback::kAuthenticator);
    return Authenticated{};
  }
};

class Rights final : public Authorizer {
 public:
  bool may_call(const Identity&, std::string_view) noexcept override {
    reached(Callback::kAuthorizer);
    return true;
  }
  // The answer is asked for each call.
  std::uint64_t version(TimePoint) noexcept override { return ++version_; }

 private:
  std::uint64_t version_ = 0;
};

/// Functions that the server offers.
int add_one(int number) {
  return number + 1;
}
Task<int> hang() {
  Event never;
  [[maybe_unused]] const Result<void> told = co_await never.wait();
  co_return 0;
}
int take_argument(Argument argument) {
  return argument.number;
}
Answered give_answer(int number) {
  return Answered{number};
}
Ending take_ending(const Ending& ending) {
  return Ending{ending.number};
}
/// Functions that the client offers.
int show(int number) {
  reached(Callback::kServedFunction);
  return number;
}
Task<int> show_slowly(int number) {
  reached(Callback::kServedCoroutine);
  co_await yield();
  co_await yield();
  reached(Callback::kServedCoroutineLater);
  co_await yield();
  co_return number;
}
void owe(Reply<int> reply) {
  reached(Callback::kServedReply);
  std::move(reply)(7);
}
Task<int> poke(CallContext& context, int how) {
  Peer peer = context.peer();
  Result<int> answer = 0;
  if (how == 0) {
    answer = co_await peer.call<show>(3);
  } else if (how == 1) {
    answer = co_await peer.call<show_slowly>(3);
  } else {
    answer = co_await peer.call<owe>();
  }
  co_return answer.ok() ? *answer : -1;
}
Buffer released_buffer(Callback which) {
  auto* const owner = new std::pair<std::vector<std::byte>, Callback>{kAttachmentBytes, which};
  return Buffer::adopt(MutableBytes{owner->first}, owner, [](void* its) noexcept {
    const std::unique_ptr<std::pair<std::vector<std::byte>, Callback>> owned{
        static_cast<std::pair<std::vector<std::byte>, Callback>*>(its)};
    reached(owned->second);
  });
}
int give_buffer(CallContext& context) {
  context.set_attachment(released_buffer(Callback::kBufferReleased));
  context.on_answer_sent([](bool) { reached(Callback::kAnswerSent); });
  return 1;
}
int take_buffer(CallContext& context) {
  return static_cast<int>(context.attachment().size());
}
Task<int> choose(IncomingAttachment& data) {
  reached(Callback::kLandingChooser);
  std::vector<std::byte> memory(data.size());
  Result<void> whole = co_await data.into(memory);
  co_return whole.ok() ? 1 : 0;
}
/// Sends back what comes.
Task<int> items_back(Reader<Item>& items, Writer<Item>& back) {
  int count = 0;
  while (auto item = co_await items.next()) {
    const Item sent = *item;
    const bool goes_on = co_await back.write(sent);
    if (!goes_on) break;
    ++count;
  }
  co_return count;
}

/// One server, one client, and the calls that a callback is reached by, all on one loop.
class World {
 public:
  World(std::string url, const Transports& transports, const Case& its, bool checksums)
      : case_(its), transports_(transports), checksums_(checksums) {
    world = this;
    make_server(std::move(url));
    make_client();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    armed_ = false;
    client_.reset();
    late_.clear();
    other_.reset();
    others_.cancel(CancelReason::kRequested);
    calls_.cancel(CancelReason::kRequested);
    server_->stop(0s);
    const bool ended =
        turn_until([this] { return server_->stopped() && calls_.count() == 0 && others_.count() == 0; });
    EXPECT_TRUE(ended);
    if (!ended) std::abort();  // what is left refers to this
    world = nullptr;
  }

  /// True when the callback was reached.
  bool run() {
    other_.emplace(client_->start<hang>());
    others_.spawn(&hang_on, client_.get());
    turn_until([this] { return server_->stats().calls_running == 2; });
    armed_ = true;
    sockets_ = new_sockets_.list();
    trigger();
    for (int turn = 0; turn != case_.cut && turn < 200 && !quiet(); ++turn) loop_->run_once(0ms);
    if (case_.cut >= 0) cut();
    turn_until([this] { return quiet(); });
    expect_still_serves();
    return fired_;
  }

  void on(Callback which) {
    if (which != case_.callback || !std::exchange(armed_, false)) return;
    fired_ = true;
    if (case_.cut == kClosing) cut();
    if (case_.cut == kLost) shut(sockets_);
    act();
  }

 private:
  void make_server(std::string url) {
    ServerOptions options;
    options.listen = {std::move(url)};
    options.threads = 0;
    options.loop = loop_.get();
    options.checksums = checksums_;
    options.logger = &lines_;
    if (case_.callback == Callback::kServerBefore || case_.callback == Callback::kServerAfter)
      options.interceptors = {std::make_shared<AtServer>()};
    if (case_.callback == Callback::kAuthenticator) options.authenticator = std::make_shared<Tokens>();
    if (case_.callback == Callback::kAuthorizer) options.authorizer = std::make_shared<Rights>();
    if (case_.callback == Callback::kCallerKey)
      options.caller_rates = {{.rate = {.per_second = 1e6, .burst = 1e6}, .key = std::make_shared<Keys>()}};
    if (case_.callback == Callback::kRefusedLog) options.connections_max = 1;
    options.accept = [](std::string_view) {
      reached(Callback::kAccept);
      return true;
    };
    server_ = std::make_unique<Server>(std::move(options), transports_);
    server_->register_handler<add_one, hang, take_argument, give_answer, take_ending, poke, give_buffer,
                              take_buffer, choose, items_back>();
    server_->on_peers([](const Peer&) { reached(Callback::kPeerConnected); },
                      [](const Peer&) { reached(Callback::kPeerGone); });
    server_->start().value();
  }
  void make_client() {
    ClientOptions options{.connect = server_->urls().front()};
    if (case_.callback == Callback::kClientBefore || case_.callback == Callback::kClientAfter)
      options.interceptors = {std::make_shared<Before>()};
    client_ = std::make_unique<Client>(*loop_, std::move(options), transports_);
    client_->register_handler<show, show_slowly, owe>();
    [[maybe_unused]] const auto connected = loop_->block_on(client_->connect());
  }

  static Task<void> hang_on(Client* client) {
    [[maybe_unused]] const Result<int> answer = co_await client->call<hang>();
  }
  static Task<void> poke_client(Client* client, int how) {
    [[maybe_unused]] const Result<int> answer = co_await client->call<poke>(how);
  }
  static Task<void> send_argument(Client* client) {
    const Argument argument{5};
    Result<int> answer = co_await client->call<take_argument>(argument);
    world->expect_value(answer, 5);
  }
  static Task<void> get_answer(Client* client) {
    Result<Answered> answer = co_await client->call<give_answer>(6);
    if (answer.ok()) {
      EXPECT_EQ(answer->number, 6);
    }
  }
  static Task<void> send_ending(Client* client) {
    const Ending ending{7};
    [[maybe_unused]] const Result<Ending> answer = co_await client->call<take_ending>(ending);
  }
  static Task<void> get_buffer(Client* client) {
    [[maybe_unused]] const Result<Answer<int>> answer =
        co_await client->call<give_buffer>().with_attachment();
  }
  static Task<void> send_buffer(Client* client, bool chooses) {
    const Buffer lent = released_buffer(Callback::kRequestBufferReleased);
    TransferProgress progress;
    progress.on_change([](const TransferProgress&) { reached(Callback::kProgress); });
    CallOptions options;
    options.attachment = lent.bytes();
    options.progress = &progress;
    if (chooses) {
      [[maybe_unused]] const Result<int> answer = co_await client->call<choose>(options);
    } else {
      [[maybe_unused]] const Result<int> answer = co_await client->call<take_buffer>(options);
    }
  }
  static Task<void> send_token(Client* client) {
    Metadata token;
    token.set(kAuthorizationKey, "Bearer abc").value();
    CallOptions options;
    options.metadata = token;
    [[maybe_unused]] const Result<int> answer = co_await client->call<add_one>(options, 1);
  }
  static Task<void> call_nothing(Client* client) {
    Result<int> answer = co_await client->call<remote<"nothing", int(int)>>(1);
    EXPECT_FALSE(answer.ok());
  }
  static Task<void> send_items(Client* client) {
    auto stream = client->open<items_back>();
    for (int i = 0; i < 3; ++i) {
      const Item item{i};
      const bool written = co_await stream.write(item);
      if (!written) co_return;
      const auto back = co_await stream.next();
      if (!back) co_return;
      EXPECT_EQ(back->number, i);
    }
    [[maybe_unused]] const Result<int> count = co_await stream.finish();
  }

  /// Begins what reaches the callback, or something else when its callback comes from elsewhere.
  void trigger() {
    Client* const its = client_.get();
    switch (case_.callback) {
      case Callback::kServedFunction:
        return calls_.spawn(&poke_client, its, 0);
      case Callback::kServedCoroutine:
      case Callback::kServedCoroutineLater:
        return calls_.spawn(&poke_client, its, 1);
      case Callback::kServedReply:
        return calls_.spawn(&poke_client, its, 2);
      case Callback::kArgumentsMeasured:
      case Callback::kArgumentsWritten:
      case Callback::kArgumentsRead:
        return calls_.spawn(&send_argument, its);
      case Callback::kAnswerMeasured:
      case Callback::kAnswerWritten:
      case Callback::kAnswerRead:
        return calls_.spawn(&get_answer, its);
      case Callback::kArgumentEnds:
        return calls_.spawn(&send_ending, its);
      case Callback::kItemWritten:
      case Callback::kItemRead:
        return calls_.spawn(&send_items, its);
      case Callback::kBufferReleased:
      case Callback::kAnswerSent:
        return calls_.spawn(&get_buffer, its);
      case Callback::kRequestBufferReleased:
      case Callback::kProgress:
        return calls_.spawn(&send_buffer, its, false);
      case Callback::kLandingChooser:
        return calls_.spawn(&send_buffer, its, true);
      case Callback::kAuthenticator:
        return calls_.spawn(&send_token, its);
      case Callback::kPeerConnected:
      case Callback::kAccept:
      case Callback::kRefusedLog:
        second_ =
            std::make_unique<Client>(*loop_, ClientOptions{.connect = server_->urls().front()}, transports_);
        return late_.push_back(second_->start<add_one>(1));
      case Callback::kPeerGone:
        cut();
        return;
      case Callback::kServerLog:
        return calls_.spawn(&call_nothing, its);
      default:
        late_.push_back(its->start<add_one>(1));
        if (client_ != nullptr) calls_.spawn(&send_argument, its);
    }
  }

  void act() {
    switch (case_.action) {
      case Action::kClose:
        if (client_ != nullptr) client_->close();
        if (second_ != nullptr) second_->close();
        return;
      case Action::kDestroy:
        client_.reset();
        second_.reset();
        return;
      case Action::kGiveUp:
        other_.reset();
        return;
      case Action::kCall:
        if (client_ == nullptr) return;
        for (int i = 0; i < 3; ++i) late_.push_back(client_->start<add_one>(i));
        return calls_.spawn(&send_argument, client_.get());
      case Action::kCancel:
        return others_.cancel(CancelReason::kRequested);
      case Action::kCancelOwn:
        for (Call<int>& call : late_) call.cancel();
        return calls_.cancel(CancelReason::kRequested);
      case Action::kStopServer:
        return server_->stop(0s);
      case Action::kClosePeers:
        return cut();
      case Action::kLast:
        return;
    }
  }

  void cut() {
    if (Loop::current() == nullptr) return loop_->post([this] { cut(); });
    server_->peers().for_each_here([](Peer peer) { peer.close("cut"); });
  }

  void expect_value(const Result<int>& answer, int expected) {
    if (answer.ok()) {
      EXPECT_EQ(*answer, expected);
    } else if (case_.action == Action::kCall && case_.cut == kStands &&
               case_.callback != Callback::kPeerGone) {
      ADD_FAILURE() << answer.status().to_string();
    }
  }

  /// Calls that were begun have ended, and so has what the action began.
  bool quiet() {
    if (calls_.count() != 0 || (case_.callback == Callback::kPeerGone && !fired_)) return false;
    for (Call<int>& call : late_) {
      if (!call.done()) return false;
    }
    return case_.action != Action::kStopServer || !fired_ || server_->stopped();
  }

  void expect_still_serves() {
    if (fired_ && case_.action == Action::kCall && case_.cut == kStands) {
      for (Call<int>& call : late_) EXPECT_TRUE(call.done());
    }
    if (server_->stopped() || (fired_ && case_.action == Action::kStopServer)) return;
    armed_ = false;
    if (case_.callback == Callback::kRefusedLog) {
      client_.reset();
      second_.reset();
      EXPECT_TRUE(turn_until([this] { return server_->stats().connections == 0; }));
    }
    Client fresh{*loop_, {.connect = server_->urls().front()}, transports_};
    const Result<int> answer = loop_->block_on(fresh.call<add_one>(41));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(*answer, 42);
  }

  template <typename Condition>
  bool turn_until(Condition condition) {
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > patience) return false;
      loop_->run_once(1ms);
    }
    return true;
  }

  const Case case_;
  const Transports transports_;
  const bool checksums_;
  const NewSockets new_sockets_;
  std::vector<int> sockets_;
  Lines lines_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Client> second_;
  std::optional<Call<int>> other_;
  std::vector<Call<int>> late_;
  Scope others_;
  Scope calls_;
  bool armed_ = false;
  bool fired_ = false;
};

void reached(Callback which) {
  if (world != nullptr) world->on(which);
}

/// Parameters: the carrier, and the number of the callback.
class CallbackMatrix : public ::testing::TestWithParam<std::tuple<Way, int>> {
 protected:
  static const Way& way() { return std::get<0>(GetParam()); }
  static Callback callback() { return static_cast<Callback>(std::get<1>(GetParam())); }
};

TEST_P(CallbackMatrix, PerformsEachAction) {
  const Transports its = transports_of(way());
  for (int action = 0; action < static_cast<int>(Action::kLast); ++action) {
    for (const int cut : {kStands, kClosing, kLost, 0, 1, 2, 4}) {
      if (cut == kLost && !way().sockets) continue;
      if (way().few && cut >= 0 && cut != 2) continue;
      SCOPED_TRACE(std::string{kActionNames[action]} + " " + std::to_string(cut));
      World tried{unused_url(way()), its, {callback(), static_cast<Action>(action), cut}, way().checksums};
      // The server may close the connection before the callback is reached.
      EXPECT_TRUE(tried.run() || cut >= 0);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Carriers, CallbackMatrix,
                         ::testing::Combine(::testing::ValuesIn(callback_ways()),
                                            ::testing::Range(0, static_cast<int>(Callback::kLast))),
                         [](const auto& its) {
                           return std::string{std::get<0>(its.param).name} +
                                  kCallbackNames[std::get<1>(its.param)];
                         });

}  // namespace weft::testing::callback_matrix
