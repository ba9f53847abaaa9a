// SPDX-License-Identifier: Apache-2.0
// A call that loses its connection and is begun again by its target, on another session.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unit/calls/text_calls.hpp"

namespace weft::calls_testing {
namespace {

using ::testing::HasSubstr;

const MethodKey kIdempotent{13, 22, "look", &text_schema, {}, {}, false, true};

/// Sends calls over the session of a rig that changes, and takes those again that lost theirs.
class RepeatingTarget final : public CallTarget {
 public:
  explicit RepeatingTarget(SessionRig& first, Duration timeout = kNoTimeout)
      : CallTarget(first.loop(), timeout, true) {
    repeat_calls();
  }

  void use(SessionRig& rig) { set_open_calls(&rig.session().calls_out()); }
  void use_none() { set_open_calls(nullptr); }
  void withdraw(PendingCall& call) noexcept override {
    EXPECT_EQ(&call, waiting);
    waiting = nullptr;
  }
  bool may_begin_again(const PendingCall& call, const Status& failure) noexcept override {
    unprocessed = failure.unprocessed();
    return call.request().repeats < repeats_max;
  }
  void take_again(PendingCall& call) noexcept override {
    EXPECT_EQ(waiting, nullptr);
    waiting = &call;
  }
  void admit(SessionRig& rig) {
    if (waiting != nullptr) std::exchange(waiting, nullptr)->begin_waiting(rig.session().calls_out());
  }
  Status why_waiting() const noexcept override {
    return {StatusCode::kUnavailable, Layer::kTransport, "the other side is away"};
  }

  PendingCall* waiting = nullptr;
  std::uint32_t repeats_max = 3;
  bool unprocessed = false;

 private:
  Begun begin_without_session(PendingCall& call, std::size_t) override {
    waiting = &call;
    return call.wait();
  }
};

/// A text call over such a target.
class Repeated final : public PendingCall {
 public:
  explicit Repeated(CallTarget& target, const MethodKey& method = kMethod, CallDetails* details = nullptr)
      : PendingCall(target, method, details) {
    set_waiter(&waiter_);
  }
  bool begin() {
    const Begun begun = PendingCall::begin(nullptr, text.size());
    if (begun.body != nullptr) {
      encode_body(begun.body);
      if (begun.needs_sent()) sent();
    }
    return !begun.has_ended();
  }
  using PendingCall::take_failure;
  int woken() const { return waiter_.runs; }

  std::string text = "hello";
  std::string answer;

 private:
  struct Waiter : Ready {
    Waiter() : Ready([](Ready* self) noexcept { ++static_cast<Waiter*>(self)->runs; }) {}
    int runs = 0;
  };

  std::size_t body_bytes() const override { return text.size(); }
  void encode_body(std::byte* to) const override { std::memcpy(to, text.data(), text.size()); }
  void decode_answer(Bytes body, Status&) noexcept override { answer = as_text(body); }

  Waiter waiter_;
};

const Status kCut{StatusCode::kUnavailable, Layer::kTransport, "the cable is cut", 104};

class RepeatedCalls : public ::testing::Test {
 protected:
  void SetUp() override {
    first_.greet();
    second_.greet();
    target_.use(first_);
  }
  void cut() {
    first_.carrier().fail(kCut);
    first_.run_until_idle();
  }
  void answer(SessionRig& rig, std::string_view text) {
    rig.peer_sends(answer_bytes(rig.sent_frame().header.id, text));
    first_.run_until_idle();  // whoever waits does so on the first one's loop
  }

