// SPDX-License-Identifier: Apache-2.0
// How far attachments are and how fast they go, on a clock that stands still.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "simulation/world.hpp"

namespace weft::simulation {
namespace {

constexpr std::size_t kPiece = 128 * 1024;
constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::uint64_t kRate = 10 * kMiB;

/// Returns how long `bytes` take at `rate`, when the first piece waits for nobody.
Duration time_for(std::size_t bytes, std::uint64_t rate) {
  return std::chrono::nanoseconds{(bytes - kPiece) * 1'000'000'000 / rate};
}

/// Counts that the user was told.
struct Told {
  explicit Told(TransferProgress& progress, std::uint64_t step = 0) {
    progress.on_change(
        [this](const TransferProgress& now) {
          sent.push_back(now.sent());
          received.push_back(now.received());
        },
        step);
  }
  bool grew() const {
    for (std::size_t i = 1; i < sent.size(); ++i) {
      if (sent[i] < sent[i - 1] || received[i] < received[i - 1]) return false;
      if (sent[i] + received[i] == sent[i - 1] + received[i - 1]) return false;
    }
    return !sent.empty();
  }
  std::vector<std::uint64_t> sent;
  std::vector<std::uint64_t> received;
};

class Pacing : public ::testing::Test {
 protected:
  void connect(const RpcLimits& limits = {}) {
    world.emplace(MemoryOptions{}, LoopOptions{}, limits);
    std::optional<Result<void>> connected;
    scope.emplace();
    scope->spawn([](Client* client, auto* to) -> Task<void> { to->emplace(co_await client->connect()); },
                 &world->client(), &connected);
    ASSERT_TRUE(world->run_until([&] { return connected.has_value(); }, 1s));
    ASSERT_TRUE(connected->ok());
  }
  auto take(const CallOptions& options) {
    const auto bytes = static_cast<std::uint32_t>(options.attachment.bytes());
    return world->client().start<&Service::take>(options, 7u, bytes);
  }
  auto give(const CallOptions& options, std::size_t bytes) {
    return world->client().start<&Service::give>(options, 8u, static_cast<std::uint32_t>(bytes));
  }
  template <typename Call>
  Duration time_of(Call& call) {
    const Duration began = world->elapsed();
    EXPECT_TRUE(world->run_until([&] { return call.done(); }, 1h));
    return world->elapsed() - began;
  }
  template <typename Call>
  StatusCode code_of(Call call) {
    std::optional<StatusCode> code;
    scope->spawn(
        [](Call its, std::optional<StatusCode>* to) -> Task<void> {
          const Result<std::uint32_t> result = co_await std::move(its);
          to->emplace(result.status().code());
        },
        std::move(call), &code);
    EXPECT_TRUE(world->run_until([&] { return code.has_value(); }, 1h));
    return code.value_or(StatusCode::kInternal);
  }

  std::vector<std::byte> memory{8 * kMiB};
  std::optional<World> world;
  std::optional<Scope> scope;
};

TEST_F(Pacing, ProgressOfARequestGrowsToTheWhole) {
  connect();
  TransferProgress progress;
  const Told told{progress};
  CallOptions options{.attachment = Bytes{memory}};
  options.progress = &progress;
  auto call = take(options);
  time_of(call);
  EXPECT_EQ(progress.sent(), memory.size());
  EXPECT_EQ(progress.to_send(), memory.size());
  EXPECT_EQ(progress.to_receive(), 0u);
  EXPECT_TRUE(told.grew());
  EXPECT_GT(told.sent.size(), 4u);
}

TEST_F(Pacing, ProgressOfAnAnswerGrowsToTheWhole) {
  connect();
  TransferProgress progress;
  const Told told{progress, kMiB};
  CallOptions options;
  options.landing = memory;
  options.progress = &progress;
  auto call = give(options, memory.size());
  time_of(call);
  EXPECT_EQ(progress.received(), memory.size());
  EXPECT_EQ(progress.to_receive(), memory.size());
  EXPECT_EQ(progress.to_send(), 0u);
  EXPECT_TRUE(told.grew());
  EXPECT_GE(told.received.size(), 2u);
  EXPECT_LE(told.received.size(), 8u);
}

TEST_F(Pacing, ProgressOfSmallAttachmentsIsNoneOrAll) {
  connect();
  TransferProgress progress;
  std::vector<std::byte> landing(100);
  CallOptions options{.attachment = Bytes{memory}.first(50), .landing = landing};
  options.progress = &progress;
  auto call = take(options);
  EXPECT_EQ(progress.sent(), 0u);
  time_of(call);
  EXPECT_EQ(progress.sent(), 50u);
  auto answered = give(options, 100);
  EXPECT_EQ(progress.sent(), 0u);
  time_of(answered);
  EXPECT_EQ(progress.sent(), 50u);
  EXPECT_EQ(progress.received(), 100u);
}

TEST_F(Pacing, ProgressStaysWhereItIsWhenTheCallFails) {
  connect();
  TransferProgress progress;
  CallOptions options{.attachment = Bytes{memory}};
  options.progress = &progress;
  options.attachment_rate = kRate;
  auto call = take(options);
  ASSERT_TRUE(world->run_until([&] { return progress.sent() >= 3 * kPiece; }, 1s));
  call.cancel();
  EXPECT_EQ(code_of(std::move(call)), StatusCode::kCancelled);
  const std::uint64_t sent = progress.sent();
  EXPECT_EQ(sent % kPiece, 0u);
  EXPECT_LT(sent, memory.size());
  world->run_until([] { return false; }, 5s);
  EXPECT_EQ(progress.sent(), sent);
}

TEST_F(Pacing, ProgressCountsForOneCallAtATime) {
  connect();
  TransferProgress progress;
  CallOptions options{.attachment = Bytes{memory}};
  options.progress = &progress;
  options.attachment_rate = kRate;
  auto first = take(options);
  EXPECT_EQ(code_of(take(options)), StatusCode::kInvalidArgument) << "before anything has left";
  // Between two pieces nothing of the first is queued.
  ASSERT_TRUE(world->run_until([&] { return progress.sent() >= 3 * kPiece; }, 1s));
  EXPECT_EQ(code_of(take(options)), StatusCode::kInvalidArgument);
  EXPECT_FALSE(first.done());
  EXPECT_GE(progress.sent(), 3 * kPiece) << "one that is refused does not touch the counts";
  time_of(first);
  EXPECT_EQ(progress.sent(), memory.size());
  EXPECT_EQ(code_of(take(options)), StatusCode::kOk) << "when its call has ended it may count for the next";
}

TEST_F(Pacing, ProgressOfACallThatIsDroppedMayCountForTheNext) {
  connect();
  TransferProgress progress;
  CallOptions options{.attachment = Bytes{memory}};
  options.progress = &progress;
  {
    const auto dropped = take(options);
    ASSERT_TRUE(world->run_until([&] { return progress.sent() >= kPiece; }, 1s));
    EXPECT_FALSE(dropped.done());
  }
  EXPECT_EQ(code_of(take(options)), StatusCode::kOk);
  EXPECT_EQ(progress.sent(), memory.size());
}

TEST_F(Pacing, ARateHoldsForTheAttachmentOfACall) {
  connect();
  CallOptions options{.attachment = Bytes{memory}};
  options.attachment_rate = kRate;
  auto call = take(options);
  const Duration expected = time_for(memory.size(), kRate);
  EXPECT_NEAR(static_cast<double>(time_of(call) / 1us), static_cast<double>(expected / 1us), 1000.0);
}

TEST_F(Pacing, CallsAndOtherTransfersPassOneThatIsHeldBack) {
  connect();
  CallOptions options{.attachment = Bytes{memory}};
  options.attachment_rate = kRate;
  auto slow = take(options);
  auto fast = take(CallOptions{.attachment = Bytes{memory}});
  auto small = world->client().start<&Service::plain>(1u);
  EXPECT_LT(time_of(small), 1ms);
  EXPECT_LT(time_of(fast), 1ms);
  EXPECT_FALSE(slow.done());
  EXPECT_GT(time_of(slow), 700ms);
}

TEST_F(Pacing, ARateOfTheConnectionHoldsForAllTogether) {
  RpcLimits limits;
  limits.attachment_rate_max = kRate;
  connect(limits);
  const CallOptions options{.attachment = Bytes{memory}};
  auto first = take(options);
  auto second = take(options);
  auto small = world->client().start<&Service::plain>(1u);
  EXPECT_LT(time_of(small), 1ms);
  const Duration took = time_of(first) + time_of(second);
  const Duration expected = time_for(2 * memory.size(), kRate);
  EXPECT_NEAR(static_cast<double>(took / 1us), static_cast<double>(expected / 1us), 1000.0);
}

TEST_F(Pacing, ARateOfTheConnectionHoldsForAnswers) {
  RpcLimits limits;
  limits.attachment_rate_max = kRate;
  connect(limits);
  auto call = give(CallOptions{.landing = memory}, memory.size());
  const Duration expected = time_for(memory.size(), kRate);
  EXPECT_NEAR(static_cast<double>(time_of(call) / 1us), static_cast<double>(expected / 1us), 1000.0);
}

TEST_F(Pacing, ARateThatTheCallerWantsHoldsForTheAnswer) {
  connect();
  CallOptions options{.landing = memory};
  options.landing_rate = kRate;
  auto slow = give(options, memory.size());
  std::vector<std::byte> other(memory.size());
  auto fast = give(CallOptions{.landing = other}, other.size());
  EXPECT_LT(time_of(fast), 1ms);
  const Duration expected = time_for(memory.size(), kRate);
  EXPECT_NEAR(static_cast<double>(time_of(slow) / 1us), static_cast<double>(expected / 1us), 1000.0);
}

TEST_F(Pacing, AtTheLeastRateATransferIsNotTakenForOneThatStandsStill) {
  connect();
  const RpcLimits limits;
  const std::uint64_t least = (64 * 1024 + kPiece) / 10 + 2;
  CallOptions options{.attachment = Bytes{memory}.first(kMiB)};
  options.timeout = kNoTimeout;
  options.attachment_rate = least;
  auto call = take(options);
  EXPECT_GT(time_of(call), 4 * limits.frame_timeout);
  EXPECT_EQ(code_of(std::move(call)), StatusCode::kOk);
}

TEST_F(Pacing, RatesThatMakeNoSenseAreRefused) {
  connect();
  CallOptions options{.attachment = Bytes{memory}};
  options.attachment_rate = 1000;
  EXPECT_EQ(code_of(take(options)), StatusCode::kInvalidArgument);
  options.attachment_rate = static_cast<std::uint64_t>(-1);
  EXPECT_EQ(code_of(take(options)), StatusCode::kInvalidArgument);
  options.attachment_rate = 0;
  options.landing_rate = static_cast<std::uint64_t>(-1);
  EXPECT_EQ(code_of(take(options)), StatusCode::kInvalidArgument);
  options.landing_rate = 0;
  options.attachment = Bytes{memory}.first(kPiece);
  options.attachment_rate = 1000;
  EXPECT_EQ(code_of(take(options)), StatusCode::kOk) << "one piece is not held back";
}

TEST_F(Pacing, NoTimerRunsWhenNothingWaits) {
  connect();
  CallOptions options{.attachment = Bytes{memory}};
  options.attachment_rate = kRate;
  auto call = take(options);
  ASSERT_FALSE(world->run_until([] { return false; }, 50ms));
  call.cancel();
  EXPECT_EQ(code_of(std::move(call)), StatusCode::kCancelled);
  world->run_until_idle();
  const auto next = world->loop().next_timer();
  ASSERT_TRUE(next.has_value()) << "what the loop and the sessions look after";
  EXPECT_GT(*next - world->loop().now(), 500ms) << "a piece would be due sooner";
}

}  // namespace
}  // namespace weft::simulation
