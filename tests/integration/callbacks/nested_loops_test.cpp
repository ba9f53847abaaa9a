// SPDX-License-Identifier: Apache-2.0
// Loops that code makes for itself inside a turn of another loop.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <weft/fleet.hpp>
#include <weft/weft.hpp>

namespace weft::testing::nested_loops {
namespace {

int twice(int number) {
  return 2 * number;
}

/// A server of its own thread, and a handler that calls it by what it makes for itself.
class NestedLoops : public ::testing::Test {
 protected:
  NestedLoops() {
    far_.register_handler<twice>();
    far_.start().value();
  }
  /// Calls `deed` from a handler that runs on this thread.
  template <typename Deed>
  int from_handler(Deed deed) {
    auto loop = Loop::create().value();
    ServerOptions options;
    options.listen = {"tcp://127.0.0.1:0"};
    options.threads = 0;
    options.loop = loop.get();
    Server server{std::move(options)};
    server.register_handler("deed", [&](int number) { return deed(number, far_.urls().front()); });
    server.start().value();
    Client client{*loop, {.connect = server.urls().front()}};
    const int first = loop->block_on(client.call<remote<"deed", int(int)>>(20)).value();
    EXPECT_EQ(loop->block_on(client.call<remote<"deed", int(int)>>(1)).value(), 2);
    return first;
  }

  Server far_{{.listen = {"tcp://127.0.0.1:0"}}};
};

TEST_F(NestedLoops, AHandlerMakesAClientWithALoopOfItsOwn) {
  const auto deed = [](int number, const std::string& url) {
    auto own = Loop::create().value();
    Client client{*own, {.connect = url}};
    const int answer = own->block_on(client.call<twice>(number)).value();
    EXPECT_TRUE(client.connected());
    EXPECT_EQ(client.stats().calls, 1u);
    client.close();
    EXPECT_EQ(own->block_on(client.call<twice>(number)).status().code(), StatusCode::kCancelled);
    return answer;
  };
  EXPECT_EQ(from_handler(deed), 40);
}

TEST_F(NestedLoops, AHandlerMakesAPoolAndAFleetWithALoopOfTheirOwn) {
  const auto deed = [](int number, const std::string& url) {
    auto own = Loop::create().value();
    ConnectionPool pool{*own, {.client = {.connect = url}}};
    FleetClient fleet{*own, {.name = "static:" + url}};
    const int answer = own->block_on(pool.call<twice>(number)).value();
    return own->block_on(fleet.call<twice>(answer / 2)).value();
  };
  EXPECT_EQ(from_handler(deed), 40);
}

TEST_F(NestedLoops, AHandlerMakesABlockingClient) {
  const auto deed = [](int number, const std::string& url) {
    BlockingClient client{{.connect = url}};
    const Result<int> answer = client.call<twice>(number);
    // The calling thread is its loop's, which serves nobody meanwhile.
    if (!answer.ok()) {
      EXPECT_EQ(answer.status().code(), StatusCode::kFailedPrecondition) << answer.status().to_string();
    }
    return 2 * number;
  };
  EXPECT_EQ(from_handler(deed), 40);
}

TEST(NestedLoopsDeathTest, AHandlerExitsWithAStaticBlockingClient) {
  const auto exits = [] {
    static BlockingClient client{{.connect = "tcp://127.0.0.1:1"}};
    auto loop = Loop::create().value();
    loop->post([] { std::exit(7); });
    loop->run_once(Duration::zero());
  };
  EXPECT_EXIT(exits(), ::testing::ExitedWithCode(7), "");
}

/// A client that the server calls back, and that its own handler ends.
class CalledBack {
 public:
  enum class Way { kExit, kExitLater, kDestroy };

  explicit CalledBack(Way way) : way_(way) {
    server_.register_handler("ask back", [](CallContext& context) -> Task<Result<int>> {
      Peer peer = context.peer();
      Result<int> answer = co_await peer.call<remote<"end", int(int)>>(1);
      co_return answer;
    });
    server_.start().value();
  }
  std::string url() const { return server_.urls().front(); }
  void serve_on(BlockingClient& client) {
    client.register_handler("end", [this](int number) -> Task<int> {
      began_.wait();
      if (way_ == Way::kExitLater) static_cast<void>(co_await sleep_for(std::chrono::milliseconds{1}));
      if (way_ != Way::kDestroy) std::exit(7);
      owned.reset();
      co_return number;
    });
  }
  BlockingCall<int> begin(BlockingClient& client) {
    auto call = client.start<remote<"ask back", int()>>();
    began_.count_down();
    return call;
  }

  std::unique_ptr<BlockingClient> owned;

 private:
  Way way_;
  std::latch began_{1};
  Server server_{{.listen = {"tcp://127.0.0.1:0"}}};
};

TEST(OwnBlockingClientDeathTest, IsStaticAndItsHandlerExits) {
  for (const CalledBack::Way way : {CalledBack::Way::kExit, CalledBack::Way::kExitLater}) {
    const auto exits = [way] {
      auto* const called = new CalledBack{way};
      static BlockingClient client{{.connect = called->url()}};
      called->serve_on(client);
      static_cast<void>(called->begin(client).wait());
    };
    EXPECT_EXIT(exits(), ::testing::ExitedWithCode(7), "");
  }
}

std::size_t threads() {
  const std::filesystem::directory_iterator tasks{"/proc/self/task"};
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(OwnBlockingClient, IsDestroyedByItsHandler) {
  CalledBack called{CalledBack::Way::kDestroy};
  const std::size_t before = threads();
  called.owned = std::make_unique<BlockingClient>(ClientOptions{.connect = called.url()});
  called.serve_on(*called.owned);
  auto call = called.begin(*called.owned);
  EXPECT_EQ(call.wait().status().code(), StatusCode::kCancelled);
  while (threads() != before) std::this_thread::yield();
  EXPECT_EQ(called.owned, nullptr);
}

}  // namespace
}  // namespace weft::testing::nested_loops
