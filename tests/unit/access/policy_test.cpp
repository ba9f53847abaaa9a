// SPDX-License-Identifier: Apache-2.0
// CR-10: rules of who may call what.
#include "weft/detail/access/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const Identity kBatch = Identity::of_certificate({.subject = "CN=batch job,O=Example",
                                                  .common_name = "batch job",
                                                  .dns_names = {"a.batch.example", "Batch.Example"},
                                                  .uris = {"spiffe://prod/ns/batch"}});
const Identity kProcess = Identity::of_process({.uid = 1000, .gid = 100, .pid = 7});
const Identity kAnn = Identity::of_token("ann", {"group:operators"});

bool allows(std::string_view text, const Identity& who, std::string_view method = "demo.Store/Get") {
  const Result<Policy> policy = Policy::parse(text);
  EXPECT_TRUE(policy.ok()) << policy.status().to_string();
  return policy.ok() && policy->allows(who, method);
}

std::string fault(std::string_view text) {
  const Result<Policy> policy = Policy::parse(text);
  EXPECT_FALSE(policy.ok()) << text;
  EXPECT_EQ(policy.status().code(), StatusCode::kInvalidArgument);
  return std::string{policy.status().message()};
}

TEST(AccessPolicy, RefusesWhatNoRuleAllows) {
  EXPECT_FALSE(allows("allow token:bob *", kAnn));
  EXPECT_FALSE(allows("allow token:ann demo.Store/Put", kAnn));
  EXPECT_FALSE(allows("allow known *", Identity{}));
}

TEST(AccessPolicy, KnowsAllNamesOfACaller) {
  for (const char* who :
       {"anyone", "known", "spiffe://prod/ns/batch", "spiffe://prod/*", "spiffe://prod/ns/b*h",
        "dns:batch.example", "dns:BATCH.example", "dns:*.batch.example", "\"cn:batch job\"",
        "\"subject:CN=batch job,O=Example\"", "\"subject:*,O=Example\""}) {
    EXPECT_TRUE(allows("allow " + std::string{who} + " *", kBatch)) << who;
    EXPECT_FALSE(who != std::string_view{"anyone"} && allows("allow " + std::string{who} + " *", Identity{}));
  }
  for (const char* who : {"uid:1000", "uid:*", "gid:100", "known"}) {
    EXPECT_TRUE(allows("allow " + std::string{who} + " *", kProcess)) << who;
  }
  for (const char* who : {"token:ann", "token:*", "group:operators", "known"}) {
    EXPECT_TRUE(allows("allow " + std::string{who} + " *", kAnn)) << who;
  }
}

TEST(AccessPolicy, DoesNotTakeOneKindOfNameForAnother) {
  const Identity liar = Identity::of_certificate({.common_name = "token:ann", .uris = {"uid:0"}});
  for (const char* who : {"token:ann", "uid:0", "cn:ann", "dns:ann"}) {
    EXPECT_FALSE(allows("allow " + std::string{who} + " *", liar)) << who;
  }
  EXPECT_FALSE(allows("allow dns:batch.example *", Identity::of_token("batch.example")));
  EXPECT_FALSE(allows("allow uid:100 *", kProcess)) << "that is its group";
  EXPECT_FALSE(allows("allow spiffe://prod/ns *", kBatch)) << "a part is not the whole";
}

TEST(AccessPolicy, AStarStandsForAnyCharacters) {
  const auto may = [](std::string_view pattern, std::string_view method) {
    return allows("allow anyone " + std::string{pattern}, Identity{}, method);
  };
  EXPECT_TRUE(may("demo.Store/*", "demo.Store/Get"));
  EXPECT_TRUE(may("demo.*", "demo.Store/Get"));
  EXPECT_TRUE(may("*Get", "demo.Store/Get"));
  EXPECT_TRUE(may("d*S*e/G*", "demo.Store/Get"));
  EXPECT_TRUE(may("demo.Store/Get*", "demo.Store/Get"));
  EXPECT_TRUE(may("a b c \"scaled<int, float>\"", "scaled<int, float>"));
  EXPECT_FALSE(may("demo.Store/*", "demo.Store"));
  EXPECT_FALSE(may("demo.Store/*", "demo.StoreX/Get"));
  EXPECT_FALSE(may("*.Get", "demo.Store/Get"));
  EXPECT_FALSE(may("demo.Store/Ge", "demo.Store/Get"));
}

