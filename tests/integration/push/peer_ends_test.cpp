// SPDX-License-Identifier: Apache-2.0
// Handles of peers, and calls to peers, when the connection, the client or the server ends.
#include <optional>
#include <thread>

#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::testing::peer_ends_tests {
namespace {

int twice(int number) {
  return 2 * number;
}

/// A client's handlers that end when they are told to, and say how they ended.
struct Slow {
  Event go;
  int began = 0;
  int ended = 0;
  int destroyed = 0;
  std::vector<Reply<int>> owed;

  struct Mark {
    int& destroyed;
    ~Mark() { ++destroyed; }
  };

  Task<int> wait() {
    const Mark mark{destroyed};
    ++began;
    [[maybe_unused]] const Result<void> told = co_await go.wait();
    ++ended;
    co_return 7;
  }
  void owe(Reply<int> reply) {
    ++began;
    owed.push_back(std::move(reply));
  }
};

class PeerEnds : public RpcTest {
 protected:
  /// A server that keeps the handle of whoever calls "hello".
  Server& server(ServerOptions options = {}) {
    return serve_here(std::move(options), [this](Server& its) { fill(its); });
  }
  void fill(Server& its) {
    its.register_handler("hello", [this](CallContext& context) { peer_.emplace(context.peer()); });
    its.register_handler("bye", [this](CallContext& context) {
      peer_.emplace(context.peer());
      context.close_connection();
    });
    its.register_handler("relay", [this](CallContext& context) -> Task<Result<int>> {
      relaying_ = true;
      [[maybe_unused]] const Result<void> told = co_await relay_.wait();
      Result<int> answer = co_await context.peer().call<twice>(21);
      co_return answer;
    });
  }
  Peer& greet(Client& its) {
    EXPECT_TRUE((call<remote<"hello", void()>>(its)).ok());
    return *peer_;
  }
  static void expect_gone(const Result<int>& result) {
    EXPECT_EQ(result.status().code(), StatusCode::kUnavailable) << result.status().to_string();
    EXPECT_TRUE(result.status().unprocessed());
    EXPECT_EQ(result.status().message(), "the peer is gone: the connection that it was called by has ended");
  }

  std::optional<Peer> peer_;
  Event relay_;
  bool relaying_ = false;
};

TEST_F(PeerEnds, AHandleCallsLaterFromOutsideOfAnyHandler) {
  Client& its = client(server());
  its.register_handler<twice>();
  Peer peer = greet(its);
  EXPECT_EQ(wait_for(peer.start<twice>(4)).value(), 8);
  EXPECT_TRUE(peer.connected());
  EXPECT_EQ(peer, *peer_);
  EXPECT_THAT(peer.remote_endpoint(), ::testing::StartsWith("tcp://127.0.0.1:"));
}

TEST_F(PeerEnds, AHandleOfAPeerThatHasGoneRefuses) {
  Client& its = client(server());
  its.register_handler<twice>();
  Peer peer = greet(its);
  const std::string endpoint = peer.remote_endpoint();
  its.close();
  ASSERT_TRUE(turn_until(loop(), [&] { return !peer.connected(); }));
  expect_gone(wait_for(peer.start<twice>(4)));
  EXPECT_EQ(peer.remote_endpoint(), endpoint);
  peer.set_tag("late");
  peer.close("twice");
  EXPECT_EQ(peer.tag(), "");
}

TEST_F(PeerEnds, AHandleOutlivesItsServerAndItsLoop) {
  std::optional<Peer> peer;
  std::optional<BlockingCaller> blocked;
  {
    auto own_loop = Loop::create().value();
    ServerOptions options;
    options.listen = {kAnyPort};
    options.threads = 0;
    options.loop = own_loop.get();
    Server own{std::move(options)};
    fill(own);
    own.start().value();
    Client its{*own_loop, {.connect = own.urls().front()}};
    its.register_handler<twice>();
    auto greeting = its.start<remote<"hello", void()>>();
    ASSERT_TRUE(turn_until(*own_loop, [&] { return greeting.done(); }));
    peer.emplace(*peer_);
    blocked.emplace(blocking(*peer));
    EXPECT_TRUE(peer->connected());
  }
  EXPECT_FALSE(peer->connected());
  expect_gone(wait_for(peer->start<twice>(4)));  // in a turn of another loop
  EXPECT_TRUE(peer->start<twice>(4).done());     // outside of any
  expect_gone(blocked->call<twice>(4));
  expect_gone(blocking(*peer).call<twice>(4));
  std::thread([&] {
    Peer copy = *peer;
    EXPECT_TRUE(copy.start<twice>(1).done());
    peer.reset();
  }).join();
  peer_.reset();
}

TEST_F(PeerEnds, CallsUnderWayEndWithTheConnection) {
  Slow slow;
  Client its{loop(), {.connect = server().urls().front()}};
  its.register_handler<&Slow::wait>(&slow);
  Peer peer = greet(its);
  auto waiting = peer.start<&Slow::wait>();
  ASSERT_TRUE(turn_until(loop(), [&] { return slow.began == 1; }));
  its.close();
  const Result<int> answer = wait_for(std::move(waiting));
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(answer.status().unprocessed());
}

TEST_F(PeerEnds, AClientDestroysTheCoroutinesOfItsHandlersAndHearsOfNoMore) {
  Slow slow;
  Server& its_server = server();
  {
    Client its{loop(), {.connect = its_server.urls().front()}};
    its.register_handler<&Slow::wait, &Slow::owe>(&slow);
    Peer peer = greet(its);
    auto waiting = peer.start<&Slow::wait>();
    auto owed = peer.start<&Slow::owe>();
    ASSERT_TRUE(turn_until(loop(), [&] { return slow.began == 2; }));
  }
  EXPECT_EQ(slow.destroyed, 1);
  EXPECT_EQ(slow.ended, 0);
  // A Reply may be used and dropped as long as the loop is there.
  std::move(slow.owed.front())(5);
  slow.owed.clear();
}

TEST_F(PeerEnds, CallsOnOtherThreadsReachThePeerAndHearOfItsEnd) {
  ServerOptions options;
  options.threads = 1;
  options.listen = {kAnyPort};
  Server& its_server = serve(std::move(options), [this](Server& its) { fill(its); });
  Client& its = client(its_server);
  its.register_handler<twice>();
  Peer peer = greet(its);
  auto ask = [](Peer its_peer) -> Task<Result<int>> {
    Result<int> answer = co_await on_loop_of(its_peer).call<twice>(6);
    co_return answer;
  };
  EXPECT_EQ(loop().block_on(ask(peer)).value(), 12);
  its.close();
  ASSERT_TRUE(turn_until(loop(), [&] { return !peer.connected(); }));
  expect_gone(loop().block_on(ask(peer)));
}

TEST_F(PeerEnds, AHandleOnAnotherThreadThanItsLoopsEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ServerOptions options;
        options.threads = 1;
        options.listen = {kAnyPort};
        Server& its_server = serve(std::move(options), [this](Server& its) { fill(its); });
        Client& its = client(its_server);
        its.register_handler<twice>();
        Peer peer = greet(its);
        static_cast<void>(wait_for(peer.start<twice>(6)));
      },
      "on another thread than its loop's");
}

