// SPDX-License-Identifier: Apache-2.0
// CR-10: tokens of a server in a file, and the token of a client.
#include "weft/detail/access/tokens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "access/private_target.hpp"
#include "unit/access/access_testing.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kAnnsToken = "0123456789abcdef-ann";
constexpr const char* kBobsToken = "0123456789abcdef-bob";

class ListOfTokens : public ::testing::Test {
 protected:
  std::shared_ptr<Authenticator> open() {
    const auto made = token_file(file.path(), {.logger = &logger});
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() ? *made : nullptr;
  }
  std::string who(Authenticator& tokens, std::string_view token) {
    const Result<Authenticated> answer = tokens.authenticate({token, nobody, now});
    if (!answer.ok()) {
      EXPECT_EQ(answer.status().code(), StatusCode::kUnauthenticated);
      EXPECT_THAT(answer.status().message(), Not(HasSubstr(std::string{token})));
      return "nobody";
    }
    return std::string{answer->identity.name()};
  }
  std::string fault(const std::string& text) {
    file.put(text);
    const auto made = token_file(file.path());
    EXPECT_FALSE(made.ok());
    return std::string{made.status().message()};
  }

  NotingLogger logger;
  TestFile file{std::string{"# Tokens\nann "} + kAnnsToken + "\nbob " + kBobsToken + "\n"};
  const Identity nobody;
  TimePoint now{};
};

TEST_F(ListOfTokens, FindsWhoseATokenIs) {
  const auto tokens = open();
  EXPECT_EQ(who(*tokens, kAnnsToken), "token:ann");
  EXPECT_EQ(who(*tokens, kBobsToken), "token:bob");
  EXPECT_EQ(who(*tokens, "0123456789abcdef-bo"), "nobody");
  EXPECT_EQ(who(*tokens, "0123456789abcdef-bobb"), "nobody");
  EXPECT_EQ(who(*tokens, "ann"), "nobody");
}

TEST_F(ListOfTokens, OneNameMayHaveSeveralWhileTheyAreExchanged) {
  file.put(std::string{"ann "} + kAnnsToken + "\nann " + kBobsToken + "\n");
  const auto tokens = open();
  EXPECT_EQ(who(*tokens, kAnnsToken), "token:ann");
  EXPECT_EQ(who(*tokens, kBobsToken), "token:ann");
}

TEST_F(ListOfTokens, ATokenThatIsGoneIsNotGoodAnyMore) {
  const auto tokens = open();
  const std::uint64_t first = tokens->version(now);
  file.put(std::string{"bob "} + kBobsToken + "\n");
  EXPECT_NE(tokens->version(now += 1s), first) << "what connections have kept does not count any more";
  EXPECT_EQ(who(*tokens, kAnnsToken), "nobody");
  EXPECT_EQ(who(*tokens, kBobsToken), "token:bob");
}

TEST_F(ListOfTokens, AMistakeLeavesTheLastGoodOneAndShowsNoToken) {
  const auto tokens = open();
  const std::uint64_t first = tokens->version(now);
  file.put("carl 0123456789abcdef-carl\nann secret!0123456789\n");
  EXPECT_EQ(tokens->version(now += 1s), first);
  EXPECT_EQ(who(*tokens, kAnnsToken), "token:ann");
  EXPECT_THAT(logger.text, HasSubstr(file.path() + ":2: a token has only"));
  EXPECT_THAT(logger.text, Not(HasSubstr("0123456789")));
}

TEST_F(ListOfTokens, CutAnywhereKnowsNoOtherToken) {
  const std::string text =
      std::string{"# Tokens\nann "} + kAnnsToken + " # of ann\n\"b b\" " + kBobsToken + "\r\n";
  int taken = 0;
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    file.put(text.substr(0, cut));
    const auto tokens = token_file(file.path());
    if (!tokens.ok()) continue;
    ++taken;
    for (const std::string_view token : {kAnnsToken, kBobsToken}) {
      for (std::size_t size = 1; size < token.size(); ++size) {
        EXPECT_EQ(who(**tokens, token.substr(0, size)), "nobody") << cut;
      }
    }
    EXPECT_EQ(who(**tokens, kAnnsToken), "token:ann");
    EXPECT_EQ(who(**tokens, kBobsToken), "nobody");
  }
  EXPECT_EQ(taken, 1) << "the cut behind the line of ann";
}

TEST_F(ListOfTokens, CutWithinATokenLeavesTheLastGoodOneAndSaysSo) {
  const auto tokens = open();
  const std::uint64_t first = tokens->version(now);
  file.put(std::string{"bob 0123456789abcdef-b"});
  EXPECT_EQ(tokens->version(now += 1s), first);
  EXPECT_EQ(who(*tokens, "0123456789abcdef-b"), "nobody");
  EXPECT_EQ(who(*tokens, kBobsToken), "token:bob");
  EXPECT_THAT(logger.text, HasSubstr(file.path() + ":1: the line is not ended"));
  EXPECT_THAT(logger.text, Not(HasSubstr("0123456789")));
}

