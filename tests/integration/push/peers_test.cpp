// SPDX-License-Identifier: Apache-2.0
// The registry of a server's peers, and broadcasts.
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>

#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::testing::peers_tests {
namespace {

void on_price(int) {}

Task<Result<BroadcastOutcome>> broadcast(Peers peers, BroadcastOptions options, int price) {
  Result<BroadcastOutcome> outcome = co_await peers.broadcast<on_price>(options, price);
  co_return outcome;
}

class PeersOfAServer : public RpcTest {
 protected:
  void fill(Server& its) {
    its.register_handler("join", [](CallContext& context, std::string tag) { context.peer().set_tag(tag); });
  }
  Server& server(unsigned threads) {
    ServerOptions options;
    options.threads = threads;
    if (threads == 0) options.loop = &loop();
    return serve(std::move(options), [this](Server& its) { fill(its); });
  }
  Client& join(Server& its_server, const std::string& tag) {
    Client& its = client(its_server);
    its.register_handler<on_price>();
    EXPECT_TRUE((call<remote<"join", void(std::string)>>(its, tag)).ok());
    return its;
  }
};

TEST_F(PeersOfAServer, AreCountedAndFoundByTheirTags) {
  Server& its_server = server(2);
  const Peers peers = its_server.peers();
  EXPECT_EQ(peers.count(), 0u);
  Client& one = join(its_server, "user-1");
  join(its_server, "user-2");
  join(its_server, "user-2");
  EXPECT_EQ(peers.count(), 3u);
  EXPECT_EQ(peers.find("user-1").size(), 1u);
  EXPECT_EQ(peers.find("user-2").size(), 2u);
  EXPECT_TRUE(peers.find("user-3").empty());
  EXPECT_TRUE(peers.find("").empty());
  EXPECT_TRUE((call<remote<"join", void(std::string)>>(one, "user-3")).ok());
  EXPECT_TRUE(peers.find("user-1").empty());
  Peer found = peers.find("user-3").front();
  one.close();
  EXPECT_TRUE(turn_until(loop(), [&] { return peers.count() == 2; }));
  EXPECT_TRUE(peers.find("user-3").empty());
  EXPECT_EQ(found.tag(), "user-3");
}

TEST_F(PeersOfAServer, AreVisitedOnTheirLoops) {
  Server& its_server = server(2);
  for (int i = 0; i < 6; ++i) join(its_server, "user");
  std::mutex mutex;
  std::set<std::uint64_t> ids;
  std::set<Loop*> loops;
  its_server.peers().for_each([&](Peer peer) {
    const std::lock_guard lock(mutex);
    ids.insert(peer.connection_id());
    loops.insert(Loop::current());
  });
  EXPECT_TRUE(turn_until(loop(), [&] {
    const std::lock_guard lock(mutex);
    return ids.size() == 6;
  }));
  EXPECT_EQ(loops.size(), 2u);
  int here = 0;
  its_server.peers().for_each_here([&](Peer) { ++here; });
  EXPECT_EQ(here, 0) << "no peer belongs to the client's loop";
}

TEST_F(PeersOfAServer, AreToldOfWhenTheyComeAndGo) {
  std::vector<std::string> told;
  ServerOptions options;
  Server& its_server = serve_here(std::move(options), [&](Server& its) {
    fill(its);
    its.on_peers([&](Peer peer) { told.push_back("came " + std::to_string(peer.connected())); },
                 [&](Peer peer) { told.push_back("gone " + peer.tag()); });
  });
  join(its_server, "user-7").close();
  ASSERT_TRUE(turn_until(loop(), [&] { return told.size() == 2; }));
  EXPECT_THAT(told, ::testing::ElementsAre("came 1", "gone user-7"));
}

TEST_F(PeersOfAServer, AreDisconnectedByAHookThatThrows) {
  Server& its_server = serve_here([&](Server& its) {
    fill(its);
    its.on_peers([](const Peer&) { throw std::runtime_error("not today"); }, [](const Peer&) {});
  });
  Client& its = client(its_server);
  EXPECT_FALSE((call<remote<"join", void(std::string)>>(its, "user")).ok());
}

TEST_F(PeersOfAServer, AllHearABroadcast) {
  for (const unsigned threads : {0u, 2u}) {
    Server& its_server = server(threads);
    for (int i = 0; i < 20; ++i) join(its_server, i % 2 == 0 ? "even" : "odd");
    const Result<BroadcastOutcome> all = loop().block_on(broadcast(its_server.peers(), {}, 5));
    EXPECT_EQ(all.value().answered, 20u);
    EXPECT_EQ(all.value().peers(), 20u);
    const Result<BroadcastOutcome> even = loop().block_on(broadcast(its_server.peers(), {.tag = "even"}, 5));
    EXPECT_EQ(even.value().answered, 10u);
    EXPECT_EQ(even.value().peers(), 10u);
  }
}

// g++ 12 destroys such options twice.
Task<Result<BroadcastOutcome>> broadcast_in_braces(Peers peers, std::string tag) {
  Result<BroadcastOutcome> outcome =
      co_await peers.broadcast<on_price>(BroadcastOptions{.tag = tag + "", .timeout = 1min}, 5);
  co_return outcome;
}

TEST_F(PeersOfAServer, OptionsInBracesAreWholeWhereTheyAreAwaited) {
  const std::string tag(100, 't');
  Server& its_server = server(2);
  join(its_server, tag);
  join(its_server, "another");
  const Result<BroadcastOutcome> outcome = loop().block_on(broadcast_in_braces(its_server.peers(), tag));
  EXPECT_EQ(outcome.value().answered, 1u);
  EXPECT_EQ(outcome.value().peers(), 1u);
}

TEST_F(PeersOfAServer, WhoDoesNotServeFailsTheBroadcastAlone) {
  Server& its_server = server(1);
  join(its_server, "user");
  Client& mute = client(its_server);
  EXPECT_TRUE((call<remote<"join", void(std::string)>>(mute, "mute")).ok());
  const Result<BroadcastOutcome> outcome = loop().block_on(broadcast(its_server.peers(), {}, 5));
  EXPECT_EQ(outcome.value().answered, 1u);
  EXPECT_EQ(outcome.value().failed, 1u);
}

TEST_F(PeersOfAServer, WhoDoesNotAnswerIsLeftOutAndThenClosed) {
  Server& its_server = server(0);
  join(its_server, "fast");
  Client& slow = client(its_server);
  std::vector<Reply<void>> owed;
  slow.register_handler(std::string{detail::method_key<on_price>.name},
                        [&](Reply<void> reply, int) { owed.push_back(std::move(reply)); });
  EXPECT_TRUE((call<remote<"join", void(std::string)>>(slow, "slow")).ok());
  BroadcastOptions options{.timeout = 1ms, .unanswered_max = 2};
  for (int i = 0; i < 3; ++i) {
    const Result<BroadcastOutcome> outcome = loop().block_on(broadcast(its_server.peers(), options, i));
    EXPECT_EQ(outcome.value().answered, 1u);
    EXPECT_EQ(i == 0 ? outcome.value().failed : outcome.value().silent, 1u);
  }
  EXPECT_TRUE(turn_until(loop(), [&] { return owed.size() == 3; }));
  const Result<BroadcastOutcome> skipped = loop().block_on(broadcast(its_server.peers(), options, 7));
  EXPECT_EQ(skipped.value().behind, 1u);
  EXPECT_EQ(skipped.value().answered, 1u);
  EXPECT_EQ(owed.size(), 3u);
  options.closes_who_is_behind = true;
  const Result<BroadcastOutcome> closed = loop().block_on(broadcast(its_server.peers(), options, 8));
  EXPECT_EQ(closed.value().behind, 1u);
  EXPECT_TRUE(turn_until(loop(), [&] { return its_server.peers().count() == 1; }));
  owed.clear();
}

TEST_F(PeersOfAServer, ABroadcastEndsWhenTheServerDoes) {
  Event never;
  std::optional<Peers> peers;
  std::optional<Result<BroadcastOutcome>> outcome;
  int began = 0;
  int ended = 0;
  Server* its_server = &server(1);
  Client& slow = client(*its_server);
  slow.register_handler(std::string{detail::method_key<on_price>.name}, [&](int) -> Task<void> {
    ++began;
    [[maybe_unused]] const Result<void> told = co_await never.wait();
    ++ended;
  });
  EXPECT_TRUE((call<remote<"join", void(std::string)>>(slow, "slow")).ok());
  peers.emplace(its_server->peers());
  Scope scope;
  loop().post([&] {
    scope.spawn(
        [](Peers its, std::optional<Result<BroadcastOutcome>>* into) -> Task<void> {
          Result<BroadcastOutcome> got = co_await its.broadcast<on_price>(1);
          *into = std::move(got);
        },
        *peers, &outcome);
  });
  ASSERT_TRUE(turn_until(loop(), [&] { return began == 1; }));
  its_server->stop(0s);
  ASSERT_TRUE(turn_until(loop(), [&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome->value().failed, 1u);
  ASSERT_TRUE(turn_until(loop(), [&] { return its_server->stopped(); }));
  EXPECT_EQ(peers->count(), 0u);
  loop().block_on([](Scope& its) -> Task<void> { co_await its.join(); }(scope));
  ASSERT_TRUE(turn_until(loop(), [&] { return ended == 1; })) << "the handler hears that its caller is gone";
}

TEST_F(PeersOfAServer, AreNoneOnceTheServerHasEnded) {
  std::optional<Peers> peers;
  {
    ServerOptions options;
    options.listen = {kAnyPort};
    Server own{std::move(options)};
    fill(own);
    own.start().value();
    join(own, "user");
    peers.emplace(own.peers());
    EXPECT_EQ(peers->count(), 1u);
  }
  EXPECT_EQ(peers->count(), 0u);
  EXPECT_TRUE(peers->find("user").empty());
  peers->for_each([](const Peer&) { FAIL(); });
  const Result<BroadcastOutcome> outcome = loop().block_on(broadcast(*peers, {}, 5));
  EXPECT_EQ(outcome.value().peers(), 0u);
}

TEST_F(PeersOfAServer, ABroadcastThatIsGivenUpGoesOnWithoutItsCaller) {
  Server& its_server = server(0);
  Client& slow = client(its_server);
  std::vector<Reply<void>> owed;
  slow.register_handler(std::string{detail::method_key<on_price>.name},
                        [&](Reply<void> reply, int) { owed.push_back(std::move(reply)); });
  EXPECT_TRUE((call<remote<"join", void(std::string)>>(slow, "slow")).ok());
  std::optional<Status> status;
  Scope scope;
  loop().post([&] {
    scope.spawn(
        [](Peers its, std::optional<Status>* into) -> Task<void> {
          Result<BroadcastOutcome> got = co_await its.broadcast<on_price>(1);
          *into = got.status();
        },
        its_server.peers(), &status);
  });
  ASSERT_TRUE(turn_until(loop(), [&] { return owed.size() == 1; }));
  scope.cancel_scope().cancel(CancelReason::kRequested);
  ASSERT_TRUE(turn_until(loop(), [&] { return status.has_value(); }));
  EXPECT_EQ(status->code(), StatusCode::kCancelled);
  loop().block_on([](Scope& its) -> Task<void> { co_await its.join(); }(scope));
  owed.clear();
}

}  // namespace
}  // namespace weft::testing::peers_tests