TEST_F(PeerEnds, AServerThatStopsLetsItsHandlersAskBack) {
  Server& its_server = server();
  Client& its = client(its_server);
  its.register_handler<twice>();
  auto relayed = its.start<remote<"relay", int()>>();
  ASSERT_TRUE(turn_until(loop(), [&] { return relaying_; }));
  its_server.stop(10s);
  loop().run_until_idle();
  relay_.set();
  EXPECT_EQ(wait_for(std::move(relayed)).value(), 42);
  EXPECT_TRUE(turn_until(loop(), [&] { return its_server.stopped(); }));
}

TEST_F(PeerEnds, AServerThatStopsWaitsForThePeersAnswer) {
  Slow slow;
  Server& its_server = server();
  Client its{loop(), {.connect = its_server.urls().front()}};
  its.register_handler<&Slow::wait>(&slow);
  Peer peer = greet(its);
  auto waiting = peer.start<&Slow::wait>();
  ASSERT_TRUE(turn_until(loop(), [&] { return slow.began == 1; }));
  its_server.stop(10s);
  loop().run_until_idle();
  EXPECT_FALSE(its_server.stopped());
  const Result<int> late = wait_for(peer.start<&Slow::wait>());
  EXPECT_EQ(late.status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(late.status().unprocessed());
  slow.go.set();
  EXPECT_EQ(wait_for(std::move(waiting)).value(), 7);
  EXPECT_TRUE(turn_until(loop(), [&] { return its_server.stopped(); }));
}

TEST_F(PeerEnds, AServerWhoseGraceIsOverEndsItsCallsToPeers) {
  Slow slow;
  Server& its_server = server();
  Client its{loop(), {.connect = its_server.urls().front()}};
  its.register_handler<&Slow::wait>(&slow);
  Peer peer = greet(its);
  auto waiting = peer.start<&Slow::wait>();
  ASSERT_TRUE(turn_until(loop(), [&] { return slow.began == 1; }));
  its_server.stop(0s);
  EXPECT_FALSE(wait_for(std::move(waiting)).ok());
  EXPECT_TRUE(turn_until(loop(), [&] { return its_server.stopped(); }));
}

TEST_F(PeerEnds, AConnectionThatTheServerEndsStaysForTheClientsAnswer) {
  Slow slow;
  Client its{loop(), {.connect = server().urls().front()}};
  its.register_handler<&Slow::wait>(&slow);
  Peer peer = greet(its);
  auto waiting = peer.start<&Slow::wait>();
  ASSERT_TRUE(turn_until(loop(), [&] { return slow.began == 1; }));
  EXPECT_TRUE((call<remote<"bye", void()>>(its)).ok());
  loop().run_until_idle();
  slow.go.set();
  EXPECT_EQ(wait_for(std::move(waiting)).value(), 7);
  EXPECT_TRUE(turn_until(loop(), [&] { return !peer.connected(); }));
  EXPECT_TRUE((call<remote<"hello", void()>>(its)).ok()) << "the client connects again";
}

TEST_F(PeerEnds, APeerIsClosedWithAReason) {
  Client& its = client(server());
  its.register_handler<twice>();
  Peer peer = greet(its);
  peer.close("you are too loud");
  EXPECT_TRUE(turn_until(loop(), [&] { return !peer.connected() && !its.connected(); }));
}

}  // namespace
}  // namespace weft::testing::peer_ends_tests
