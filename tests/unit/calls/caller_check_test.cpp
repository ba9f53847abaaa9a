// SPDX-License-Identifier: Apache-2.0
// CR-10: who the calls of a connection are from, and whether they may be made.
#include "calls/gate/caller_check.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "support/heap_count.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::detail::caller_check_tests {
namespace {

class Tokens final : public Authenticator {
 public:
  Result<Authenticated> authenticate(const Credentials& credentials) noexcept override {
    ++asked;
    return Authenticated{Identity::of_token(credentials.token), good_for};
  }
  std::uint64_t version(TimePoint) noexcept override { return 0; }
  int asked = 0;
  Duration good_for = std::chrono::seconds{10};
};

class OnlyEven final : public Authorizer {
 public:
  bool may_call(const Identity& caller, std::string_view method) noexcept override {
    ++asked;
    return !caller.is_anonymous() && method == "even";
  }
  std::uint64_t version(TimePoint) noexcept override { return its_version; }
  int asked = 0;
  std::uint64_t its_version = 0;
};

class CallersOfAConnection : public ::testing::Test {
 protected:
  CallersOfAConnection() {
    even.key.name = "even";
    even.index = 1;
    odd.key.name = "odd";
    odd.index = 2;
  }
  std::optional<Refusal> refuse(const MethodEntry* method, const std::string& token, Duration at = {}) {
    Metadata metadata;
    metadata.set(kAuthorizationKey, "Bearer " + token).value();
    return check.refuse(method, metadata, TimePoint{} + at);
  }

  MethodEntry even{};
  MethodEntry odd{};
  Tokens tokens;
  OnlyEven rules;
  CallerCheck check{&tokens, &rules, Identity{}, 2};
};

TEST_F(CallersOfAConnection, AreLookedUpWithoutAnAllocation) {
  Metadata metadata;
  metadata.set(kAuthorizationKey, "Bearer ann").value();
  EXPECT_FALSE(check.refuse(&even, metadata, TimePoint{}));
  const std::size_t before = testing::heap_allocations();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(check.refuse(&even, metadata, TimePoint{}));
  if (testing::kHeapIsCounted) {
    EXPECT_EQ(testing::heap_allocations(), before);
  }
  EXPECT_EQ(tokens.asked, 1);
  EXPECT_EQ(rules.asked, 1);
}

TEST_F(CallersOfAConnection, AreAskedForAgainWhenTheirTimeIsOver) {
  EXPECT_FALSE(refuse(&even, "ann"));
  EXPECT_FALSE(refuse(&even, "ann", std::chrono::seconds{9}));
  EXPECT_EQ(tokens.asked, 1);
  EXPECT_FALSE(refuse(&even, "ann", std::chrono::seconds{10}));
  EXPECT_EQ(tokens.asked, 2);
}

TEST_F(CallersOfAConnection, AreManyWithoutBeingMixedUp) {
  for (int i = 0; i < 100; ++i) {
    const std::string token = "user" + std::to_string(i % 7);
    EXPECT_FALSE(refuse(&even, token));
    EXPECT_EQ(check.caller().subject(), token);
    EXPECT_TRUE(refuse(&odd, token));
    EXPECT_EQ(check.refuse(&even, {}, TimePoint{})->reason, RefusalReason::kUnidentified);
    EXPECT_TRUE(check.caller().is_anonymous());
  }
}

TEST_F(CallersOfAConnection, OfATokenWithTheSameBeginningAreOthers) {
  EXPECT_FALSE(refuse(&even, "aaaa"));
  EXPECT_FALSE(refuse(&even, "aaab"));
  EXPECT_EQ(check.caller().subject(), "aaab");
  EXPECT_FALSE(refuse(&even, "aaa"));
  EXPECT_EQ(check.caller().subject(), "aaa");
}

TEST_F(CallersOfAConnection, HearNoneOfTheMethodsWithoutARight) {
  EXPECT_EQ(refuse(&odd, "ann")->status.to_string(), refuse(nullptr, "ann")->status.to_string());
  EXPECT_EQ(check.refuse(&odd, {}, TimePoint{})->status.to_string(),
            check.refuse(nullptr, {}, TimePoint{})->status.to_string());
}

TEST_F(CallersOfAConnection, AreRefusedWithTwoTokens) {
  Metadata metadata;
  metadata.add(kAuthorizationKey, "Bearer ann").value();
  metadata.add(kAuthorizationKey, "Bearer bob").value();
  const auto refusal = check.refuse(&even, metadata, TimePoint{});
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, RefusalReason::kBadCredentials);
  EXPECT_EQ(refusal->status.code(), StatusCode::kUnauthenticated);
  EXPECT_FALSE(refuse(&even, "ann"));
}

TEST(RemovedPairs, LeaveTheOthersAndNoTrace) {
  const auto without = [](const char* key) {
    Metadata metadata;
    metadata.set("a", "1").value();
    metadata.set("secret", "s3cr3t").value();
    metadata.set("b", "2").value();
    metadata.add("secret", "another s3cr3t").value();
    std::vector<std::byte> bytes(metadata.view().bytes().begin(), metadata.view().bytes().end());
    const std::size_t left = remove_pairs(bytes, key);
    const MetadataView others{Bytes{bytes}.first(left)};
    EXPECT_TRUE(is_metadata(others.bytes()));
    EXPECT_EQ(others.find("b"), "2");
    EXPECT_EQ(others.find(key), std::nullopt);
    return std::string{as_text(bytes)};
  };
  EXPECT_EQ(without("secret").find("s3cr3t"), std::string::npos);
  EXPECT_NE(without("a").find("s3cr3t"), std::string::npos);
  EXPECT_NE(without("none").find("s3cr3t"), std::string::npos);
}

}  // namespace
}  // namespace weft::detail::caller_check_tests
