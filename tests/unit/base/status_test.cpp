// SPDX-License-Identifier: Apache-2.0
// Status and Result: what happened, who says so, and what a caller should do.
#include "weft/detail/base/status.hpp"

#include <gmock/gmock.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "weft/detail/base/result.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(Status, AFreshOneIsSuccess) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kOk);
  EXPECT_EQ(status.layer(), Layer::kNone);
  EXPECT_EQ(status.native(), 0);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.retry(), Retry::kNever);
  EXPECT_EQ(status.to_string(), "OK");
}

TEST(Status, SuccessCostsOnePointer) {
  EXPECT_EQ(sizeof(Status), sizeof(void*));
}

TEST(Status, AFailureKeepsEverythingItWasGiven) {
  const Status status{StatusCode::kAborted, Layer::kRpc, "a reason", 7, Retry::kElsewhere};
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kAborted);
  EXPECT_EQ(status.layer(), Layer::kRpc);
  EXPECT_EQ(status.native(), 7);
  EXPECT_EQ(status.message(), "a reason");
  EXPECT_EQ(status.retry(), Retry::kElsewhere);
}

TEST(Status, TheLineForPeopleNamesCodeLayerNumberAndMessage) {
  EXPECT_EQ((Status{StatusCode::kUnavailable, Layer::kTransport, "connect", 111}.to_string()),
            "UNAVAILABLE (transport, 111): connect");
  EXPECT_EQ((Status{StatusCode::kInternal, Layer::kCodec, "odd"}.to_string()), "INTERNAL (codec): odd");
}

TEST(Status, TheCodeDecidesWhatToDoUnlessToldOtherwise) {
  const auto retry_of = [](StatusCode code) { return Status{code, Layer::kRpc, ""}.retry(); };
  EXPECT_EQ(retry_of(StatusCode::kUnavailable), Retry::kReconnect);
  EXPECT_EQ(retry_of(StatusCode::kResourceExhausted), Retry::kBackoff);
  EXPECT_EQ(retry_of(StatusCode::kUnimplemented), Retry::kElsewhere);
  EXPECT_EQ(retry_of(StatusCode::kInvalidArgument), Retry::kNever);
  EXPECT_EQ(retry_of(StatusCode::kDeadlineExceeded), Retry::kNever);
}

TEST(Status, ACopyIsIndependentAndAMoveLeavesSuccessBehind) {
  Status original{StatusCode::kNotFound, Layer::kRpc, "gone"};
  const Status copy = original;
  Status moved = std::move(original);
  EXPECT_EQ(copy.message(), "gone");
  EXPECT_EQ(moved.message(), "gone");
  moved = copy;
  EXPECT_EQ(moved.code(), StatusCode::kNotFound);
  moved = Status{};
  EXPECT_TRUE(moved.ok());
  EXPECT_FALSE(copy.ok());
}

TEST(Status, AssignedToItselfItStaysWhatItIs) {
  Status status{StatusCode::kNotFound, Layer::kRpc, "gone"};
  const Status& same = status;
  status = same;
  EXPECT_EQ(status.message(), "gone");
}

TEST(Status, ContextGoesBeforeTheMessageAndLeavesSuccessAlone) {
  const Status status{StatusCode::kNotFound, Layer::kRpc, "gone", 3};
  const Status with = status.with_context("call of echo");
  EXPECT_EQ(with.message(), "call of echo: gone");
  EXPECT_EQ(with.native(), 3);
  EXPECT_EQ(status.message(), "gone");
  EXPECT_TRUE(Status{}.with_context("anything").ok());
}

