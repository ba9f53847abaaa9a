// SPDX-License-Identifier: Apache-2.0
// CR-10: tokens that calls bring.
#include "integration/access/access_testing.hpp"

namespace weft::testing::access {
namespace {

class Tokens : public AccessTest {
 protected:
  /// Outcome of a call whose metadata has `value` under the key of tokens.
  Status outcome(Client& caller, const std::string& value) {
    Metadata metadata;
    metadata.set("authorization", value).value();
    CallOptions options;
    options.metadata = metadata;
    return call<who>(caller, options).status();
  }
};

TEST_F(Tokens, ThatAreNotGoodRefuseTheirCallAlsoWhereNoneIsNeeded) {
  Server& server = guard("allow anyone *");
  Client& caller = client(server);
  EXPECT_EQ(call<who>(caller, with("mallory")).status().code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(refused(server, RefusalReason::kBadCredentials), 1u);
  EXPECT_TRUE(call<who>(caller).ok()) << "the connection is not the worse for it";
  EXPECT_EQ(call<who>(caller, with("ann")).value(), "token:ann");
  EXPECT_THAT(log_.text, Not(HasSubstr("mallory")));
}

TEST_F(Tokens, ThatAreGarbageNeverReachTheAuthenticator) {
  Client& caller = client(guard("allow anyone *"));
  for (const std::string& value :
       {std::string{}, std::string{"Bearer"}, std::string{"Bearer "}, std::string{"bearer ann"},
        std::string{"Basic YW5uOng="}, std::string{"Bearer ann\r\nX-Admin: yes"}, std::string{"Bearer  ann"},
        std::string{"Bearer ann "}, std::string{"Bearer a\0nn", 11}, std::string{"ann"},
        std::string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n"}, "Bearer " + std::string(5000, 'a'),
        "Bearer " + std::string(8000, '\xFF')}) {
    const Status status = outcome(caller, value);
    EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << value.substr(0, 40) << status.to_string();
  }
  EXPECT_EQ(tokens_->asked, 0);
}

TEST_F(Tokens, AreAskedAboutOnceForAConnectionAsLongAsTheAnswerIsGood) {
  Server& server = guard("allow known *");
  Client& caller = client(server);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call<who>(caller, with("ann")).value(), "token:ann");
  EXPECT_EQ(tokens_->asked, 1);
  EXPECT_EQ(call<who>(client(server), with("ann")).value(), "token:ann");
  EXPECT_EQ(tokens_->asked, 2) << "another connection asks for itself";
  ++tokens_->its_version;
  EXPECT_TRUE(call<who>(caller, with("ann")).ok());
  EXPECT_EQ(tokens_->asked, 3) << "what was kept does not count any more";
}

TEST_F(Tokens, AreAskedAboutForEachCallIfTheAnswerIsGoodForNoTime) {
  tokens_->good_for = Duration::zero();
  Client& caller = client(guard("allow known *"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call<who>(caller, with("ann")).value(), "token:ann");
  EXPECT_EQ(call<who>(caller, with("bob")).value(), "token:bob");
  EXPECT_EQ(tokens_->asked, 4);
}

TEST_F(Tokens, OfManyCallersOnOneConnectionAreNeverTakenForEachOther) {
  Client& caller = client(guard("allow known *"));
  std::vector<Call<std::string>> calls;
  for (int i = 0; i < 200; ++i) {
    calls.push_back(i % 3 == 0 ? caller.start<who>(with("ann"))
                               : (i % 3 == 1 ? caller.start<who_later>(with("bob")) : caller.start<who>()));
  }
  for (int i = 0; i < 200; ++i) {
    const auto answer = wait_for(std::move(calls[static_cast<std::size_t>(i)]));
    if (i % 3 == 2) {
      EXPECT_EQ(answer.status().code(), StatusCode::kUnauthenticated);
    } else {
      EXPECT_EQ(answer.value(), i % 3 == 0 ? "token:ann" : "token:bob");
    }
  }
}

TEST_F(Tokens, OfPooledClientsStayWithTheirCalls) {
  Server& server = guard("allow known *");
  const std::string url = server.urls().front();
  const auto pool_with = [&](const char* token) {
    PoolOptions options;
    options.client.connect = url;
    options.client.interceptors = {bearer_token(token).value()};
    return std::make_unique<ConnectionPool>(loop(), std::move(options));
  };
  const auto of_ann = pool_with("ann");
  const auto of_bob = pool_with("bob");
  std::vector<std::pair<Call<std::string>, const char*>> calls;
  for (int i = 0; i < 100; ++i) {
    calls.emplace_back(of_ann->start<who_later>(), "token:ann");
    calls.emplace_back(of_bob->start<who_later>(), "token:bob");
  }
  for (auto& [call, name] : calls) EXPECT_EQ(wait_for(std::move(call)).value(), name);
}

TEST_F(Tokens, AreBroughtAgainAfterAReconnect) {
  Server& server = guard("allow known *");
  ClientOptions options;
  options.interceptors = {bearer_token("ann").value()};
  Client& caller = client(server, std::move(options));
  Server& other = guard("allow known *");
  EXPECT_EQ(call<who>(caller).value(), "token:ann");
  EXPECT_EQ(call<who>(client(other)).status().code(), StatusCode::kUnauthenticated)
      << "a connection that comes later is nobody's";
  EXPECT_EQ(call<who>(caller).value(), "token:ann");
}

TEST_F(Tokens, AreTakenOutOfWhatHandlersAndTheirCallsHave) {
  struct Relay {
    Client* next = nullptr;
    Task<Result<std::string>> pass() { co_return co_await next->call<told_metadata>(); }
  };
  Server& end = serve_here([](Server& its) { its.register_handler<told_metadata>(); });
  Relay relay{&client(end)};
  ServerOptions options;
  options.authenticator = tokens_;
  Server& server = serve_here(std::move(options), [&](Server& its) {
    its.register_handler<told_metadata>();
    its.register_handler<&Relay::pass>(&relay);
  });
  Metadata metadata;
  metadata.set("tenant", "blue").value();
  metadata.set("authorization", "Bearer ann").value();
  metadata.set("trace", "17").value();
  CallOptions with_all;
  with_all.metadata = metadata;
  Client& caller = client(server);
  EXPECT_EQ(call<told_metadata>(caller, with_all).value(), "tenant=blue;trace=17;");
  EXPECT_EQ(call<&Relay::pass>(caller, with_all).value(), "tenant=blue;trace=17;");
  EXPECT_EQ(call<told_metadata>(caller, with("ann")).value(), "") << "nothing is left";
}

TEST_F(Tokens, GoWithLargeBodiesAndAttachments) {
  Server& server = guard("allow known *");
  Client& caller = client(server);
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(call<size_of>(caller, with("ann"), large).value(), large.size());
  EXPECT_EQ(call<size_of>(caller, large).status().code(), StatusCode::kUnauthenticated);
  const auto bytes = pattern(5'000'000);
  CallOptions options = with("bob");
  options.attachment = Bytes{bytes};
  EXPECT_EQ(call<attached>(caller, options).value(), bytes.size());
  CallOptions stranger;
  stranger.attachment = Bytes{bytes};
  EXPECT_EQ(call<attached>(caller, stranger).status().code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(call<who>(caller, with("ann")).value(), "token:ann");
}

}  // namespace
}  // namespace weft::testing::access
