// SPDX-License-Identifier: Apache-2.0
// CR-10: a policy in a file that changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <vector>

#include "unit/access/access_testing.hpp"
#include "weft/detail/access/policy.hpp"

namespace weft::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class PolicyInAFile : public ::testing::Test {
 protected:
  std::shared_ptr<Authorizer> open() {
    const auto made = policy_file(file.path(), {.logger = &logger});
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() ? *made : nullptr;
  }
  /// The version that a call finds which comes `later` than the last one.
  std::uint64_t version(Authorizer& rules, Duration later = 1s) {
    now += later;
    return rules.version(now);
  }

  NotingLogger logger;
  TestFile file{"allow anyone a\n"};
  TimePoint now{};
};

TEST_F(PolicyInAFile, IsReadAgainWhenItHasChanged) {
  const auto rules = open();
  const std::uint64_t first = version(*rules, 0s);
  EXPECT_TRUE(rules->may_call({}, "a"));
  EXPECT_FALSE(rules->may_call({}, "b"));
  file.put("allow anyone b\n");
  EXPECT_EQ(version(*rules, 999ms), first) << "nobody looks before the time";
  EXPECT_TRUE(rules->may_call({}, "a"));
  EXPECT_NE(version(*rules, 1ms), first);
  EXPECT_FALSE(rules->may_call({}, "a"));
  EXPECT_TRUE(rules->may_call({}, "b"));
  EXPECT_THAT(logger.text, HasSubstr("has changed, and counts"));
}

TEST_F(PolicyInAFile, WrittenInPlaceCountsOnceTwoLooksFindTheSame) {
  const auto rules = open();
  version(*rules);
  file.write_in_place("allow anyone b\n");
  version(*rules);
  EXPECT_TRUE(rules->may_call({}, "a")) << "the writer may not be done";
  version(*rules);
  EXPECT_TRUE(rules->may_call({}, "b"));
  file.write_in_place("allow anyone c\n");
  version(*rules);
  version(*rules);
  EXPECT_TRUE(rules->may_call({}, "c")) << "of the same length";
}

TEST_F(PolicyInAFile, WrittenInPlaceWithPausesIsNotTakenInBetween) {
  const auto rules = open();
  version(*rules);
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text += "allow anyone b" + std::to_string(i) + "\n";
    file.write_in_place(text);
    version(*rules);
    EXPECT_TRUE(rules->may_call({}, "a")) << i;
  }
  EXPECT_THAT(logger.text, IsEmpty());
  version(*rules);
  EXPECT_TRUE(rules->may_call({}, "b4"));
}

TEST_F(PolicyInAFile, CutWithinALineIsRefusedWithItsLine) {
  const auto rules = open();
  const std::uint64_t first = version(*rules);
  file.put("allow anyone b\nallow anyone *");
  EXPECT_EQ(version(*rules), first);
  EXPECT_TRUE(rules->may_call({}, "a"));
  EXPECT_FALSE(rules->may_call({}, "x"));
  EXPECT_THAT(logger.text, HasSubstr(file.path() + ":2: the line is not ended"));
  EXPECT_THAT(policy_file(file.path()).status().message(), HasSubstr(":2: the line is not ended"));
  file.put("allow anyone b\nallow anyone *.Reader/get\n");
  EXPECT_NE(version(*rules), first);
  EXPECT_TRUE(rules->may_call({}, "my.Reader/get"));
}

