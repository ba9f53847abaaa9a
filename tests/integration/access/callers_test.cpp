// SPDX-License-Identifier: Apache-2.0
// CR-10: who a call is from, as handlers hear it.
#include <unistd.h>

#include "integration/access/access_testing.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::testing::access {
namespace {

class Callers : public AccessTest {
 protected:
  std::string unix_url() const { return "unix:///tmp/weft_access_" + std::to_string(::getpid()); }
  const std::string me_ = "uid:" + std::to_string(::getuid());
};

TEST_F(Callers, AreNobodyOverTcpAndTheirProcessOverAUnixSocket) {
  Server& server = serve_here({.listen = {kAnyPort, unix_url()}}, [](Server& its) {
    its.register_handler<who, who_later>();
    its.register_handler<who_blocking>({.blocking = true});
  });
  EXPECT_EQ(call<who>(client(server.urls()[0])).value(), "anonymous");
  Client& local = client(server.urls()[1]);
  EXPECT_EQ(call<who>(local).value(), me_);
  EXPECT_EQ(call<who_later>(local).value(), me_);
  EXPECT_EQ(call<who_blocking>(local).value(), me_);
}

TEST_F(Callers, OfAUnixSocketAreKnownByTheirNumbers) {
  Identity seen;
  Server& server = serve_here({.listen = {unix_url()}}, [&](Server& its) {
    its.register_handler("see", [&](CallContext& context) {
      seen = context.identity();
      return 0;
    });
  });
  EXPECT_TRUE((call<remote<"see", int()>>(client(server)).ok()));
  EXPECT_EQ(seen.kind(), Identity::Kind::kUnixProcess);
  EXPECT_EQ(seen.process().uid, ::getuid());
  EXPECT_EQ(seen.process().gid, ::getgid());
  EXPECT_EQ(seen.process().pid, ::getpid());
}

TEST_F(Callers, AreWhomTheirTokenStandsFor) {
  Client& caller = client(guard("allow anyone *"));
  EXPECT_EQ(call<who>(caller, with("ann")).value(), "token:ann");
  EXPECT_EQ(call<who_later>(caller, with("bob")).value(), "token:bob");
  EXPECT_EQ(call<who_blocking>(caller, with("ann")).value(), "token:ann");
  EXPECT_EQ(call<who>(caller).value(), "anonymous") << "nothing stays of the calls before";
}

TEST_F(Callers, AreFoundOutWithTheirConnectionInSight) {
  Server& server = guard("allow anyone *", {unix_url()});
  EXPECT_EQ(call<who>(client(server), with("ann")).value(), "token:ann");
  EXPECT_EQ(tokens_->last_peer, me_);
}

TEST_F(Callers, AreTheSameForAHandlerThatOutlivesTheirConnection) {
  Event gone;
  std::string seen = "not yet";
  const auto handler = [&](CallContext& context) -> Task<int> {
    while (!context.cancelled()) {
      [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
      if (Loop::current() == nullptr) break;
    }
    seen = std::string{context.identity().name()};
    co_return 0;
  };
  Server& server =
      serve_here({.listen = {unix_url()}}, [&](Server& its) { its.register_handler("wait", handler); });
  auto caller = std::make_unique<Client>(loop(), ClientOptions{.connect = server.urls().front()});
  auto later = caller->start<remote<"wait", int()>>();
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 1; }));
  caller.reset();
  ASSERT_TRUE(turn_until(loop(), [&] { return seen != "not yet"; }));
  EXPECT_EQ(seen, me_);
}

TEST_F(Callers, CanBeToldApartByTheirNamesForRates) {
  ServerOptions options;
  options.authenticator = tokens_;
  options.caller_rates.push_back({.rate = {.per_second = 0.001, .burst = 1}, .key = by_identity()});
  Client& caller = client(serve_here(std::move(options), [](Server& its) { its.register_handler<who>(); }));
  EXPECT_TRUE(call<who>(caller, with("ann")).ok());
  EXPECT_EQ(call<who>(caller, with("ann")).status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(call<who>(caller, with("bob")).ok());
  EXPECT_TRUE(call<who>(caller).ok());
}

TEST_F(Callers, AreShownToInterceptors) {
  struct Seen final : ServerInterceptor {
    Status before(IncomingCall& call) override {
      name = std::string{call.identity().name()};
      return {};
    }
    std::string name;
  };
  const auto seen = std::make_shared<Seen>();
  ServerOptions options;
  options.authenticator = tokens_;
  options.interceptors = {seen};
  Client& caller = client(serve_here(std::move(options), [](Server& its) { its.register_handler<plain>(); }));
  EXPECT_TRUE(call<plain>(caller, with("bob"), 1).ok());
  EXPECT_EQ(seen->name, "token:bob");
  EXPECT_TRUE(call<plain>(caller, 1).ok());
  EXPECT_EQ(seen->name, "anonymous");
}

}  // namespace
}  // namespace weft::testing::access
