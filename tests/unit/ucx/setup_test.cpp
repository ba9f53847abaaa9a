// SPDX-License-Identifier: Apache-2.0
// Contexts and their settings (UX-1), workers that sleep and run on loops of their own (UX-2, BU-2), foreign
// pollers beside them (BU-7), connections by listener (UX-2), and what is no address and no key.
// Capabilities: UX-6.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>

#include "unit/ucx/pair.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/runtime/loop_thread.hpp"
#include "weft/detail/ucx/log.hpp"

namespace weft::ucx {

using namespace weft::detail;
namespace {

using testing::all_features;
using testing::Pair;
using testing::text;
using testing::text_of;
using testing::Way;

TEST(UcxContext, OptionsAreInTheConfigurationThatItPrints) {
  auto context = Context::create({.features = {.tag = true},
                                  .transports = {"tcp", "self"},
                                  .devices = {"lo"},
                                  .settings = {{"RNDV_THRESH", "12345"}}});
  ASSERT_TRUE(context.ok()) << context.status().to_string();
  const std::string& configuration = (*context)->configuration();
  EXPECT_NE(configuration.find("UCX_TLS=tcp,self"), std::string::npos);
  EXPECT_NE(configuration.find("UCX_NET_DEVICES=lo"), std::string::npos);
  EXPECT_NE(configuration.find("UCX_RNDV_THRESH=12345"), std::string::npos);
  EXPECT_NE((*context)->description().find("tcp"), std::string::npos);
}

TEST(UcxContext, ASettingThatUcxDoesNotKnowIsRefusedByName) {
  auto unknown = Context::create({.features = {.tag = true}, .settings = {{"NO_SUCH_THING", "1"}}});
  EXPECT_EQ(unknown.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(unknown.status().message().find("NO_SUCH_THING"), std::string_view::npos);
  auto inherited = Context::create({.features = {.tag = true}, .settings = {{"POSIX_ERROR_HANDLING", "y"}}});
  EXPECT_EQ(inherited.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(inherited.status().message().find("MM_ERROR_HANDLING"), std::string_view::npos);
}

TEST(UcxContext, AValueThatUcxWouldNotTakeIsRefusedWithWhatItTakes) {
  const auto with = [](const char* name, const char* value) {
    return Context::create({.features = {.tag = true}, .settings = {{name, value}}}).status();
  };
  // Of UCX itself, and of its transports, which it opens later and whose settings it then only warns of.
  for (const auto& [name, value] : {std::pair{"RNDV_THRESH", "soon"}, std::pair{"TCP_TX_SEG_SIZE", "much"},
                                    std::pair{"MM_FIFO_SIZE", "x"}, std::pair{"MM_HUGETLB_MODE", "what"},
                                    std::pair{"MAX_RNDV_RAILS", "-"}}) {
    const Status status = with(name, value);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_NE(status.message().find(std::string{name} + "=" + value), std::string_view::npos);
    EXPECT_NE(status.message().find("it takes: "), std::string_view::npos) << status.to_string();
  }
  for (const auto& [name, value] :
       {std::pair{"RNDV_THRESH", "8k"}, std::pair{"RNDV_THRESH", "auto"}, std::pair{"TCP_TX_SEG_SIZE", "16k"},
        std::pair{"MM_FIFO_SIZE", "128"}, std::pair{"MM_HUGETLB_MODE", "try"},
        std::pair{"TCP_PORT_RANGE", "20000-30000"}, std::pair{"TLS", "tcp,self"}}) {
    const Status status = with(name, value);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

TEST(UcxContext, ATransportThatIsNotThereIsSaidToBeMissing) {
  auto context = Context::create(
      {.features = {.tag = true}, .transports = {"no_such_transport"}, .settings = {{"LOG_LEVEL", "fatal"}}});
  ASSERT_FALSE(context.ok());
  EXPECT_EQ(context.status().layer(), Layer::kTransport);
  EXPECT_EQ(context.status().code(), StatusCode::kFailedPrecondition) << context.status().to_string();
  EXPECT_NE(context.status().message().find("UCX_TLS=no_such_transport"), std::string_view::npos);
  EXPECT_NE(context.status().message().find("UCX_NET_DEVICES=all"), std::string_view::npos);
}

TEST(UcxContext, ItLeavesNoSignalHandlersBehind) {
  auto context = Context::create({.features = {.tag = true}});
  ASSERT_TRUE(context.ok());
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    struct sigaction action{};
    ASSERT_EQ(::sigaction(signal, nullptr, &action), 0);
    Dl_info owner{};
    const void* handler = reinterpret_cast<const void*>(action.sa_sigaction);
    // The program's own, such as a sanitizer's, are as they were.
    if (handler == nullptr || ::dladdr(handler, &owner) == 0 || owner.dli_fname == nullptr) continue;
    EXPECT_EQ(std::string_view{owner.dli_fname}.find("libucs"), std::string_view::npos) << signal;
  }
}

TEST(UcxEndpoint, WhatIsNoAddressAndNoKeyIsRefused) {
  Pair pair{testing::ways().front()};
  std::vector<std::byte> address = pair.b->address().value();
  for (std::size_t at = 0; at < address.size(); at += 7) {
    std::vector<std::byte> broken = address;
    broken[at] ^= std::byte{0x40};
    EXPECT_EQ(Endpoint::connect(*pair.a, broken).status().code(), StatusCode::kInvalidArgument);
  }
  address.pop_back();
  EXPECT_EQ(Endpoint::connect(*pair.a, address).status().native(), UCS_ERR_INVALID_ADDR);
  EXPECT_FALSE(Endpoint::connect(*pair.a, Bytes{}).ok());
  EXPECT_EQ(RemoteKey::unpack(pair.to_b, address).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(RemoteKey::unpack(pair.to_b, as_bytes("a key")).status().code(), StatusCode::kInvalidArgument);
}

TEST(UcxEndpoint, AnErrorHandlerHearsOfAPeerThatIsGone) {
  Pair pair{testing::ways().front()};
  int told = 0;
  EndpointOptions options;
  options.on_error = [&told](const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.to_string();
    ++told;
  };
  Endpoint endpoint = Endpoint::connect(*pair.a, pair.b->address().value(), std::move(options)).value();
  const auto meet = [](Pair& both, Endpoint& to) -> Task<> {
    const Memory into = Memory::allocate(8);
    auto [sent, received] =
        co_await when_all(tag_send(to, 1, text("x")), tag_receive(*both.b, 1, kWholeTag, into));
    EXPECT_TRUE(sent.ok() && received.ok());
  };
  pair.run(meet(pair, endpoint));
  pair.to_a = Endpoint{};
  pair.b.reset();
  static_cast<void>(tag_send(endpoint, 1, text("y")).abandon());
  pair.until([&] { return told > 0; });
  EXPECT_EQ(endpoint.error().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(tag_send(endpoint, 1, text("y")).abandon().ok());
  EXPECT_EQ(told, 1);
}

TEST(UcxContext, TransportsAreNamesOrListsOfNames) {
  const auto setting = [](std::vector<std::string> transports) {
    const std::string all = Context::create({.features = {.tag = true}, .transports = std::move(transports)})
                                .value()
                                ->configuration();
    return all.find("MM_ERROR_HANDLING=y") != std::string::npos;
  };
  EXPECT_TRUE(setting({"posix", "tcp"}));
  EXPECT_TRUE(setting({"posix,tcp"}));
  EXPECT_FALSE(setting({"tcp"}));
}

/// A variable of the environment for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

std::string configuration_of(const ContextOptions& options) {
  return Context::create(options).value()->configuration();
}

TEST(UcxContext, VariablesChooseTransportsAndWinOverTheDefaultsThatAreOurs) {
  ContextOptions options{.features = {.tag = true}};
  options.shared_memory_element_bytes = 512;
  EXPECT_NE(configuration_of(options).find("MM_ERROR_HANDLING=y"), std::string::npos);
  EXPECT_NE(configuration_of(options).find("MM_FIFO_ELEM_SIZE=512"), std::string::npos);
  {
    // UCX would warn of settings for what it does not open.
    const Variable transports{"UCX_TLS", "tcp,self"};
    EXPECT_EQ(configuration_of(options).find("MM_"), std::string::npos);
    options.transports = {"posix"};
    EXPECT_NE(configuration_of(options).find("UCX_TLS=posix"), std::string::npos) << "options win";
    EXPECT_NE(configuration_of(options).find("MM_ERROR_HANDLING=y"), std::string::npos);
  }
  for (const char* const name : {"UCX_MM_ERROR_HANDLING", "UCX_POSIX_ERROR_HANDLING"}) {
    const Variable error_handling{name, "n"};
    EXPECT_EQ(configuration_of(options).find("MM_ERROR_HANDLING=y"), std::string::npos) << name;
    EXPECT_NE(configuration_of(options).find("MM_FIFO_ELEM_SIZE=512"), std::string::npos);
  }
  const Variable element{"APP_UCX_MM_FIFO_ELEM_SIZE", "1024"};
  EXPECT_NE(configuration_of(options).find("MM_FIFO_ELEM_SIZE=512"), std::string::npos) << "another's prefix";
  options.environment_prefix = "APP";
  EXPECT_EQ(configuration_of(options).find("MM_FIFO_ELEM_SIZE=512"), std::string::npos);
}

TEST(UcxContext, SegmentsOfTcpAreAsLongAsSaidUnlessAnybodyElseSaysSo) {
  const auto has_it = [](const ContextOptions& options) {
    return configuration_of(options).find("TX_SEG_SIZE=65536") != std::string::npos;
  };
  ContextOptions options{.features = {.tag = true}, .tcp_segment_bytes = 65536};
  EXPECT_TRUE(has_it(options));
  // UCX would warn of settings for what it does not open.
  for (const char* const transports : {"posix", "^tcp", "self,posix"}) {
    const Variable chosen{"UCX_TLS", transports};
    EXPECT_FALSE(has_it(options)) << transports;
  }
  for (const char* const transports : {"tcp", "^posix", "posix,tcp"}) {
    const Variable chosen{"UCX_TLS", transports};
    EXPECT_TRUE(has_it(options)) << transports;
  }
  for (const char* const name : {"UCX_TCP_TX_SEG_SIZE", "UCX_TCP_RX_SEG_SIZE"}) {
    const Variable size{name, "32k"};
    EXPECT_FALSE(has_it(options)) << name;
  }
  for (const char* const name : {"TCP_TX_SEG_SIZE", "TCP_RX_SEG_SIZE"}) {
    options.settings = {{name, "32k"}};
    EXPECT_FALSE(has_it(options)) << name;
  }
}

TEST(UcxWorker, AVariableThatUcxCannotTakeIsNamedWhenAWorkerCannotBeMade) {
  log_to(nullptr);
  const auto loop = Loop::create().value();
  const auto failure = [&] {
    auto context = Context::create({.features = {.tag = true}, .transports = {"posix"}}).value();
    return Worker::create(*loop, std::move(context)).status();
  };
  {
    const Variable tiny{"UCX_MM_FIFO_ELEM_SIZE", "3"};
    const Status status = failure();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.to_string();
    EXPECT_NE(status.message().find("UCX_MM_FIFO_ELEM_SIZE=3"), std::string_view::npos) << status.to_string();
  }
  const Variable tiny{"UCX_MM_FIFO_ELEM_SIZE", "3"};
  const Variable unreadable{"UCX_MM_FIFO_SIZE", "many"};
  const Status status = failure();
  EXPECT_NE(status.message().find("UCX_MM_FIFO_SIZE=many is not one that UCX can read: it takes "),
            std::string_view::npos)
      << status.to_string();
  EXPECT_EQ(status.message().find("UCX_MM_FIFO_ELEM_SIZE=3"), std::string_view::npos) << status.to_string();
}

// The text may be read by a peer, and UCX does not read what has another prefix.
TEST(UcxWorker, VariablesThatAreNotUcxsAreToldToNobody) {
  log_to(nullptr);
  const auto loop = Loop::create().value();
  const Variable tiny{"UCX_MM_FIFO_ELEM_SIZE", "3"};
  const Variable unknown{"UCX_PASSWORD", "hunter2"};
  const Variable foreign{"OTHER_UCX_RNDV_THRESH", "soon"};
  const Variable ours{"APP_UCX_MM_FIFO_SIZE", "many"};
  const auto text = [&](const char* prefix) {
    ContextOptions options{.features = {.tag = true}, .transports = {"posix"}};
    options.environment_prefix = prefix;
    return Worker::create(*loop, Context::create(options).value()).status().to_string();
  };
  EXPECT_NE(text("").find("UCX_MM_FIFO_ELEM_SIZE=3"), std::string::npos) << text("");
  EXPECT_NE(text("APP").find("APP_UCX_MM_FIFO_SIZE=many is not"), std::string::npos) << text("APP");
  for (const char* const prefix : {"", "APP"}) {
    EXPECT_EQ(text(prefix).find("hunter2"), std::string::npos);
    EXPECT_EQ(text(prefix).find("soon"), std::string::npos);
  }
  EXPECT_EQ(text("").find("many"), std::string::npos);
}

// What came outside of the loop's turn may be a part of what there is, and nobody announces the rest again.
TEST(UcxWorker, AWorkerThatProgressedOutsideOfATurnIsAskedBeforeTheLoopSleeps) {
  Pair pair{testing::ways().front()};
  pair.until([&] { return pair.b->arm(); });
  ASSERT_TRUE(tag_send(pair.to_b, 1, text("x")).abandon().ok());
  while (!tag_peek(*pair.b, 1, kWholeTag)) {
    pair.a->poll();
    pair.b->progress();
  }
  EXPECT_FALSE(pair.b->arm());
  pair.until([&] { return pair.b->arm(); });
}

sockaddr_in any_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

TEST(UcxListener, AConnectionIsAcceptedAndAnotherRefused) {
  Pair pair{testing::ways().front()};
  const sockaddr_in any = any_port();
  auto listener = Listener::create(*pair.b, reinterpret_cast<const sockaddr*>(&any), sizeof any).value();
  const sockaddr_storage at = listener->address().value();
  const auto dial = [&](EndpointOptions options) {
    return Endpoint::connect(*pair.a, reinterpret_cast<const sockaddr*>(&at), sizeof at, std::move(options))
        .value();
  };
  Endpoint client = dial({});
  const auto serve = [](Pair& both, Listener& door, Endpoint& to) -> Task<> {
    auto request = co_await door.next();
    EXPECT_TRUE(request.ok());
    if (!request.ok()) co_return;
    EXPECT_TRUE(request->peer().ok());
    Endpoint accepted = Endpoint::accept(*both.b, std::move(*request)).value();
    const Memory into = Memory::allocate(8);
    auto [sent, received] = co_await when_all(stream_send(to, text("hi")), stream_receive(accepted, into));
    EXPECT_TRUE(sent.ok()) << sent.status().to_string();
    EXPECT_TRUE(received.ok()) << received.status().to_string();
    if (received.ok()) {
      EXPECT_EQ(text_of(into, *received), "hi");
    }
    auto closed = co_await accepted.close(CloseMode::kForce);
    EXPECT_TRUE(closed.ok());
  };
  pair.run(serve(pair, *listener, client));

  bool refused = false;
  EndpointOptions options;
  options.on_error = [&refused](const Status&) { refused = true; };
  Endpoint second = dial(std::move(options));
  const auto refuse = [](Listener& door) -> Task<> {
    auto request = co_await door.next();
    EXPECT_TRUE(request.ok());
    if (request.ok()) request->refuse();
  };
  pair.run(refuse(*listener));
  pair.until([&] { return refused; });
  EXPECT_EQ(second.error().code(), StatusCode::kUnavailable);
}

// Without the flush UCX 1.13 fails most of them: docs/pitfalls/ucx.md.
TEST(UcxListener, AConnectionCarriesAnySizeBehindAFlush) {
  Pair pair{testing::ways().back()};
  const sockaddr_in any = any_port();
  auto listener = Listener::create(*pair.b, reinterpret_cast<const sockaddr*>(&any), sizeof any).value();
  const sockaddr_storage at = listener->address().value();
  Endpoint client =
      Endpoint::connect(*pair.a, reinterpret_cast<const sockaddr*>(&at), sizeof(sockaddr_in)).value();
  constexpr int kMessages = 32;
  const auto serve = [](Pair& both, Listener& door, Endpoint& accepted) -> Task<> {
    auto request = co_await door.next();
    EXPECT_TRUE(request.ok());
    if (!request.ok()) co_return;
    accepted = Endpoint::accept(*both.b, std::move(*request)).value();
    const Memory into = Memory::allocate(4096);
    for (int i = 0; i < kMessages; ++i) {
      auto received = co_await tag_receive(*both.b, 1, kWholeTag, into);
      EXPECT_TRUE(received.ok() && received->bytes == 4096U);
    }
  };
  const auto send = [](Pair& both, Endpoint& to) -> Task<> {
    auto connected = co_await to.flush();
    EXPECT_TRUE(connected.ok()) << connected.status().to_string();
    const Memory memory = Memory::allocate(4096);
    for (int i = 0; i < kMessages; ++i) {
      EXPECT_TRUE(tag_send(to, 1, memory).abandon().ok());
      both.a->progress();
    }
    auto sent = co_await to.flush();
    EXPECT_TRUE(sent.ok()) << sent.status().to_string();
  };
  Endpoint accepted;
  const auto both = [&]() -> Task<> {
    co_await when_all(serve(pair, *listener, accepted), send(pair, client));
  };
  pair.run(both());
  const auto close = [](Endpoint& first, Endpoint& second) -> Task<> {
    auto one = co_await first.close(CloseMode::kForce);
    auto other = co_await second.close(CloseMode::kForce);
    EXPECT_TRUE(one.ok() && other.ok());
  };
  pair.run(close(client, accepted));
}

/// Asks nothing and never sleeps; counts its turns.
class ForeignPoller final : public Poller {
 public:
  std::size_t poll() override {
    ++turns;
    return 0;
  }
  bool arm() override { return true; }
  int descriptor() const override { return -1; }
  int turns = 0;
};

TEST(UcxWorker, AForeignPollerIsAskedBesideTheWorker) {
  Pair pair{testing::ways().front()};
  ForeignPoller foreign;
  ASSERT_TRUE(pair.loop->add_poller(foreign).ok());
  const auto exchange = [](Pair& both) -> Task<> {
    const Memory into = Memory::allocate(8);
    auto [sent, received] =
        co_await when_all(tag_send(both.to_b, 1, text("x")), tag_receive(*both.b, 1, kWholeTag, into));
    EXPECT_TRUE(sent.ok() && received.ok());
  };
  pair.run(exchange(pair));
  EXPECT_GT(foreign.turns, 0);
  pair.loop->remove_poller(foreign);
}

class UcxTwoLoops : public ::testing::TestWithParam<std::tuple<Way, WaitMode>> {};

Task<> echo(Worker& worker, const Endpoint& back, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Memory into = Memory::allocate(8);
    auto received = co_await tag_receive(worker, 1, kWholeTag, into);
    EXPECT_TRUE(received.ok());
    auto sent = co_await tag_send(back, 2, into);
    EXPECT_TRUE(sent.ok());
  }
}

Task<> ask(Worker& worker, const Endpoint& to, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Memory into = Memory::allocate(8);
    auto sent = co_await tag_send(to, 1, text("12345678"));
    EXPECT_TRUE(sent.ok());
    auto received = co_await tag_receive(worker, 2, kWholeTag, into);
    EXPECT_TRUE(received.ok());
    EXPECT_EQ(text_of(into, 8), "12345678");
  }
}

TEST_P(UcxTwoLoops, WorkersOfTwoThreadsTalkBusyAdaptiveAndAsleep) {
  const auto& [way, mode] = GetParam();
  constexpr int kRounds = 200;
  const auto context = testing::make_context(way);
  const auto here = Loop::create({.mode = mode}).value();
  const auto there = Loop::create({.mode = mode}).value();
  auto a = Worker::create(*here, context).value();
  auto b = Worker::create(*there, context).value();
  const auto address_a = a->address().value();
  const auto address_b = b->address().value();
  std::atomic<bool> flushed = false;
  std::thread thread([&, error_mode = way.mode] {
    EndpointOptions options{.error_mode = error_mode};
    const Endpoint back = Endpoint::connect(*b, address_a, std::move(options)).value();
    there->block_on(echo(*b, back, kRounds));
    EXPECT_TRUE(there->block_on(back.flush()).ok());
    flushed = true;
  });
  EndpointOptions options{.error_mode = way.mode};
  Endpoint to = Endpoint::connect(*a, address_b, std::move(options)).value();
  here->block_on(ask(*a, to, kRounds));
  // A flush may need both sides.
  while (!flushed) here->run_once(Duration::zero());
  thread.join();
}

INSTANTIATE_TEST_SUITE_P(Ways, UcxTwoLoops,
                         ::testing::Combine(::testing::ValuesIn(testing::ways()),
                                            ::testing::Values(WaitMode::kBusy, WaitMode::kAdaptive,
                                                              WaitMode::kWait)),
                         [](const auto& chosen) {
                           return std::string{std::get<0>(chosen.param).name} + "_" +
                                  std::string{to_string(std::get<1>(chosen.param))};
                         });

}  // namespace
}  // namespace weft::ucx