TEST(AccessPolicy, AStarIsQuickWhateverStandsAroundIt) {
  const std::string pattern = "*a*a*a*a*a*a*a*a*a*a*a*a*b";
  EXPECT_FALSE(allows("allow anyone " + pattern, Identity{}, std::string(20'000, 'a')));
}

TEST(AccessPolicy, KnowsWhoMayCallEverything) {
  const auto everything = [](std::string_view text, const Identity& who) {
    return Policy::parse(text)->allows_everything(who);
  };
  EXPECT_TRUE(everything("allow token:ann *", kAnn));
  EXPECT_TRUE(everything("allow token:ann demo.Store/* *", kAnn));
  EXPECT_FALSE(everything("allow token:ann demo.*", kAnn));
  EXPECT_FALSE(everything("allow token:bob *", kAnn));
}

TEST(AccessPolicy, CommentsAndEmptyLinesSayNothing) {
  const Result<Policy> policy =
      Policy::parse("# Rules\r\n\n   \t\nallow anyone a # and why\r\n\tallow known b c#d\n");
  ASSERT_TRUE(policy.ok()) << policy.status().to_string();
  EXPECT_EQ(policy->rules(), 2u);
  EXPECT_TRUE(policy->allows(kAnn, "c#d")) << "a # within a word is the word's";
}

TEST(AccessPolicy, AMistakeIsToldWithItsLine) {
  EXPECT_THAT(fault("allow anyone a\n\ndeny anyone b\n"), StartsWith("3: a rule begins with \"allow\""));
  EXPECT_THAT(fault("allow anyone"), StartsWith("1: a rule is"));
  EXPECT_THAT(fault("#\nallow bob *"),
              StartsWith("2: \"bob\" is nobody; it is one of anyone, known, spiffe"));
  EXPECT_THAT(fault("allow dns:a*.example *"), HasSubstr("dns:*.example.com"));
  EXPECT_THAT(fault("allow dns:* *"), HasSubstr("dns:*.example.com"));
  EXPECT_THAT(fault("allow dns:*.a.*.example *"), HasSubstr("dns:*.example.com"));
  EXPECT_THAT(fault("allow spiffe://prod* *"), HasSubstr("trust domain"));
  EXPECT_THAT(fault("allow spiffe://*/ns *"), HasSubstr("trust domain"));
  EXPECT_THAT(fault("allow spiffe:// *"), HasSubstr("nothing follows"));
  EXPECT_THAT(fault("allow uid:root *"), HasSubstr("a number"));
  EXPECT_THAT(fault("allow token: *"), HasSubstr("nothing follows token:"));
  EXPECT_THAT(fault("allow \"cn:a *"), HasSubstr("does not end"));
  EXPECT_THAT(fault("allow cn:\"a\" *"), HasSubstr("within a word"));
  EXPECT_THAT(fault("allow \"cn:a\"b *"), HasSubstr("within a word"));
  EXPECT_THAT(fault("allow anyone \"\""), HasSubstr("no text"));
  EXPECT_THAT(fault(std::string{"allow anyone a\0b", 16}), HasSubstr("no text"));
  EXPECT_THAT(fault(""), HasSubstr("there is no rule"));
  EXPECT_THAT(fault("# only words\n"), HasSubstr("there is no rule"));
  EXPECT_THAT(fault(std::string(Policy::kTextBytesMax + 1, '#')), HasSubstr("at most a MiB"));
}

TEST(AccessPolicy, HasABoundOfRules) {
  std::string text;
  for (std::size_t i = 0; i < Policy::kRulesMax; ++i) text += "allow token:a b\n";
  EXPECT_EQ(Policy::parse(text)->rules(), Policy::kRulesMax);
  EXPECT_THAT(fault(text + "allow token:a b\n"), StartsWith("10001: a policy has at most"));
}

}  // namespace
}  // namespace weft::testing