  SessionRig first_;
  SessionRig second_;
  RepeatingTarget target_{first_};
};

TEST_F(RepeatedCalls, OneThatDidNotLeaveIsBegunAgain) {
  first_.carrier().set_room(0);
  Repeated call{target_};
  ASSERT_TRUE(call.begin());
  first_.run_until_idle();
  cut();
  EXPECT_FALSE(call.done());
  EXPECT_EQ(target_.waiting, &call);
  EXPECT_TRUE(target_.unprocessed);
  EXPECT_EQ(call.request().repeats, 1u);
  target_.admit(second_);
  answer(second_, "from the other");
  EXPECT_EQ(call.answer, "from the other");
  EXPECT_EQ(call.woken(), 1);
  EXPECT_TRUE(call.take_failure().ok());
}

TEST_F(RepeatedCalls, OneThatMayHaveRunIsBegunAgainOnlyIfThatDoesNoHarm) {
  Repeated once{target_};
  Repeated by_method{target_, kIdempotent};
  CallOptions options;
  options.idempotent = true;
  CallDetails details{options, false};
  Repeated by_option{target_, kMethod, &details};
  target_.repeats_max = 3;
  ASSERT_TRUE(once.begin() && by_method.begin());
  EXPECT_EQ(first_.sent().size(), 2u);
  cut();
  EXPECT_EQ(once.take_failure().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(by_method.done());
  EXPECT_FALSE(target_.unprocessed);
  target_.admit(second_);
  answer(second_, "again");
  EXPECT_EQ(by_method.answer, "again");
  target_.use(second_);
  ASSERT_TRUE(by_option.begin());
  EXPECT_EQ(second_.sent().size(), 1u);
  second_.carrier().fail(kCut);
  second_.run_until_idle();
  EXPECT_FALSE(by_option.done());
  EXPECT_EQ(target_.waiting, &by_option);
}

TEST_F(RepeatedCalls, OneThatMayHaveRunIsToldHowLongToWaitByTheServerThatRefusesItThen) {
  Repeated call{target_, kIdempotent};
  ASSERT_TRUE(call.begin());
  EXPECT_EQ(first_.sent().size(), 1u);
  cut();
  ASSERT_EQ(target_.waiting, &call);
  target_.admit(second_);
  wire::AnswerHead head{.code = StatusCode::kResourceExhausted, .layer = Layer::kRpc};
  head.id = second_.sent_frame().header.id;
  head.flags |= wire::FrameFlags::kUnprocessed;
  head.retry_after_ms = 700;
  second_.peer_sends(frame_bytes(head.header(), "too many calls run"));
  first_.run_until_idle();
  const Status failure = call.take_failure();
  EXPECT_EQ(failure.code(), StatusCode::kResourceExhausted);
  EXPECT_FALSE(failure.unprocessed()) << "the first server may have run it";
  EXPECT_EQ(failure.retry_after(), 700ms);
}

TEST_F(RepeatedCalls, OneWhoseBodyIsGoneOrThatWasRepeatedEnoughFails) {
  first_.carrier().set_room(0);
  CallDetails without_body{CallOptions{}, false};
  without_body.keeps_body = false;
  Repeated gone{target_, kMethod, &without_body};
  ASSERT_TRUE(gone.begin());
  target_.repeats_max = 0;
  Repeated enough{target_};
  ASSERT_TRUE(enough.begin());
  first_.run_until_idle();
  cut();
  EXPECT_TRUE(gone.take_failure().unprocessed());
  EXPECT_TRUE(enough.take_failure().unprocessed());
  EXPECT_EQ(target_.waiting, nullptr);
}

TEST_F(RepeatedCalls, OneThatWaitsAgainKeepsItsTimeAndSaysWhyItWaited) {
  RepeatingTarget target{first_, 30s};
  target.use(first_);
  Repeated call{target, kIdempotent};
  ASSERT_TRUE(call.begin());
  first_.sent();
  first_.pass(5s);
  first_.carrier().fail(kCut);
  first_.run_until_idle();
  EXPECT_EQ(target.waiting, &call);
  first_.pass(20s);
  EXPECT_FALSE(call.done());
  first_.pass(5s);
  const Status failure = call.take_failure();
  EXPECT_EQ(failure.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(failure.to_string(), HasSubstr("the other side is away"));
  EXPECT_EQ(target.waiting, nullptr);
  EXPECT_EQ(call.woken(), 1);
}

TEST_F(RepeatedCalls, OneThatWaitsAgainIsSentWithTheTimeThatIsLeft) {
  RepeatingTarget target{first_, 30s};
  target.use(first_);
  Repeated call{target, kIdempotent};
  ASSERT_TRUE(call.begin());
  EXPECT_EQ(first_.sent_frame().header.timeout, 30'000'000u);
  first_.pass(5s);
  second_.pass(5s);
  first_.carrier().fail(kCut);
  first_.run_until_idle();
  target.admit(second_);
  const std::uint32_t left = second_.sent_frame().header.timeout;
  EXPECT_GT(left, 24'900'000u);
  EXPECT_LE(left, 25'100'000u) << "the clocks of two rigs are apart by what making them took";
}

TEST_F(RepeatedCalls, TheAttachmentOfOneThatWasNotTakenIsSentWholeOnceMore) {
  const std::string attachment(100'000, 'a');
  CallDetails details{CallOptions{.attachment = AttachmentView{as_bytes(attachment)}}, false};
  first_.carrier().set_room(50'000);
  Repeated call{target_, kMethod, &details};
  ASSERT_TRUE(call.begin());
  first_.run_until_idle();
  first_.peer_sends(goaway_bytes(first_.hello_bytes));
  EXPECT_EQ(target_.waiting, &call);
  target_.admit(second_);
  const SentFrame request = second_.sent_frame();
  EXPECT_EQ(request.attachment, attachment);
  first_.carrier().set_room(SIZE_MAX);
  first_.run_until_idle();
  second_.peer_sends(answer_bytes(request.header.id, "there"));
  EXPECT_EQ(call.answer, "there");
}

TEST_F(RepeatedCalls, TheAttachmentOfOneThatLostItsConnectionIsSentWholeOnceMore) {
  const std::string attachment(300'000, 'a');
  CallOptions options;
  options.attachment = AttachmentView{as_bytes(attachment)};
  options.idempotent = true;
  CallDetails details{options, false};
  first_.carrier().set_room(150'000);
  Repeated call{target_, kMethod, &details};
  ASSERT_TRUE(call.begin());
  first_.run_until_idle();
  cut();
  EXPECT_EQ(target_.waiting, &call);
  target_.admit(second_);
  std::size_t bytes = 0;
  for (const SentFrame& frame : second_.sent()) bytes += frame.attachment.size();
  EXPECT_EQ(bytes, attachment.size());
}

/// One call, over as many sessions as are lost on its way.
class Walk {
 public:
  enum Event { kAdmit, kAnswer, kLost, kUntaken, kCancel, kTimeOver, kEvents };

  Walk(bool idempotent, bool stalls, std::string_view attachment) : idempotent_(idempotent), stalls_(stalls) {
    rigs_.push_back(std::make_unique<SessionRig>());
    rig().greet();
    target_.emplace(*rigs_[0], 30s);
    if (!attachment.empty()) {
      CallOptions options;
      options.attachment = AttachmentView{as_bytes(attachment)};
      details_.emplace(options, false);
    }
    call_.emplace(*target_, idempotent ? kIdempotent : kMethod, details_ ? &*details_ : nullptr);
    target_->use_none();
    EXPECT_TRUE(call_->begin());
  }

  /// False when the event makes no sense now.
  bool happen(Event event) {
    const bool waits = target_->waiting != nullptr;
    if (call_->done()) return false;
    switch (event) {
      case kAdmit:
        if (!waits) return false;
        // Every other session takes nothing of what it is given.
        if (stalls_ && rigs_.size() % 2 == 1) rig().carrier().set_room(0);
        target_->admit(rig());
        for (const SentFrame& frame : rig().sent()) {
          if (frame.header.type == wire::FrameType::kRequest) id_ = frame.header.id;
        }
        if (id_) ++may_have_run_;
        break;
      case kAnswer:
        if (waits || !id_) return false;
        rig().peer_sends(answer_bytes(*id_, "answered"));
        break;
      case kLost:
        if (waits) return false;
        rig().carrier().fail(kCut);
        rig().run_until_idle();
        next_rig();
        break;
      case kUntaken:
        if (waits) return false;
        rig().peer_sends(goaway_bytes(rig().hello_bytes));
        if (id_) --may_have_run_;
        next_rig();
        break;
      case kCancel:
        call_->on_cancel(CancelReason::kRequested);
        break;
      case kTimeOver:
        // The loop of the session first: the call ends once this loop has read what arrived before.
        for (auto each = rigs_.rbegin(); each != rigs_.rend(); ++each) (*each)->pass(30s);
        break;
      case kEvents:
        return false;
    }
    rigs_[0]->run_until_idle();
    return true;
  }
  void check() {
    EXPECT_EQ(call_->woken(), call_->done() ? 1 : 0);
    EXPECT_LE(call_->request().repeats, 3u);
    EXPECT_LE(may_have_run_, idempotent_ ? 4 : 1);
    EXPECT_FALSE(call_->done() && target_->waiting != nullptr);
    for (const auto& rig : rigs_)
      EXPECT_LE(rig->session().calls_out().table().size(), call_->done() ? 0u : 1u);
  }

 private:
  SessionRig& rig() { return *rigs_.back(); }
  void next_rig() {
    id_.reset();
    rigs_.push_back(std::make_unique<SessionRig>());
    rig().greet();
  }

  const bool idempotent_;
  const bool stalls_;
  std::vector<std::unique_ptr<SessionRig>> rigs_;
  std::optional<RepeatingTarget> target_;
  std::optional<CallDetails> details_;
  std::optional<Repeated> call_;
  std::optional<std::uint64_t> id_;
  int may_have_run_ = 0;
};

// Whatever happens in whichever order, a call ends once, and one that is not idempotent runs once at most.
TEST(RepeatedCallsInEveryOrder, EndOnceAndRunAsOftenAsTheyMay) {
  constexpr int kSteps = 8;
  const std::string attachment(100'000, 'a');
  int walks = 0;
  for (const bool idempotent : {false, true}) {
    for (const std::string_view its : {std::string_view{}, std::string_view{attachment}}) {
      for (const bool stalls : {false, true}) {
        // Each walk is the one before with its last event, or the last that can be, replaced by the next.
        std::vector<int> events(kSteps, 0);
        while (!::testing::Test::HasFailure()) {
          Walk walk{idempotent, stalls, its};
          int at = 0;
          for (; at < kSteps; ++at) {
            if (!walk.happen(static_cast<Walk::Event>(events[static_cast<std::size_t>(at)]))) break;
            walk.check();
          }
          ++walks;
          at = std::min(at, kSteps - 1);
          while (at >= 0 && ++events[static_cast<std::size_t>(at)] == Walk::kEvents) --at;
          if (at < 0) break;
          std::fill(events.begin() + at + 1, events.end(), 0);
        }
      }
    }
  }
  EXPECT_GT(walks, 500);
}

}  // namespace
}  // namespace weft::calls_testing
