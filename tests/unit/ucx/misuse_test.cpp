// SPDX-License-Identifier: Apache-2.0
// What goes wrong in a user's hands: the text says what happened and what to do (UX-1), an end in the wrong
// order ends the process with a sentence (UX-5), and what UCX says goes where the program wants it.
// Capabilities: UX-3.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/sanitizers.hpp"
#include "unit/ucx/pair.hpp"

#if WEFT_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace weft::ucx {

using namespace weft::detail;
namespace {

using testing::Pair;
using testing::text;

bool says(const Status& status, std::string_view words) {
  return status.message().find(words) != std::string_view::npos;
}

TEST(UcxTexts, AHeaderThatIsTooLongIsToldTheLimit) {
  Pair pair{testing::ways().front()};
  const std::vector<std::byte> header(kAmHeaderCopiedMax + 1);
  const Status copied = am_send(pair.to_b, 1, Bytes{header}, text("x")).abandon().status();
  EXPECT_EQ(copied.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(says(copied, std::to_string(kAmHeaderCopiedMax))) << copied.to_string();
  EXPECT_TRUE(says(copied, "as Memory")) << copied.to_string();
  const Memory large = Memory::allocate(pair.a->am_header_bytes_max() + 1);
  const Status given = am_send(pair.to_b, 1, large, text("x")).abandon().status();
  EXPECT_EQ(given.code(), StatusCode::kOutOfRange);
  EXPECT_TRUE(says(given, "am_header_bytes_max()")) << given.to_string();
}

TEST(UcxTexts, AForcedCloseInModeNoneIsToldWhatDoesInstead) {
  Pair pair{testing::ways()[1]};
  ASSERT_EQ(pair.mode, ErrorMode::kNone);
  const auto close = [](Endpoint& endpoint) -> Task<Status> {
    const Result<void> closed = co_await endpoint.close(CloseMode::kForce);
    co_return closed.status();
  };
  const Status status = pair.run(close(pair.to_b));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(says(status, "CloseMode::kFlush")) << status.to_string();
  EXPECT_NE(pair.to_b.handle(), nullptr);
}

TEST(UcxTexts, ARegionOfNoBytesIsToldThatItNeedsSome) {
  const auto context = testing::make_context(testing::ways().front());
  for (const Status& status : {MemoryRegion::allocate(context, 0).status(),
                               MemoryRegion::register_memory(context, Memory::allocate(0)).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE(says(status, "at least one byte")) << status.to_string();
  }
}

TEST(UcxTexts, APeersSharedMemoryThatIsGoneIsNotToldAsMemoryThatIsOut) {
  const Status status = to_status(UCS_ERR_SHMEM_SEGMENT, "connecting");
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(says(status, "its owner has ended")) << status.to_string();
}

// UCX keeps about 100 bytes of each (docs/pitfalls/ucx.md, "Connecting to a worker that has ended").
Result<Endpoint> connect_in_vain(Worker& worker, Bytes address, ErrorMode mode) {
#if WEFT_ADDRESS_SANITIZER
  const __lsan::ScopedDisabler known;
#endif
  return Endpoint::connect(worker, address, {.error_mode = mode});
}

TEST(UcxTexts, ConnectingToAWorkerThatHasEndedSaysSoWhereUcxKnows) {
  const testing::Way way{"posix_alone", {"posix"}, ErrorMode::kNone};
  const auto context = testing::make_context(way);
  const auto loop = Loop::create({.mode = WaitMode::kBusy}).value();
  const auto here = Worker::create(*loop, context).value();
  auto there = Worker::create(*loop, context).value();
  const auto address = there->address().value();
  there.reset();
  const Status status = connect_in_vain(*here, address, way.mode).status();
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(says(status, "memory is out")) << status.to_string();
}

void end_a_worker_before_its_receiver() {
  Pair pair{testing::ways().front()};
  const AmReceiver receiver{*pair.b, 1};
  pair.b.reset();
}

void end_a_worker_before_its_message() {
  Pair pair{testing::ways().front()};
  std::optional<AmReceiver> receiver{std::in_place, *pair.b, std::uint16_t{1}};
  static_cast<void>(am_send(pair.to_b, 1, Bytes{}, text("x")).abandon());
  std::optional<AmMessage> message;
  pair.until([&] { return (message = receiver->try_receive()).has_value(); });
  receiver.reset();
  pair.b.reset();
}

void end_a_worker_before_its_listener() {
  Pair pair{testing::ways().front()};
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto listener =
      Listener::create(*pair.b, reinterpret_cast<const sockaddr*>(&any), sizeof any).value();
  pair.b.reset();
}

void drop_a_send_of_borrowed_bytes() {
  Pair pair{testing::ways().front()};
  auto sending = tag_send_sync(pair.to_b, 1, Memory::unsafe_borrow(as_bytes(std::string_view{"borrowed"})));
}

void end_a_loop_before_its_workers() {
  Pair pair{testing::ways().front()};
  pair.loop.reset();
}

TEST(UcxOrderDeathTest, AnEndInTheWrongOrderEndsTheProcessWithASentence) {
  EXPECT_DEATH(end_a_worker_before_its_receiver(), "ended before an AmReceiver");
  EXPECT_DEATH(end_a_worker_before_its_message(), "ended before an AmReceiver");
  EXPECT_DEATH(end_a_worker_before_its_listener(), "Listener of it: they end first");
  EXPECT_DEATH(end_a_loop_before_its_workers(), "a loop was destroyed before a poller of it");
}

TEST(UcxMemoryDeathTest, BorrowedBytesThatAreDroppedUnderAnOperationEndTheProcessWithASentence) {
  EXPECT_DEATH(drop_a_send_of_borrowed_bytes(), "borrowed memory was dropped while the layer below used it");
}

class KeepingLogger final : public Logger {
 public:
  void write(LogLevel level, std::string_view message) override {
    levels.push_back(level);
    messages.emplace_back(message);
  }
  std::vector<LogLevel> levels;
  std::vector<std::string> messages;
};

// UCX warns of a setting that none of the transports which a worker opened has taken.
TEST(UcxLog, SegmentsOfTcpAreASettingThatUcxTakes) {
  KeepingLogger logger;
  log_to(&logger);
  const auto loop = Loop::create().value();
  for (const std::vector<std::string>& transports :
       {std::vector<std::string>{"tcp"}, {"tcp", "posix"}, {"posix"}}) {
    auto context = Context::create({.features = {.active_messages = true},
                                    .transports = transports,
                                    .devices = {"lo"},
                                    .tcp_segment_bytes = 65536});
    EXPECT_TRUE(Worker::create(*loop, *std::move(context)).ok());
  }
  log_to(nullptr);
  EXPECT_TRUE(logger.messages.empty()) << logger.messages.front();
}

TEST(UcxLog, WhatUcxSaysGoesToTheLoggerAndNowhereElse) {
  KeepingLogger logger;
  const auto fail = [] {
    const auto made = Context::create({.features = {.tag = true},
                                       .transports = {"no_such_transport"},
                                       .settings = {{"LOG_LEVEL", "warn"}}});
    EXPECT_FALSE(made.ok());
  };
  log_to(&logger);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  fail();
  const std::string written =
      ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
  log_to(nullptr);
  EXPECT_EQ(written, "");
  ASSERT_GE(logger.messages.size(), 1u);
  EXPECT_EQ(logger.levels.front(), LogLevel::kWarning);
  EXPECT_NE(logger.messages.front().find("ucx: transport 'no_such_transport' is not available"),
            std::string::npos)
      << logger.messages.front();
  const std::size_t before = logger.messages.size();
  ::testing::internal::CaptureStdout();
  fail();
  EXPECT_NE(::testing::internal::GetCapturedStdout().find("no_such_transport"), std::string::npos);
  EXPECT_EQ(logger.messages.size(), before);
  // Of the process: as the other tests want it.
  EXPECT_TRUE(Context::create({.features = {.tag = true}, .settings = {{"LOG_LEVEL", "fatal"}}}).ok());
}

}  // namespace
}  // namespace weft::ucx
