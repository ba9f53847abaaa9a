// SPDX-License-Identifier: Apache-2.0
#include "calls/admission.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

RpcLimits small_limits() {
  RpcLimits limits;
  limits.calls_in_flight_max = 2;
  limits.connection_memory_max = 1000;
  return limits;
}

class Admissions : public ::testing::Test {
 protected:
  ~Admissions() override { process_.release(process_.used()); }

  Rejection refused(const Charge& charge) {
    const std::optional<Refusal> refusal = admission_.admit(charge);
    return refusal ? refusal->reason : Rejection::kCount;
  }

  const RpcLimits limits_ = small_limits();
  MemoryBudget process_{600};
  Admission admission_{limits_, process_};
};

TEST_F(Admissions, CountsCallsUntilTheyLeave) {
  EXPECT_EQ(refused({}), Rejection::kCount);
  EXPECT_EQ(refused({}), Rejection::kCount);
  EXPECT_EQ(refused({}), Rejection::kOverCallsInFlight);
  admission_.leave(0);
  EXPECT_EQ(refused({}), Rejection::kCount);
  EXPECT_EQ(admission_.calls(), 2u);
}

TEST_F(Admissions, ARefusalHasChangedNothing) {
  EXPECT_EQ(refused({.kept = 601}), Rejection::kOverProcessMemory);
  EXPECT_EQ(refused({.kept = 1001}), Rejection::kOverConnectionMemory);
  EXPECT_EQ(admission_.calls(), 0u);
  EXPECT_EQ(process_.used(), 0u);
  EXPECT_EQ(refused({.kept = 600, .attachment = 400}), Rejection::kCount);
}

// An attachment was looked at when it was announced; by the time that it is there others may hold its place.
TEST_F(Admissions, AnAttachmentIsHeldToTheLimitWhenItsCallIsAdmittedToo) {
  EXPECT_FALSE(admission_.refuse_attachment(900));
  EXPECT_EQ(refused({.kept = 200}), Rejection::kCount);
  EXPECT_EQ(refused({.attachment = 900}), Rejection::kOverConnectionMemory);
  EXPECT_EQ(refused({.attachment = 800}), Rejection::kCount);
  EXPECT_TRUE(admission_.refuse_attachment(1));
  admission_.leave(800);
  EXPECT_FALSE(admission_.refuse_attachment(800));
}

TEST_F(Admissions, AttachmentsAreNotReservedInTheProcessTwice) {
  EXPECT_EQ(refused({.kept = 100, .attachment = 500}), Rejection::kCount);
  EXPECT_EQ(process_.used(), 100u);
}

}  // namespace
}  // namespace weft
