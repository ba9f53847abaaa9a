// SPDX-License-Identifier: Apache-2.0
// A call that is served, from its start to its end, over a sink that is the test's: what any protocol meets
// that serves calls.
#include "weft/detail/calls/serve/served_call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>

#include "calls/serve/call_workers.hpp"
#include "calls/serve/calls_host.hpp"
#include "weft/detail/calls/serve/inline_call.hpp"
#include "weft/detail/calls/serve/reply_right.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/runtime/clock.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Writes down what it is told.
class NotingSink final : public AnswerSink {
 public:
  NotingSink(Loop& loop, LocalBudget& process) : AnswerSink(77), loop_(loop), process_(process) {}

  std::byte* begin_answer(std::uint64_t id, std::size_t bytes, std::uint64_t attachment) override {
    if (bytes > answer_max) {
      fail(id, {StatusCode::kResourceExhausted, Layer::kRpc, "too large"});
      return nullptr;
    }
    EXPECT_EQ(attachment == 0 ? 0 : 1, expects_attachment ? 1 : 0);
    body_.resize(bytes + 1);
    return body_.data();
  }
  void end_answer() override { answers.emplace_back(as_text(Bytes{body_}.first(body_.size() - 1))); }
  ChunkPool* lending_chunks() const noexcept override { return lends ? &loop_.chunks() : nullptr; }
  std::byte* begin_answer_around(std::uint64_t id, std::size_t bytes, std::uint64_t attachment,
                                 const RunsInChunk& lent) override {
    return begin_answer(id, bytes - lent.runs.bytes(), attachment);
  }
  void put_runs_in(const RunsInChunk& lent, bool) override {
    EXPECT_TRUE(lent.runs.is_placed());
    for (const LentRuns::Run& run : lent.runs.runs()) runs.push_back(run.bytes);
    chunk = lent.chunk;
  }
  void take_back_answer(const std::byte*) override { body_.clear(); }
  void end_answer_with(std::uint64_t, Attachment& attachment, std::unique_ptr<AnswerWishes> wishes) override {
    end_answer();
    attachments.push_back(std::move(attachment));
    if (wishes != nullptr) wishes->end(true);
  }
  void fail(std::uint64_t, const Status& failure) override { failures.push_back(failure); }
  void refuse(std::uint64_t id, RefusalReason reason, const Status& why) override {
    refusals.push_back(reason);
    fail(id, why);
  }
  void refuse_without_memory(std::uint64_t id) override {
    fail(id, {StatusCode::kResourceExhausted, Layer::kRpc, "no memory"});
  }
  bool has_room() const noexcept override { return room; }
  void add_room_waiter(RoomWaiter& waiter) override { waiters_.push_back(waiter); }
  void wake_room_waiter() override {
    if (room && !waiters_.empty()) loop_.schedule(waiters_.pop_front().node);
  }
  bool charge_answer(std::size_t bytes) override {
    return !memory_is_others && bytes <= answer_memory && process_.try_reserve(bytes);
  }
  void forget(ServedCall&) override {
    ++forgotten;
    wake_room_waiter();
  }
  std::string local_endpoint() const override { return "test://here"; }
  std::string remote_endpoint() const override { return "test://there"; }
  std::shared_ptr<void>& connection_tag() override { return tag_; }
  void finish() override { finished = true; }

  std::vector<std::string> answers;
  std::vector<Attachment> attachments;
  std::vector<Status> failures;
  std::vector<RefusalReason> refusals;
  std::size_t answer_max = 1000;
  /// Bytes that an answer that waits for room may have.
  std::size_t answer_memory = 1000;
  bool memory_is_others = false;
  int forgotten = 0;
  bool room = true;
  bool finished = false;
  bool expects_attachment = false;
  /// Runs that were lent to it, with the chunk that they lie in.
  bool lends = false;
  std::vector<Bytes> runs;
  ChunkRef chunk;

 private:
  Loop& loop_;
  LocalBudget& process_;
  std::vector<std::byte> body_;
  IntrusiveList<RoomWaiter, RoomWaiterTag> waiters_;
  std::shared_ptr<void> tag_;
};