TEST_F(PolicyInAFile, CutAnywhereNeverAllowsMoreThanTheWhole) {
  const std::string text =
      "# Comment\nallow anyone *.Reader/get\r\nallow known \"a b\" a\nallow token:ann *\n"
      "allow uid:1000 stored health\n\nallow dns:*.example s*\nallow spiffe://prod/ops/* *\n  # allow anyone "
      "*\n";
  const std::vector<Identity> callers = {Identity{}, Identity::of_token("ann"), Identity::of_token("an"),
                                         Identity::of_token("anna")};
  const std::vector<std::string> methods = {"my.Reader/get", "x", "a b", "a", "stored", "health", "s", "sx"};
  const Policy whole = Policy::parse(text).value();
  int taken = 0;
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    file.put(text.substr(0, cut));
    const auto rules = policy_file(file.path());
    if (!rules.ok()) continue;
    ++taken;
    for (const Identity& caller : callers) {
      EXPECT_LE((*rules)->may_know_methods(caller), whole.allows_everything(caller)) << cut;
      for (const std::string& method : methods) {
        EXPECT_LE((*rules)->may_call(caller, method), whole.allows(caller, method)) << cut << method;
      }
    }
  }
  EXPECT_EQ(taken, 7) << "the cuts behind a line, from the first rule on";
}

TEST_F(PolicyInAFile, ThatHasNotChangedIsNotReadAgain) {
  const auto rules = open();
  const std::uint64_t first = version(*rules);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(version(*rules), first);
  file.put("allow anyone a\n");
  EXPECT_EQ(version(*rules), first) << "the same words in another file";
  EXPECT_THAT(logger.text, IsEmpty());
}

TEST_F(PolicyInAFile, AMistakeLeavesTheLastGoodOne) {
  const auto rules = open();
  const std::uint64_t first = version(*rules);
  file.put("allow anyone b\nallow nobody c\n");
  EXPECT_EQ(version(*rules), first);
  EXPECT_TRUE(rules->may_call({}, "a"));
  EXPECT_FALSE(rules->may_call({}, "b"));
  EXPECT_THAT(logger.text, HasSubstr(file.path() + ":2: \"nobody\" is nobody"));
  const std::string once = logger.text;
  version(*rules);
  EXPECT_EQ(logger.text, once) << "it is told once";
  file.put("allow anyone b\n");
  EXPECT_NE(version(*rules), first);
  EXPECT_TRUE(rules->may_call({}, "b"));
}

TEST_F(PolicyInAFile, AnEmptyOrMissingFileLeavesTheLastGoodOne) {
  const auto rules = open();
  const std::uint64_t first = version(*rules);
  file.put("");
  EXPECT_EQ(version(*rules), first);
  EXPECT_THAT(logger.text, HasSubstr("there is no rule"));
  file.remove();
  EXPECT_EQ(version(*rules), first);
  EXPECT_THAT(logger.text, HasSubstr("No such file"));
  const std::string once = logger.text;
  version(*rules);
  EXPECT_EQ(logger.text, once);
  EXPECT_TRUE(rules->may_call({}, "a"));
  file.put("allow anyone b\n");
  EXPECT_EQ(version(*rules), first) << "a file that appears may be half written";
  EXPECT_NE(version(*rules), first);
}

TEST_F(PolicyInAFile, ThatIsNoGoodAtFirstIsAFailure) {
  file.put("allow anyone\n");
  EXPECT_THAT(policy_file(file.path()).status().message(), HasSubstr(file.path() + ":1: a rule is"));
  EXPECT_EQ(policy_file("/no/such/file").status().native(), ENOENT);
  EXPECT_EQ(policy_file("/tmp").status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(PolicyInAFile, APipeInItsPlaceHoldsNobodyUp) {
  const auto rules = open();
  const std::uint64_t first = version(*rules);
  file.remove();
  ASSERT_EQ(::mkfifo(file.path().c_str(), 0600), 0);
  for (int looks = 0; looks < 2; ++looks) EXPECT_EQ(version(*rules), first);
  EXPECT_THAT(logger.text, HasSubstr("no regular file"));
}

TEST_F(PolicyInAFile, AFileThatIsTooLongIsNotRead) {
  const auto rules = open();
  const std::uint64_t first = version(*rules);
  file.put(std::string(Policy::kTextBytesMax + 1, '#'));
  EXPECT_EQ(version(*rules), first);
  EXPECT_THAT(logger.text, HasSubstr("longer than"));
}

}  // namespace
}  // namespace weft::testing