TEST_F(ListOfTokens, MistakesAreToldWithTheirLine) {
  EXPECT_THAT(fault("ann\n"), HasSubstr(":1: a line is a name and a token"));
  EXPECT_THAT(fault("ann a b\n"), HasSubstr(":1: a line is a name and a token"));
  EXPECT_THAT(fault("ann short\n"), HasSubstr("can be guessed"));
  EXPECT_THAT(fault("ann " + std::string(5000, 'x') + "\n"), HasSubstr("4096 at most"));
  EXPECT_THAT(fault(std::string{"ann "} + kAnnsToken + "\nbob " + kAnnsToken + "\n"),
              HasSubstr(":2: the token is there already"));
  EXPECT_THAT(fault("\n"), HasSubstr("there is no token"));
}

/// A call that a client is about to make.
struct Outgoing {
  explicit Outgoing(std::string_view target)
      : call({.method = "m", .target = target}, MetadataView{}, more, objects) {}
  Metadata more;
  detail::CallObjects objects;
  OutgoingCall call;
};

TEST(TokenOfAClient, GoesWithEveryCall) {
  const auto token = bearer_token("abc.def", {}).value();
  Outgoing outgoing{"tls://example:1"};
  ASSERT_TRUE(token->before(outgoing.call).ok());
  EXPECT_EQ(outgoing.call.metadata().find("authorization"), "Bearer abc.def");
}

TEST(TokenOfAClient, TakesThePlaceOfAnyOther) {
  const auto token = bearer_token("mine").value();
  Outgoing outgoing{"tls://example:1"};
  outgoing.call.set("authorization", "Bearer of-my-caller").value();
  ASSERT_TRUE(token->before(outgoing.call).ok());
  EXPECT_EQ(outgoing.call.metadata().find("authorization"), "Bearer mine");
}

TEST(TokenOfAClient, DoesNotGoWhereOthersCanReadIt) {
  const auto token = bearer_token("secret-secret").value();
  for (const char* target : {"tcp://example:1", "example:1", "10.0.0.1:9", "ucx://example:1", "verbs://h:1",
                             "tcp://127.evil.example:1", "tcp://localhost.evil:1", "", "tls:/x:1"}) {
    Outgoing outgoing{target};
    const Status refused = token->before(outgoing.call);
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << target;
    EXPECT_FALSE(outgoing.call.has_added());
    EXPECT_THAT(refused.to_string(), Not(HasSubstr("secret-secret")));
  }
  for (const char* target : {"tls://example:1", "unix:///run/x", "memory://x", "tcp://127.0.0.1:1",
                             "localhost:9", "tcp://[::1]:1", "ucx://127.0.0.1:4"}) {
    EXPECT_TRUE(detail::is_private(target)) << target;
  }
  const auto told_to = bearer_token("secret-secret", {.over_plain = true}).value();
  Outgoing outgoing{"tcp://example:1"};
  EXPECT_TRUE(told_to->before(outgoing.call).ok());
}

TEST(TokenOfAClient, IsNotAnyText) {
  for (const std::string& text :
       {std::string{}, std::string{"a b"}, std::string{"a\r\nX: y"}, std::string{"\n"},
        std::string{"a\0b", 3}, std::string(4097, 'a'), std::string{"\xC3\xA4"}}) {
    EXPECT_EQ(bearer_token(text).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(TokenOfAClient, InAFileIsExchangedWithoutARestart) {
  NotingLogger logger;
  TestFile file{"first\n"};
  const auto loop = Loop::create().value();
  const auto token =
      bearer_token_file(file.path(), {.file = {.look_interval = 1ns, .logger = &logger}}).value();
  const auto sent = [&] {
    std::string value;
    loop->post([&] {
      Outgoing outgoing{"tls://example:1"};
      EXPECT_TRUE(token->before(outgoing.call).ok());
      value = outgoing.call.metadata().find("authorization").value_or("none");
    });
    loop->run_until_idle();
    return value;
  };
  EXPECT_EQ(sent(), "Bearer first");
  file.put("second");
  EXPECT_EQ(sent(), "Bearer second");
  file.write_in_place("thi");
  EXPECT_EQ(sent(), "Bearer second") << "the writer may not be done";
  file.write_in_place("third");
  EXPECT_EQ(sent(), "Bearer second");
  EXPECT_EQ(sent(), "Bearer third");
  file.put("second\n");
  EXPECT_EQ(sent(), "Bearer second");
  file.put("no token!");
  EXPECT_EQ(sent(), "Bearer second");
  EXPECT_THAT(logger.text, HasSubstr("still counts"));
  EXPECT_THAT(logger.text, Not(HasSubstr("no token!")));
  file.remove();
  EXPECT_EQ(sent(), "Bearer second");
  EXPECT_EQ(bearer_token_file(file.path()).status().native(), ENOENT);
}

}  // namespace
}  // namespace weft::testing