template <typename Call>
void answer_with_text(Call& call, std::string_view text) {
  if (std::byte* to = call.begin_answer(text.size())) {
    std::memcpy(to, text.data(), text.size());
    call.end_answer();
  }
}

/// Answers with so many bytes, as one who runs on no loop.
void send(ReplyRight& reply, std::size_t bytes) {
  AnswerBody body;
  ASSERT_TRUE(reply.make_answer(bytes, body));
  std::memset(body.data(), 'r', bytes);
  reply.send(std::move(body));
}

class ServedCalls : public ::testing::Test {
 protected:
  ServedCalls() {
    LoopOptions options;
    options.clock = &clock_;
    loop_ = Loop::create(options).value();
    host_.memory.emplace(std::make_shared<MemoryBudget>(10'000));
    host_.workers = workers_.get();
    sink_ = std::make_unique<NotingSink>(*loop_, *host_.memory);
    method_.key.name = "work";
  }
  ~ServedCalls() override {
    EXPECT_EQ(host_.running.get(), 0u) << "a record was left";
    EXPECT_EQ(host_.memory->free(), 10'000u) << "memory that was charged did not come back";
  }

  void handler(void (*function)(const MethodEntry&, ServedCall&), bool delayed = false) {
    method_.kind = HandlerKind::kRecord;
    method_.serve_record = function;
    method_.delayed = delayed;
  }
  void coroutine(Task<void> (*function)(const MethodEntry*, ServedCall*)) {
    method_.kind = HandlerKind::kCoroutine;
    method_.serve_coroutine = function;
  }
  /// The record, which the caller need not look at again.
  ServedCall& start(std::string_view body = "ask", Deadline deadline = {}) {
    EXPECT_TRUE(host_.memory->try_reserve(100));
    ServedRequest request{
        .id = 5, .kept{*host_.memory, 100}, .deadline = deadline, .answer_bytes_max = answer_bytes_max_};
    request.kept.copy(as_bytes(body));
    request.body = request.kept.bytes();
    auto* call = new ServedCall(*sink_, host_, *loop_, method_, std::move(request));
    calls_.push_back(*call);
    call->start();
    return *call;
  }
  ServedCall& serve(std::string_view body = "ask", Deadline deadline = {}) {
    ServedCall& call = start(body, deadline);
    loop_->run_until_idle();
    return call;
  }

  std::uint32_t answer_bytes_max_ = 1000;
  ManualClock clock_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<CallWorkers> workers_ = CallWorkers::start(1, 1, 4).value();
  CallsHost host_;
  MethodEntry method_;
  std::unique_ptr<NotingSink> sink_;
  IntrusiveList<ServedCall, ServedCallTag> calls_;
};

std::coroutine_handle<> g_suspended;
struct Suspend {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) noexcept { g_suspended = coroutine; }
  void await_resume() const noexcept {}
};

Task<void> suspend_then_answer(const MethodEntry*, ServedCall* call) {
  co_await Suspend{};
  co_await room_for(*call);
  answer_with_text(*call, call->cancelled_anywhere() ? "cancelled" : "told");
}

TEST_F(ServedCalls, AnOrdinaryHandlerAnswersAndTheRecordIsGone) {
  handler([](const MethodEntry&, ServedCall& call) {
    EXPECT_EQ(as_text(call.body()), "ask");
    EXPECT_EQ(call.context().connection_id(), 77u);
    EXPECT_EQ(call.context().remote_endpoint(), "test://there");
    answer_with_text(call, "told");
  });
  serve();
  EXPECT_THAT(sink_->answers, ElementsAre("told"));
  EXPECT_EQ(sink_->forgotten, 1);
}

TEST_F(ServedCalls, AnAttachmentGoesBehindTheAnswerAndItsSenderHearsOfIt) {
  static bool sent = false;
  sink_->expects_attachment = true;
  handler([](const MethodEntry&, ServedCall& call) {
    Buffer buffer = Buffer::try_allocate(3).value();
    std::memcpy(buffer.mutable_bytes().data(), "xyz", 3);
    call.context().set_attachment(std::move(buffer));
    call.context().on_answer_sent([](bool left) { sent = left; });
    answer_with_text(call, "told");
  });
  serve();
  ASSERT_EQ(sink_->attachments.size(), 1u);
  EXPECT_EQ(as_text(sink_->attachments.front().owner().bytes()), "xyz");
  EXPECT_TRUE(sent);
}

TEST_F(ServedCalls, AnAttachmentInManyPlacesGoesOutWithItsOwnerAndWithoutTheHandlersArray) {
  static std::weak_ptr<std::string> memory;
  sink_->expects_attachment = true;
  handler([](const MethodEntry&, ServedCall& call) {
    const auto text = std::make_shared<std::string>("hello there");
    memory = text;
    const std::vector<Bytes> runs{as_bytes(*text).last(5), as_bytes(*text).first(6)};
    call.context().set_attachment({runs, text});
    answer_with_text(call, "told");
  });
  serve();
  EXPECT_EQ(sink_->failures.size(), 0u);
  ASSERT_EQ(sink_->attachments.size(), 1u);
  const AttachmentView view = sink_->attachments.front().view();
  ASSERT_EQ(view.count(), 2u);
  EXPECT_EQ(as_text(view.run(0)), "there");
  EXPECT_EQ(as_text(view.run(1)), "hello ");
  EXPECT_FALSE(memory.expired());
  sink_->attachments.clear();
  EXPECT_TRUE(memory.expired());
}

TEST_F(ServedCalls, AnAttachmentThatCannotBeFailsTheCallWithItsFault) {
  static std::weak_ptr<std::string> memory;
  handler([](const MethodEntry&, ServedCall& call) {
    const auto text = std::make_shared<std::string>("hello there");
    memory = text;
    call.context().set_attachment({AttachmentView::strided(as_bytes(*text), 3, 5, 5), text});
    answer_with_text(call, "told");
  });
  serve();
  EXPECT_THAT(sink_->answers, IsEmpty());
  ASSERT_EQ(sink_->failures.size(), 1u);
  EXPECT_EQ(sink_->failures[0].code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string{sink_->failures[0].message()}, HasSubstr("CallContext::set_attachment()"));
  EXPECT_THAT(std::string{sink_->failures[0].message()}, HasSubstr("leave the memory"));
  EXPECT_TRUE(memory.expired());
}

TEST_F(ServedCalls, AnAttachmentOfACallThatFailsEndsItsOwner) {
  static std::weak_ptr<int> owner;
  handler([](const MethodEntry&, ServedCall& call) {
    const auto its = std::make_shared<int>(1);
    owner = its;
    call.context().set_attachment({AttachmentView{as_bytes("never sent")}, its});
    call.fail({StatusCode::kNotFound, Layer::kUser, "nothing there"});
  });
  serve();
  EXPECT_EQ(sink_->failures.size(), 1u);
  EXPECT_TRUE(owner.expired());
}

TEST_F(ServedCalls, WhoWaitsForAnAnswerThatIsNeverSentHearsSo) {
  static int heard = -1;
  handler([](const MethodEntry&, ServedCall& call) {
    call.context().on_answer_sent([](bool left) { heard = left ? 1 : 0; });
    call.fail({StatusCode::kNotFound, Layer::kUser, "nothing there"});
  });
  serve();
  EXPECT_EQ(heard, 0);
  EXPECT_EQ(sink_->failures.front().code(), StatusCode::kNotFound);
}

TEST_F(ServedCalls, AnAnswerThatTheSinkRefusesEndsTheCallOnce) {
  sink_->answer_max = 2;
  handler([](const MethodEntry&, ServedCall& call) {
    answer_with_text(call, "told");
    call.fail({StatusCode::kInternal, Layer::kUser, "a second outcome"});
  });
  serve();
  EXPECT_THAT(sink_->answers, IsEmpty());
  EXPECT_EQ(sink_->failures.size(), 1u);
}

TEST_F(ServedCalls, AnAnswerThatCannotBeEncodedIsTakenBackAndAnotherGivenInItsPlace) {
  handler([](const MethodEntry&, ServedCall& call) {
    std::byte* body = call.begin_answer(4);
    ASSERT_NE(body, nullptr);
    call.take_back_answer(body);
    call.fail({StatusCode::kUnknown, Layer::kUser, "the hook threw"});
  });
  serve();
  EXPECT_THAT(sink_->answers, IsEmpty());
  ASSERT_EQ(sink_->failures.size(), 1u);
  EXPECT_EQ(sink_->failures.front().message(), "the hook threw");
}

TEST_F(ServedCalls, AreCountedWhileTheyRunAndByTheirEnd) {
  MethodCounters& counters = host_.calls.of(method_);
  handler([](const MethodEntry&, ServedCall& call) {
    EXPECT_EQ(call.method().key.name, "work");
    answer_with_text(call, "told");
  });
  serve();
  EXPECT_EQ(counters.answered.get(), 1u);
  EXPECT_EQ(counters.running.get(), 0u);
  coroutine(&suspend_then_answer);
  ServedCall& lost = serve();
  EXPECT_EQ(counters.running.get(), 1u);
  EXPECT_EQ(counters.answered.get(), 1u);
  lost.orphan();
  EXPECT_EQ(counters.dropped.get(), 1u);
  EXPECT_EQ(counters.running.get(), 1u) << "its handler goes on";
  g_suspended.resume();
  loop_->run_until_idle();
  EXPECT_EQ(counters.running.get(), 0u);
  EXPECT_EQ(counters.answered.get(), 1u);
  EXPECT_EQ(counters.dropped.get(), 1u);
}

TEST_F(ServedCalls, BadArgumentsAreCountedForWhatTheyAre) {
  handler([](const MethodEntry&, ServedCall& call) {
    call.refuse_arguments({StatusCode::kInvalidArgument, Layer::kCodec, "no text"});
  });
  serve();
  EXPECT_THAT(sink_->refusals, ElementsAre(RefusalReason::kBadArguments));
}

TEST_F(ServedCalls, ACoroutineAnswersWhenItGetsThere) {
  coroutine(&suspend_then_answer);
  serve();
  EXPECT_THAT(sink_->answers, IsEmpty());
  g_suspended.resume();
  loop_->run_until_idle();
  EXPECT_THAT(sink_->answers, ElementsAre("told"));
}

TEST_F(ServedCalls, ACoroutineWithAnAnswerWaitsForRoom) {
  coroutine(&suspend_then_answer);
  serve();
  sink_->room = false;
  g_suspended.resume();
  loop_->run_until_idle();
  EXPECT_THAT(sink_->answers, IsEmpty());
  sink_->room = true;
  sink_->wake_room_waiter();
  loop_->run_until_idle();
  EXPECT_THAT(sink_->answers, ElementsAre("told"));
}

TEST_F(ServedCalls, AfterThePeersCancelTheAnswerIsDroppedAndTheEndIsTold) {
  coroutine(&suspend_then_answer);
  ServedCall& call = serve();
  call.cancel_by_peer();
  EXPECT_TRUE(call.scope().cancelled());
  EXPECT_THAT(sink_->failures, IsEmpty()) << "its handler still runs";
  g_suspended.resume();
  loop_->run_until_idle();
  EXPECT_THAT(sink_->answers, IsEmpty());
  ASSERT_EQ(sink_->failures.size(), 1u);
  EXPECT_EQ(sink_->failures.front().code(), StatusCode::kCancelled);
}

TEST_F(ServedCalls, ItsDeadlineCancelsItsHandlerWhichMayStillAnswer) {
  coroutine(&suspend_then_answer);
  serve("ask", Deadline::after(clock_.now(), 5ms));
  clock_.set(clock_.now() + 6ms);
  loop_->run_until_idle();
  g_suspended.resume();
  loop_->run_until_idle();
  EXPECT_THAT(sink_->answers, ElementsAre("cancelled"));
}

TEST_F(ServedCalls, WithoutItsConnectionItLivesUntilItsHandlerEnds) {
  coroutine(&suspend_then_answer);
  ServedCall& call = serve();
  call.orphan();
  EXPECT_EQ(sink_->forgotten, 1);
  sink_.reset();
  EXPECT_EQ(host_.running.get(), 1u);
  EXPECT_TRUE(call.context().remote_endpoint().empty());
  call.context().connection_tag() = std::make_shared<int>(1);
  g_suspended.resume();
  loop_->run_until_idle();
  EXPECT_EQ(host_.running.get(), 0u);
}

TEST_F(ServedCalls, AReplyThatIsDroppedSaysSo) {
  handler([](const MethodEntry&, ServedCall& call) { detail::ReplyRight dropped{call}; }, true);
  serve();
  ASSERT_EQ(sink_->failures.size(), 1u);
  EXPECT_THAT(sink_->failures.front().message(), HasSubstr("dropped its Reply"));
}

// Of a body whose length is no multiple of 8 the end is written.
TEST_F(ServedCalls, ALongReplyIsSentFromWhereItWasEncoded) {
  static const std::byte* encoded_at;
  handler(
      [](const MethodEntry&, ServedCall& call) {
        ReplyRight reply{call};
        AnswerBody body;
        ASSERT_TRUE(reply.make_answer(LentRuns::kRunBytesMin + 3, body));
        std::memset(body.data(), 'r', LentRuns::kRunBytesMin + 3);
        encoded_at = body.data();
        reply.send(std::move(body));
      },
      true);
  answer_bytes_max_ = sink_->answer_max = 2 * LentRuns::kRunBytesMin;
  sink_->lends = true;
  loop_->post([this] { start(); });  // where the body is charged by nobody but the connection
  loop_->run_until_idle();
  ASSERT_THAT(sink_->answers, ElementsAre("rrr"));
  ASSERT_EQ(sink_->runs.size(), 1u);
  EXPECT_EQ(sink_->runs[0].data(), encoded_at);
  EXPECT_EQ(as_text(sink_->runs[0]), std::string(LentRuns::kRunBytesMin, 'r'));
  EXPECT_EQ(loop_->chunks().chunks_out(), 1u);
  sink_->chunk.reset();
  EXPECT_EQ(loop_->chunks().chunks_out(), 0u);
}

TEST_F(ServedCalls, AReplyThatIsUsedLaterWaitsForRoomInTheRecord) {
  static std::unique_ptr<detail::ReplyRight> reply;
  handler([](const MethodEntry&, ServedCall& call) { reply = std::make_unique<detail::ReplyRight>(call); },
          true);
  serve();
  sink_->room = false;
  send(*reply, 3);
  loop_->run_until_idle();
  EXPECT_THAT(sink_->answers, IsEmpty());
  EXPECT_EQ(host_.running.get(), 1u);
  sink_->room = true;
  sink_->wake_room_waiter();
  loop_->run_until_idle();
  EXPECT_THAT(sink_->answers, ElementsAre("rrr"));
  reply.reset();
}

TEST_F(ServedCalls, AnAnswerOfAnotherThreadIsChargedUntilTheLoopHasTakenIt) {
  static std::unique_ptr<detail::ReplyRight> reply;
  handler([](const MethodEntry&, ServedCall& call) { reply = std::make_unique<detail::ReplyRight>(call); },
          true);
  serve();
  {
    AnswerBody given_up;
    ASSERT_TRUE(reply->make_answer(200, given_up));
    EXPECT_EQ(host_.memory->free(), 10'000u - 100 - 200) << "also while it is encoded";
  }
  send(*reply, 300);
  EXPECT_EQ(host_.memory->free(), 10'000u - 100 - 300);
  loop_->run_until_idle();
  EXPECT_THAT(sink_->answers, ElementsAre(std::string(300, 'r')));
  EXPECT_EQ(host_.memory->free(), 10'000u);
  reply.reset();
}

TEST_F(ServedCalls, AnAnswerOfAnotherThreadForWhichThereIsNoMemoryBecomesAFailure) {
  static std::unique_ptr<detail::ReplyRight> reply;
  handler([](const MethodEntry&, ServedCall& call) { reply = std::make_unique<detail::ReplyRight>(call); },
          true);
  serve();
  const std::size_t taken = host_.memory->free() - 299;
  ASSERT_TRUE(host_.memory->try_reserve(taken));
  AnswerBody body;
  EXPECT_FALSE(reply->make_answer(300, body));
  EXPECT_TRUE(reply->used());
  loop_->run_until_idle();
  host_.memory->release(taken);
  EXPECT_THAT(sink_->answers, IsEmpty());
  ASSERT_EQ(sink_->failures.size(), 1u);
  EXPECT_EQ(sink_->failures.front().code(), StatusCode::kResourceExhausted);
  reply.reset();
}

TEST_F(ServedCalls, TheTextOfAFailureOfAnotherThreadIsChargedUntilTheLoopHasTakenIt) {
  static std::unique_ptr<detail::ReplyRight> reply;
  handler([](const MethodEntry&, ServedCall& call) { reply = std::make_unique<detail::ReplyRight>(call); },
          true);
  const std::string text(3000, 't');
  serve();
  reply->fail({StatusCode::kNotFound, Layer::kUser, text});
  EXPECT_EQ(host_.memory->free(), 10'000u - 100 - 3000);
  loop_->run_until_idle();
  ASSERT_EQ(sink_->failures.size(), 1u);
  EXPECT_EQ(sink_->failures.front().message(), text);
  EXPECT_EQ(host_.memory->free(), 10'000u);
  serve();
  const std::size_t taken = host_.memory->free() - 2999;
  ASSERT_TRUE(host_.memory->try_reserve(taken));
  reply->fail({StatusCode::kNotFound, Layer::kUser, text});
  loop_->run_until_idle();
  ASSERT_EQ(sink_->failures.size(), 2u);
  EXPECT_EQ(sink_->failures.back().code(), StatusCode::kNotFound);
  EXPECT_EQ(sink_->failures.back().message(), text.substr(0, 1024)) << "there is no memory for all of it";
  host_.memory->release(taken);
  reply.reset();
}

TEST_F(ServedCalls, TheTextOfABlockingHandlersFailureIsChargedUntilTheLoopHasTakenIt) {
  static std::latch* published = nullptr;
  std::latch latch{1};
  published = &latch;
  handler([](const MethodEntry&, ServedCall& call) {
    call.fail({StatusCode::kNotFound, Layer::kUser, std::string(3000, 't')});
    published->count_down();
  });
  method_.kind = HandlerKind::kBlocking;
  start();
  latch.wait();
  EXPECT_EQ(host_.memory->free(), 10'000u - 100 - 3000);
  while (sink_->failures.empty()) loop_->run_once(1s);
  EXPECT_EQ(sink_->failures.front().message().size(), 3000u);
  loop_->run_until_idle();
}

TEST_F(ServedCalls, TheTextOfAFailureThatWaitsForRoomIsChargedOrCut) {
  handler([](const MethodEntry&, ServedCall& call) { call.hold(); });
  ServedCall& call = serve();
  const Status failure{StatusCode::kNotFound, Layer::kUser, std::string(3000, 't')};
  sink_->answer_memory = 3000;
  EXPECT_EQ(keep_failure(call, failure).message().size(), 3000u);
  EXPECT_EQ(call.request().connection_charge, 3000u);
  sink_->memory_is_others = true;
  EXPECT_EQ(keep_failure(call, failure).message().size(), 1024u);
  EXPECT_EQ(keep_failure(call, failure).code(), StatusCode::kNotFound);
  EXPECT_EQ(call.request().connection_charge, 3000u);
  call.fail(failure);
  call.let_go();
}

TEST_F(ServedCalls, AnAnswerThatWaitsForRoomIsChargedUntilItIsSent) {
  static std::unique_ptr<detail::ReplyRight> reply;
  handler([](const MethodEntry&, ServedCall& call) { reply = std::make_unique<detail::ReplyRight>(call); },
          true);
  ServedCall& call = serve();
  sink_->room = false;
  send(*reply, 300);
  loop_->run_until_idle();
  EXPECT_EQ(host_.memory->free(), 10'000u - 100 - 300);
  EXPECT_EQ(call.request().connection_charge, 300u);
  sink_->room = true;
  sink_->wake_room_waiter();
  loop_->run_until_idle();
  EXPECT_THAT(sink_->answers, ElementsAre(std::string(300, 'r')));
  reply.reset();
}

TEST_F(ServedCalls, AnAnswerThatWaitsForRoomAndForWhichThereIsNoMemoryBecomesAFailure) {
  static std::unique_ptr<detail::ReplyRight> reply;
  handler([](const MethodEntry&, ServedCall& call) { reply = std::make_unique<detail::ReplyRight>(call); },
          true);
  serve();
  sink_->room = false;
  sink_->answer_memory = 299;
  send(*reply, 300);
  loop_->run_until_idle();
  EXPECT_EQ(host_.memory->free(), 10'000u - 100);
  sink_->room = true;
  sink_->wake_room_waiter();
  loop_->run_until_idle();
  EXPECT_THAT(sink_->answers, IsEmpty());
  ASSERT_EQ(sink_->failures.size(), 1u);
  EXPECT_EQ(sink_->failures.front().code(), StatusCode::kResourceExhausted);
  reply.reset();
}

TEST_F(ServedCalls, AFailureThatWaitsForRoomArrivesAsItIsHoweverMuchMemoryOthersHold) {
  static std::unique_ptr<detail::ReplyRight> reply;
  handler([](const MethodEntry&, ServedCall& call) { reply = std::make_unique<detail::ReplyRight>(call); },
          true);
  serve();
  sink_->room = false;
  sink_->memory_is_others = true;
  reply->fail({StatusCode::kNotFound, Layer::kUser, "no such key"});
  loop_->run_until_idle();
  sink_->room = true;
  sink_->wake_room_waiter();
  loop_->run_until_idle();
  ASSERT_EQ(sink_->failures.size(), 1u);
  EXPECT_EQ(sink_->failures.front().code(), StatusCode::kNotFound);
  reply.reset();
}

TEST_F(ServedCalls, ABlockingHandlerRunsElsewhereAndItsAnswerComesFromTheLoop) {
  static std::thread::id ran_on;
  handler([](const MethodEntry&, ServedCall& call) {
    ran_on = std::this_thread::get_id();
    EXPECT_EQ(call.context().local_endpoint(), "test://here");
    answer_with_text(call, "worked");
  });
  method_.kind = HandlerKind::kBlocking;
  method_.takes_attachment = true;
  serve();
  while (host_.running.get() != 0) loop_->run_once(1ms);
  EXPECT_NE(ran_on, std::this_thread::get_id());
  EXPECT_THAT(sink_->answers, ElementsAre("worked"));
}

/// Keeps the only worker busy until it is let go.
struct BusyWorker {
  static inline std::latch* taken = nullptr;
  static inline std::latch* open = nullptr;
  static inline int runs = 0;
  static void work(const MethodEntry&, ServedCall& call) {
    if (++runs == 1) {
      taken->count_down();
      open->wait();
    }
    answer_with_text(call, "worked");
  }
};

class WaitingForAWorker : public ServedCalls {
 protected:
  WaitingForAWorker() {
    BusyWorker::taken = &taken_;
    BusyWorker::open = &open_;
    BusyWorker::runs = 0;
    handler(&BusyWorker::work);
    method_.kind = HandlerKind::kBlocking;
    serve();
    taken_.wait();
  }
  void finish() {
    open_.count_down();
    while (host_.running.get() != 0) loop_->run_once(1ms);
  }

  std::latch taken_{1};
  std::latch open_{1};
};

TEST_F(WaitingForAWorker, ForHalfOfItsTimeACallIsNotRunAndToldSo) {
  serve("late", Deadline::after(clock_.now(), 10ms));
  serve("in time", Deadline::after(clock_.now(), 20ms));
  clock_.set(clock_.now() + 6ms);
  finish();
  EXPECT_EQ(BusyWorker::runs, 2);
  EXPECT_THAT(sink_->refusals, ElementsAre(RefusalReason::kBehind));
  ASSERT_EQ(sink_->failures.size(), 1u);
  EXPECT_EQ(sink_->failures.front().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(sink_->failures.front().message(), HasSubstr("not run"));
}

TEST_F(WaitingForAWorker, ACallThatIsCancelledLeavesAtOnce) {
  for (int i = 0; i < 4; ++i) serve("ask").cancel_by_peer();
  EXPECT_EQ(host_.running.get(), 1u) << "those that were cancelled hold nothing";
  EXPECT_EQ(sink_->failures.size(), 4u) << "the peer is told that they have ended";
  for (int i = 0; i < 4; ++i) serve("ask");
  EXPECT_THAT(sink_->refusals, IsEmpty()) << "their places are free";
  finish();
  EXPECT_EQ(BusyWorker::runs, 5);
}

TEST_F(WaitingForAWorker, ACallWhoseTimeIsOverLeavesAtOnceAndIsToldSo) {
  serve("ask", Deadline::after(clock_.now(), 5ms));
  clock_.set(clock_.now() + 6ms);
  loop_->run_until_idle();
  EXPECT_EQ(host_.running.get(), 1u);
  ASSERT_EQ(sink_->failures.size(), 1u);
  EXPECT_EQ(sink_->failures.front().code(), StatusCode::kDeadlineExceeded);
  finish();
  EXPECT_EQ(BusyWorker::runs, 1);
}

TEST_F(WaitingForAWorker, ACallWhoseConnectionIsGoneLeavesAtOnce) {
  serve("ask").orphan();
  EXPECT_EQ(host_.running.get(), 1u);
  finish();
  EXPECT_EQ(BusyWorker::runs, 1);
}

TEST_F(ServedCalls, ClosingItsConnectionComesBehindTheAnswer) {
  handler([](const MethodEntry&, ServedCall& call) {
    call.context().close_connection();
    answer_with_text(call, "last");
  });
  serve();
  EXPECT_THAT(sink_->answers, ElementsAre("last"));
  EXPECT_TRUE(sink_->finished);
}

TEST(AnswerWishesDeathTest, ACallbackThatThrowsEndsTheProcessWithItsName) {
  const auto end_with = [](auto thrown) {
    AnswerWishes wishes;
    wishes.on_sent = [thrown](bool) { throw thrown; };
    wishes.end(true);
  };
  EXPECT_DEATH(end_with(std::runtime_error{"no luck"}),
               "on_answer_sent.. must not throw, and threw: no luck");
  EXPECT_DEATH(end_with(42), "on_answer_sent.. must not throw, and threw: not derived");
}

TEST_F(ServedCalls, AnInlineCallNeedsNothingButASink) {
  InlineCall call{*sink_, 9, as_bytes("ask")};
  answer_with_text(call, "told");
  call.refuse_arguments({StatusCode::kInvalidArgument, Layer::kCodec, "no text"});
  EXPECT_THAT(sink_->answers, ElementsAre("told"));
  EXPECT_THAT(sink_->refusals, ElementsAre(RefusalReason::kBadArguments));
}

// The part of a large chunk that is not filled counts, so an answer keeps such a chunk only where its request
// is most of that.
TEST_F(ServedCalls, AnInlineCallKeepsALargeChunkForItsAnswerOnlyWhereItsBodyIsMostOfThat) {
  constexpr std::size_t kKiB = 1024;
  const auto keeps = [&](std::size_t capacity, std::size_t body) {
    const ChunkRef chunk = loop_->chunks().acquire(capacity);
    EXPECT_EQ(chunk->capacity(), capacity);
    const InlineCall call{*sink_, 9, Bytes{chunk->data(), body}, &chunk};
    return static_cast<bool>(request_chunk(call));
  };
  EXPECT_FALSE(keeps(64 * kKiB, 15 * kKiB));
  EXPECT_TRUE(keeps(64 * kKiB, 16 * kKiB));
  EXPECT_TRUE(keeps(256 * kKiB, 64 * kKiB));
  EXPECT_FALSE(keeps(5120 * kKiB, 1300 * kKiB));
  EXPECT_TRUE(keeps(5120 * kKiB, 3840 * kKiB));
}

}  // namespace
}  // namespace weft
