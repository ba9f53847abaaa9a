// SPDX-License-Identifier: Apache-2.0
// CR-10: who may call what.
#include "integration/access/access_testing.hpp"
#include "weft/detail/bulk/bulk_host.hpp"
#include "weft/detail/bulk/bulk_peer.hpp"

namespace weft::testing::access {
namespace {

using Rights = AccessTest;

TEST_F(Rights, CountForEachMethod) {
  Server& server = guard("allow token:ann " + name_of<plain>() + "\nallow group:operators *who*\n");
  Client& caller = client(server);
  EXPECT_EQ(call<plain>(caller, with("ann"), 7).value(), 7);
  EXPECT_EQ(call<who>(caller, with("ann")).status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(call<who>(caller, with("bob")).value(), "token:bob");
  EXPECT_EQ(call<plain>(caller, with("bob"), 7).status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(call<plain>(caller, 7).status().code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(refused(server, RefusalReason::kNotAllowed), 2u);
  EXPECT_EQ(refused(server, RefusalReason::kUnidentified), 1u);
}

TEST_F(Rights, RefusalsSayWhatToDoAndThatNothingRan) {
  Client& caller = client(guard("allow token:ann x"));
  const Status unknown = call<plain>(caller, 7).status();
  EXPECT_THAT(unknown.message(), HasSubstr("who calls: send a token, or connect by tls://"));
  EXPECT_TRUE(unknown.unprocessed());
  const Status refused = call<plain>(caller, with("bob"), 7).status();
  EXPECT_THAT(refused.message(), HasSubstr("there is no such method, or token:bob may not call it"));
  EXPECT_TRUE(refused.unprocessed());
  EXPECT_EQ(refused.retry(), Retry::kNever);
}

TEST_F(Rights, HoldForUnknownMethodsAsForForbiddenOnes) {
  rules_ = std::make_shared<TestRules>("allow token:bob *\nallow token:ann x\n");
  ServerOptions options;
  options.authenticator = tokens_;
  options.authorizer = rules_;
  Client& caller = client(
      serve_here(std::move(options), [](Server& its) { its.register_handler<method<plain, "there">>(); }));
  const auto same = [&](const CallOptions& how) {
    const Status forbidden = call<remote<"there", int(int)>>(caller, how, 1).status();
    const Status unknown = call<remote<"not there", int(int)>>(caller, how, 1).status();
    const Status other_schema = call<remote<"there", std::string(std::string)>>(caller, how, "x").status();
    EXPECT_EQ(forbidden.to_string(), unknown.to_string());
    EXPECT_EQ(forbidden.to_string(), other_schema.to_string());
    return forbidden.code();
  };
  EXPECT_EQ(same({}), StatusCode::kUnauthenticated);
  EXPECT_EQ(same(with("ann")), StatusCode::kPermissionDenied);
  EXPECT_TRUE((call<remote<"there", int(int)>>(caller, with("bob"), 1).ok()));
  EXPECT_EQ((call<remote<"not there", int(int)>>(caller, with("bob"), 1).status().code()),
            StatusCode::kUnimplemented)
      << "who may call everything hears what there is";
}

TEST_F(Rights, AreAskedForOnceAndThenLookedUp) {
  Client& caller = client(guard("allow known *"));
  const CallOptions as_ann = with("ann");
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(call<plain>(caller, as_ann, 1).ok());
  EXPECT_EQ(rules_->asked, 1);
  EXPECT_TRUE(call<who>(caller, as_ann).ok());
  EXPECT_EQ(rules_->asked, 2);
}

TEST_F(Rights, ChangeUnderAConnectionThatIsThere) {
  Client& caller = client(guard("allow token:ann *"));
  EXPECT_TRUE(call<plain>(caller, with("ann"), 1).ok());
  rules_->set("allow token:bob *");
  EXPECT_EQ(call<plain>(caller, with("ann"), 1).status().code(), StatusCode::kPermissionDenied);
  EXPECT_TRUE(call<plain>(caller, with("bob"), 1).ok());
}

TEST_F(Rights, CanBeAFunctionOfYours) {
  ServerOptions options;
  options.authenticator =
      authenticate_by([](const Credentials& credentials) noexcept -> Result<Authenticated> {
        return Authenticated{Identity::of_token(credentials.token)};
      });
  options.authorizer = authorize_by([](const Identity& caller, std::string_view method) noexcept {
    return caller.subject() == "root" && method.ends_with("plain");
  });
  Client& caller =
      client(serve_here(std::move(options), [](Server& its) { its.register_handler<plain, who>(); }));
  EXPECT_TRUE(call<plain>(caller, with("root"), 1).ok());
  EXPECT_FALSE(call<who>(caller, with("root")).ok());
  EXPECT_FALSE(call<plain>(caller, with("user"), 1).ok());
}

TEST_F(Rights, CanBeAskedForByAHandler) {
  rules_ = std::make_shared<TestRules>("allow token:ann ask\nallow token:ann demo.*\n");
  ServerOptions options;
  options.authenticator = tokens_;
  options.authorizer = rules_;
  const auto ask = [](CallContext& context, std::string method) { return context.may_call(method); };
  Client& caller =
      client(serve_here(std::move(options), [&](Server& its) { its.register_handler("ask", ask); }));
  EXPECT_TRUE((call<remote<"ask", bool(std::string)>>(caller, with("ann"), "demo.Echo/Say").value()));
  EXPECT_FALSE((call<remote<"ask", bool(std::string)>>(caller, with("ann"), "other").value()));
}

TEST_F(Rights, HoldForHandlesOfMemory) {
  rules_ = std::make_shared<TestRules>("allow token:ann *");
  ServerOptions options;
  options.authenticator = tokens_;
  options.authorizer = rules_;
  std::optional<BulkHost> host;
  Server& server = serve_here(std::move(options), [&](Server& its) { host.emplace(its); });
  BulkRegion region = host->share(Buffer::adopt(pattern(100'000)), BulkRights::kReadAndWrite).value();
  const auto read_by = [&](ClientOptions its) {
    Client& caller = client(server, std::move(its));
    BulkPeer peer{caller};
    std::vector<std::byte> into(100'000);
    return loop().block_on(peer.read(region.handle(), 0, into)).status();
  };
  ClientOptions ann;
  ann.interceptors = {bearer_token("ann").value()};
  EXPECT_TRUE(read_by(std::move(ann)).ok());
  ClientOptions bob;
  bob.interceptors = {bearer_token("bob").value()};
  EXPECT_EQ(read_by(std::move(bob)).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(read_by({}).code(), StatusCode::kUnauthenticated);
}

}  // namespace
}  // namespace weft::testing::access
