// SPDX-License-Identifier: Apache-2.0
// A failure can be told when there is no memory left to tell it in.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <utility>

#include "support/heap_count.hpp"
#include "weft/detail/base/log.hpp"
#include "weft/detail/base/result.hpp"

namespace weft {
namespace {

using testing::fail_allocations;
using testing::kHeapIsCounted;

constexpr FixedFailure kGone{StatusCode::kUnavailable, Layer::kWire, Retry::kElsewhere, "it went away"};
const std::string kLong(100, 'x');

class WithoutMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
    fail_allocations(1, testing::kForEver);
  }
  void TearDown() override { fail_allocations(0); }

 private:
  const testing::MallocsFailToo each_kind_;
};

TEST_F(WithoutMemory, AFailureIsEverythingButItsText) {
  const Status status{StatusCode::kAborted, Layer::kUser, "a reason", -7, Retry::kElsewhere};
  fail_allocations(0);
  EXPECT_EQ(status.code(), StatusCode::kAborted);
  EXPECT_EQ(status.layer(), Layer::kUser);
  EXPECT_EQ(status.native(), -7);
  EXPECT_EQ(status.retry(), Retry::kElsewhere);
  EXPECT_EQ(status.to_string(), "ABORTED (user, -7): there was no memory for the reason");
}

TEST_F(WithoutMemory, ATextThatCannotBePutTogetherIsLeftOut) {
  const Status status{StatusCode::kUnavailable, Layer::kWire, [] { return kLong + "?"; }, 3};
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.native(), 3);
  EXPECT_EQ(status.message(), "there was no memory for the reason");
}

TEST_F(WithoutMemory, TheFailureOfASystemCallIsStillThat) {
  const Status status = detail::errno_status(Layer::kTransport, "accept", EMFILE);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.native(), EMFILE);
  EXPECT_EQ(user_error(9, "mine").native(), 9);
}

TEST_F(WithoutMemory, AFixedFailureHasItsText) {
  const Status status = Status::of<kGone>();
  const Status copy = status;
  EXPECT_EQ(copy.code(), StatusCode::kUnavailable);
  EXPECT_EQ(copy.layer(), Layer::kWire);
  EXPECT_EQ(copy.retry(), Retry::kElsewhere);
  EXPECT_EQ(copy.message(), "it went away");
}

TEST_F(WithoutMemory, CopiesShareTheText) {
  fail_allocations(0);
  Status status{StatusCode::kAborted, Layer::kRpc, kLong};
  fail_allocations(1, testing::kForEver);
  Status copy = status;
  EXPECT_EQ(copy.message().data(), status.message().data());
  status = Status{};
  EXPECT_EQ(copy.message(), kLong);
  const Result<int> result{copy};
  copy = Status::of<kGone>();
  EXPECT_EQ(result.status().message(), kLong);
}

TEST_F(WithoutMemory, AContextIsLeftOutAndTheReasonStays) {
  fail_allocations(0);
  const Status status{StatusCode::kAborted, Layer::kRpc, "a reason", 5};
  fail_allocations(1, testing::kForEver);
  EXPECT_EQ(status.with_context("calling").message(), "a reason");
  EXPECT_EQ(status.with_context([] { return kLong + "?"; }).message(), "a reason");
  EXPECT_EQ(status.with_context("calling").native(), 5);
}

TEST_F(WithoutMemory, AFailureSaysWhenToComeAgainAllTheSame) {
  Status status{StatusCode::kUnauthenticated, Layer::kRpc, "a text", -5, Retry::kReconnect};
  status.set_retry_after(std::chrono::hours{1});
  status.mark_unprocessed();
  EXPECT_EQ(status.retry_after(), kRetryAfterMax);
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(status.layer(), Layer::kRpc);
  EXPECT_EQ(status.native(), -5);
  EXPECT_EQ(status.retry(), Retry::kReconnect);
  EXPECT_TRUE(status.unprocessed());
  status.set_retry_after(Duration{-1});
  EXPECT_EQ(status.retry_after(), Duration::zero());
}

TEST_F(WithoutMemory, AFailureIsMarkedUnprocessedAllTheSame) {
  Status bare{StatusCode::kAborted, Layer::kUser, "a reason", -7};
  bare.mark_unprocessed();
  EXPECT_TRUE(bare.unprocessed());
  EXPECT_EQ(bare.native(), -7);
  EXPECT_EQ(bare.code(), StatusCode::kAborted);
  Status fixed = Status::of<kGone>();
  EXPECT_FALSE(fixed.unprocessed());
  fixed.mark_unprocessed();
  EXPECT_TRUE(fixed.unprocessed());
  EXPECT_EQ(fixed.retry(), Retry::kElsewhere);
  fail_allocations(0);
  Status mine{StatusCode::kAborted, Layer::kRpc, kLong};
  fail_allocations(1, testing::kForEver);
  mine.mark_unprocessed();
  EXPECT_TRUE(mine.unprocessed());
  EXPECT_EQ(mine.message(), kLong) << "nobody shares it, so no copy was needed";
}

constexpr FixedFailure kNeverSent{StatusCode::kUnavailable, Layer::kRpc, Retry::kElsewhere, "never sent",
                                  true};

TEST_F(WithoutMemory, AFailureLosesTheMarkOfAnUnprocessedRequestAllTheSame) {
  Status fixed = Status::of<kNeverSent>();
  fixed.clear_unprocessed();
  EXPECT_FALSE(fixed.unprocessed());
  EXPECT_EQ(fixed.code(), StatusCode::kUnavailable);
  EXPECT_EQ(fixed.retry(), Retry::kElsewhere);
  Status bare{StatusCode::kAborted, Layer::kUser, "a reason", -7};
  bare.mark_unprocessed();
  bare.clear_unprocessed();
  EXPECT_FALSE(bare.unprocessed());
  EXPECT_EQ(bare.native(), -7);
}

TEST_F(WithoutMemory, ALineOfTheLogIsLeftOut) {
  struct Counting final : Logger {
    void write(LogLevel, std::string_view) override { ++lines; }
    int lines = 0;
  } logger;
  const auto text = [] { return kLong + "?"; };
  detail::write_line(logger, LogLevel::kError, text);
  EXPECT_EQ(logger.lines, 0);
  fail_allocations(0);
  detail::write_line(logger, LogLevel::kError, text);
  EXPECT_EQ(logger.lines, 1);
}

}  // namespace
}  // namespace weft