TEST(Status, AnErrnoBecomesACodeItsNumberAndItsText) {
  const Status refused = detail::errno_status(Layer::kTransport, "connect", ECONNREFUSED);
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_EQ(refused.native(), ECONNREFUSED);
  EXPECT_THAT(std::string{refused.message()}, HasSubstr("connect: "));
  EXPECT_EQ(detail::errno_status(Layer::kTransport, "bind", EADDRINUSE).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(detail::errno_status(Layer::kTransport, "bind", EACCES).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(detail::errno_status(Layer::kTransport, "bind", EADDRNOTAVAIL).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(detail::errno_status(Layer::kTransport, "accept", EMFILE).code(), StatusCode::kResourceExhausted);
}

TEST(Status, AUsersErrorCarriesTheUsersNumber) {
  const Status status = user_error(42, "no such account");
  EXPECT_EQ(status.layer(), Layer::kUser);
  EXPECT_EQ(status.native(), 42);
  EXPECT_EQ(status.code(), StatusCode::kUnknown);
}

TEST(Status, NobodyKnowsWhetherARequestWasProcessedUnlessItIsMarked) {
  Status status{StatusCode::kUnavailable, Layer::kTransport, "lost", 104};
  EXPECT_FALSE(status.unprocessed());
  const Status shared = status;
  status.mark_unprocessed();
  EXPECT_TRUE(status.unprocessed());
  EXPECT_FALSE(shared.unprocessed()) << "who shares its text is told nothing";
  EXPECT_EQ(status.to_string(), shared.to_string());
  EXPECT_EQ(status.retry(), Retry::kReconnect);
  EXPECT_TRUE(status.with_context("calling").unprocessed());
  const Status copy = status;
  EXPECT_TRUE(copy.unprocessed());
}

TEST(Status, TheMarkOfAnUnprocessedRequestIsClearedAndAllElseStays) {
  Status marked{StatusCode::kResourceExhausted, Layer::kRpc, "too many", 9};
  marked = marked.with_details("more");
  marked.mark_unprocessed();
  marked.set_retry_after(std::chrono::seconds{2});
  const Status shared = marked;
  marked.clear_unprocessed();
  EXPECT_FALSE(marked.unprocessed());
  EXPECT_TRUE(shared.unprocessed()) << "the copy keeps its mark";
  EXPECT_EQ(marked.to_string(), shared.to_string());
  EXPECT_EQ(marked.details(), "more");
  EXPECT_EQ(marked.retry(), Retry::kBackoff);
  EXPECT_EQ(marked.retry_after(), std::chrono::seconds{2});
  Status success;
  success.clear_unprocessed();
  EXPECT_TRUE(success.ok());
}

TEST(Status, DetailsStayWithEachCopyAndEachChange) {
  const std::string_view bytes{"\0\xff details", 10};
  const Status plain{StatusCode::kNotFound, Layer::kRpc, "gone", 3};
  Status status = plain.with_details(bytes);
  EXPECT_EQ(plain.details(), "");
  EXPECT_EQ(status.details(), bytes);
  EXPECT_EQ(status.message(), "gone");
  const Status shared = status;
  status.mark_unprocessed();
  EXPECT_EQ(status.details(), bytes);
  status.set_retry_after(std::chrono::seconds{1});
  EXPECT_EQ(status.details(), bytes);
  EXPECT_EQ(status.with_context("calling").details(), bytes);
  EXPECT_EQ(status.with_context("calling").message(), "calling: gone");
  EXPECT_EQ(shared.details(), bytes);
  EXPECT_EQ(status.with_details("").details(), "");
  EXPECT_EQ(status.with_details("other").details(), "other");
  EXPECT_TRUE(Status{}.with_details(bytes).ok());
  EXPECT_EQ(Status{}.details(), "");
}

TEST(Status, DetailsOverTheLimitAreLeftOutWithWords) {
  const Status status{StatusCode::kNotFound, Layer::kRpc, "gone"};
  EXPECT_EQ(status.with_details(std::string(kStatusDetailsMax, 'd')).details().size(), kStatusDetailsMax);
  const Status without = status.with_details(std::string(kStatusDetailsMax + 1, 'd'));
  EXPECT_EQ(without.details(), "");
  EXPECT_EQ(without.message(), "gone (its details of 8193 bytes were left out: at most 8192 fit)");
  EXPECT_EQ(without.code(), StatusCode::kNotFound);
}

TEST(Status, SuccessIsNotMarked) {
  Status status;
  status.mark_unprocessed();
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(status.unprocessed());
}

TEST(Status, EveryCodeHasANameAndOtherNumbersAreNoCode) {
  for (unsigned number = 0; number <= 16; ++number) {
    EXPECT_TRUE(detail::is_status_code(number));
    EXPECT_NE(to_string(static_cast<StatusCode>(number)), "?") << number;
  }
  EXPECT_FALSE(detail::is_status_code(17));
  EXPECT_FALSE(detail::is_status_code(255));
  EXPECT_EQ(to_string(static_cast<StatusCode>(17)), "?");
}

TEST(Status, AFailureWithTheCodeOfSuccessIsInternal) {
  const Status status = user_error(7, "mapped", StatusCode::kOk);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.native(), 7);
  EXPECT_EQ(status.retry(), Retry::kNever);
  EXPECT_EQ(status.message(), "a failure was given the code of success: mapped");
}

TEST(Result, HoldsAValueOrTheReasonWhyNot) {
  const Result<int> value = 7;
  const Result<int> failure = Status{StatusCode::kNotFound, Layer::kRpc, "gone"};
  EXPECT_TRUE(value.ok());
  EXPECT_EQ(*value, 7);
  EXPECT_TRUE(value.status().ok());
  EXPECT_FALSE(failure.ok());
  EXPECT_EQ(failure.status().message(), "gone");
}

TEST(Result, GivesItsValueAwayWhenItIsATemporary) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(Result, FallsBackToAnotherValueOnlyWhenItFailed) {
  EXPECT_EQ(Result<int>{7}.value_or(1), 7);
  const Result<int> named{7};
  EXPECT_EQ(named.value_or(1), 7);
  EXPECT_EQ((Result<int>{Status{StatusCode::kNotFound, Layer::kRpc, ""}}.value_or(1)), 1);
}

TEST(Result, ConvertsWhatItsValueCanBeMadeOf) {
  const Result<std::string> text = "from a literal";
  EXPECT_EQ(text->size(), 14u);
}

TEST(Result, OfVoidIsSuccessOrAStatus) {
  const Result<void> success;
  const Result<void> from_ok = Status{};
  const Result<void> failure = Status{StatusCode::kAborted, Layer::kRpc, "stopped"};
  EXPECT_TRUE(success.ok());
  EXPECT_TRUE(from_ok.ok());
  success.value();
  EXPECT_EQ(failure.status().code(), StatusCode::kAborted);
}

TEST(ResultDeathTest, AskedForAValueItDoesNotHaveItSaysWhyThereIsNone) {
  const Result<int> failure = Status{StatusCode::kNotFound, Layer::kRpc, "gone"};
  EXPECT_DEATH({ [[maybe_unused]] const int value = failure.value(); }, "NOT_FOUND .rpc.: gone");
  const Result<void> nothing = Status{StatusCode::kAborted, Layer::kRpc, "stopped"};
  EXPECT_DEATH(nothing.value(), "ABORTED .rpc.: stopped");
}

TEST(Result, MadeOfASuccessfulStatusIsAFailure) {
  const Result<int> result{Status{}};
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInternal);
  EXPECT_NE(result.status().message().find("return the value for success"), std::string_view::npos);
}

TEST(Result, TheValueOfATemporaryOutlivesIt) {
  const auto text = [] { return Result<std::string>{std::string(100, 'x')}; };
  std::string seen;
  for (const char c : text().value()) seen += c;
  const std::string& kept = *text();
  EXPECT_EQ(seen, std::string(100, 'x'));
  EXPECT_EQ(kept, seen);
}

TEST(Result, TheTextOfItsFailureLivesAsLongAsTheResult) {
  const Result<int> number{
      Status{StatusCode::kAborted, Layer::kRpc, "a reason too long to be kept in place"}};
  const Result<void> nothing{
      Status{StatusCode::kAborted, Layer::kRpc, "another reason, as long as that one"}};
  const std::string_view first = number.status().message();
  const std::string_view second = nothing.status().message();
  EXPECT_EQ(first, "a reason too long to be kept in place");
  EXPECT_EQ(second, "another reason, as long as that one");
  EXPECT_EQ(&number.status(), &number.status());
  EXPECT_TRUE(Result<int>{1}.status().ok());
  const Result<int> one{1};
  EXPECT_TRUE(one.status().ok());
}

}  // namespace
}  // namespace weft
