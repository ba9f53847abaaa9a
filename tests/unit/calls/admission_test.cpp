// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/admission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string_view>

namespace weft {

using namespace weft::detail;
namespace {

RpcLimits small_limits() {
  RpcLimits limits;
  limits.calls_in_flight_max = 2;
  limits.connection_memory_max = 1000;
  return limits;
}

class Admissions : public ::testing::Test {
 protected:
  ~Admissions() override { process_.release(used()); }

  RefusalReason refused(const Charge& charge) {
    const std::optional<Refusal> refusal = admission_.admit(charge);
    return refusal ? refusal->reason : RefusalReason::kCount;
  }

  std::size_t used() const { return kProcessBytes - process_.free(); }

  static constexpr std::size_t kProcessBytes = 1800;
  const RpcLimits limits_ = small_limits();
  LocalBudget process_{std::make_shared<MemoryBudget>(kProcessBytes)};
  Admission admission_{limits_, process_};
};

TEST_F(Admissions, CountsCallsUntilTheyLeave) {
  EXPECT_EQ(refused({}), RefusalReason::kCount);
  EXPECT_EQ(refused({}), RefusalReason::kCount);
  EXPECT_EQ(refused({}), RefusalReason::kOverCallsInFlight);
  admission_.leave(0);
  EXPECT_EQ(refused({}), RefusalReason::kCount);
  EXPECT_EQ(admission_.calls(), 2u);
}

TEST_F(Admissions, ARefusalHasChangedNothing) {
  ASSERT_TRUE(process_.try_reserve(1400));
  EXPECT_EQ(refused({.kept = 401}), RefusalReason::kOverProcessMemory);
  EXPECT_EQ(refused({.kept = 1001}), RefusalReason::kOverConnectionMemory);
  EXPECT_EQ(admission_.calls(), 0u);
  EXPECT_EQ(used(), 1400u);
  process_.release(1400);
  EXPECT_EQ(refused({.kept = 600, .attachment = 400}), RefusalReason::kCount);
}

// An attachment was looked at when it was announced; by the time that it is there others may hold its place.
TEST_F(Admissions, AnAttachmentIsHeldToTheLimitWhenItsCallIsAdmittedToo) {
  EXPECT_FALSE(admission_.refuse_arriving(900));
  EXPECT_EQ(refused({.kept = 200}), RefusalReason::kCount);
  EXPECT_EQ(refused({.attachment = 900}), RefusalReason::kOverConnectionMemory);
  EXPECT_EQ(refused({.attachment = 800}), RefusalReason::kCount);
  EXPECT_TRUE(admission_.refuse_arriving(1));
  admission_.leave(800);
  EXPECT_FALSE(admission_.refuse_arriving(800));
}

TEST_F(Admissions, AttachmentsAreNotReservedInTheProcessTwice) {
  EXPECT_EQ(refused({.kept = 100, .attachment = 500}), RefusalReason::kCount);
  EXPECT_EQ(used(), 100u);
}

// What eight times the free memory bounds: whoever holds much leaves room for others.
TEST_F(Admissions, AConnectionIsRefusedMoreThanItsShareAndAnotherThatHoldsLittleIsNot) {
  RpcLimits limits;
  Admission greedy{limits, process_};
  Admission modest{limits, process_};
  EXPECT_FALSE(greedy.admit({.kept = 1500}));
  const std::optional<Refusal> refusal = greedy.admit({.kept = 150});
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, RefusalReason::kOverProcessMemory);
  EXPECT_NE(refusal->status.message().find("share"), std::string_view::npos);
  EXPECT_TRUE(greedy.refuse_arriving(150));
  EXPECT_FALSE(modest.refuse_arriving(150));
  EXPECT_FALSE(modest.admit({.kept = 150}));
  EXPECT_EQ(used(), 1650u);
}

// Trying again is of use when others hold the memory, and of none when there is too little of it.
TEST_F(Admissions, MoreThanTheWholeMemoryIsNotWorthASecondTryAndIsToldTheSizes) {
  const auto is_for_good = [](const std::optional<Refusal>& refusal, RefusalReason why, const char* bytes,
                              const char* limit) {
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->reason, why);
    EXPECT_EQ(refusal->status.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(refusal->status.retry(), Retry::kNever);
    EXPECT_THAT(refusal->status.message(), ::testing::HasSubstr(bytes));
    EXPECT_THAT(refusal->status.message(), ::testing::HasSubstr(limit));
  };
  constexpr RefusalReason kConnection = RefusalReason::kOverConnectionMemory;
  const char* const of_connection = "1000 bytes (connection_memory_max)";
  is_for_good(admission_.refuse_arriving(1001), kConnection, "1001 bytes", of_connection);
  is_for_good(admission_.refuse_announced(1001, 1), kConnection, "1001 bytes", of_connection);
  is_for_good(admission_.admit({.kept = 1, .attachment = 1000}), kConnection, "1001 bytes", of_connection);

  const RpcLimits wide;
  Admission other{wide, process_};
  constexpr RefusalReason kProcess = RefusalReason::kOverProcessMemory;
  const char* const of_process = "1800 bytes (process_memory_max)";
  EXPECT_FALSE(other.refuse_arriving(1600));
  is_for_good(other.refuse_arriving(1601), kProcess, "1601 bytes", of_process);
  is_for_good(other.refuse_announced(1601, 1), kProcess, "1601 bytes", of_process);
  is_for_good(other.admit({.kept = 1601}), kProcess, "1601 bytes", of_process);
}

TEST_F(Admissions, WhatFitsWhenOthersAreGoneIsWorthASecondTry) {
  const auto retry = [](const std::optional<Refusal>& refusal) {
    return refusal ? refusal->status.retry() : Retry::kNever;
  };
  EXPECT_EQ(retry(admission_.refuse_announced(900, 101)), Retry::kBackoff);
  EXPECT_FALSE(admission_.admit({.kept = 200}));
  EXPECT_EQ(retry(admission_.refuse_arriving(1000)), Retry::kBackoff);
  EXPECT_EQ(retry(admission_.admit({.kept = 1000})), Retry::kBackoff);
  const RpcLimits wide;
  Admission other{wide, process_};
  EXPECT_EQ(retry(other.refuse_announced(1500, 50)), Retry::kBackoff);
  EXPECT_EQ(retry(other.refuse_arriving(1600)), Retry::kBackoff);
  EXPECT_EQ(retry(other.admit({.kept = 1600})), Retry::kBackoff);
}

// What was reserved of an attachment while it arrived is not asked for again.
TEST_F(Admissions, AnAttachmentThatArrivesIsHeldToTheShareWithWhatHasArrived) {
  ASSERT_TRUE(process_.try_reserve(900));
  EXPECT_FALSE(admission_.refuse_arriving(900, 800));
  EXPECT_FALSE(admission_.refuse_arriving(700));
  EXPECT_TRUE(admission_.refuse_arriving(899)) << "nothing would be left to others";
}

}  // namespace
}  // namespace weft
