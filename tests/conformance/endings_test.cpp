// SPDX-License-Identifier: Apache-2.0
// How connections end over every transport: orderly, cut, closed, destroyed, too slow, or by a peer's fault.
#include "conformance/fixture.hpp"
#include "weft/detail/coro/with_scope.hpp"

namespace weft::conformance {

using namespace weft::detail;
namespace {

using wire::FrameType;

class Endings : public ConformanceTest {
 protected:
  // The server hears `stream`, and then the end.
  void say_and_end(std::string_view stream) {
    client_.send_raw(stream);
    client_.connection->finish();
    ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  }
  // Every test may make several connections.
  void hang_up() {
    client_ = Peer{};
    server_ = Peer{};
    run_until_idle();
  }
};

TEST_P(Endings, AfterFinishTheOtherSideMaySendWhatItHasLeft) {
  ASSERT_NO_FATAL_FAILURE(greet());
  client_.request(1, "last request");
  client_.connection->finish();
  // More than any window holds, so that the side that has ended has to say what it received.
  CountedLease& lease = lent(pattern(3'000'001));
  server_.sink.during_frames = [&](std::span<const Frame>) {
    server_.send({.type = FrameType::kAnswer, .id = 1}, pattern(3'000'000));
    server_.send({.type = FrameType::kAnswer,
                  .flags = wire::FrameFlags::kAttachment,
                  .id = 2,
                  .attachment_bytes = lease.bytes.size()});
    EXPECT_TRUE(server_.outbox().append_leased(as_bytes(lease.bytes), lease));
    return Status{};
  };
  ASSERT_TRUE(until([&] { return client_.sink.closed() && server_.sink.closed(); }));
  EXPECT_TRUE(client_.sink.why.ok()) << client_.sink.why.to_string();
  EXPECT_TRUE(server_.sink.why.ok()) << server_.sink.why.to_string();
  ASSERT_EQ(client_.sink.frames.size(), 2u);
  EXPECT_TRUE(client_.sink.frames[0].body == pattern(3'000'000));
  EXPECT_TRUE(client_.sink.frames[1].attachment == lease.bytes);
}

TEST_P(Endings, CloseTellsTheReasonHereAndEndsTheByteStreamThere) {
  ASSERT_NO_FATAL_FAILURE(greet());
  client_.connection->close({StatusCode::kAborted, Layer::kRpc, "enough"});
  EXPECT_FALSE(client_.sink.closed()) << "on_closed came from inside close()";
  ASSERT_TRUE(until([&] { return client_.sink.closed() && server_.sink.closed(); }));
  EXPECT_EQ(client_.sink.why.message(), "enough");
  EXPECT_TRUE(server_.sink.why.ok()) << server_.sink.why.to_string();
}

TEST_P(Endings, CloseInsideACallbackDropsTheRestOfWhatWasReceived) {
  ASSERT_NO_FATAL_FAILURE(greet());
  server_.sink.during_frames = [&](std::span<const Frame>) {
    server_.connection->close({StatusCode::kAborted, Layer::kRpc, "enough"});
    EXPECT_FALSE(server_.sink.closed());
    return Status{};
  };
  for (std::uint64_t id = 0; id < 300; ++id) client_.request(id);
  ASSERT_TRUE(until([&] { return server_.sink.closed() && client_.sink.closed(); }));
  EXPECT_LE(server_.sink.frames.size(), 64u);
  EXPECT_EQ(server_.sink.batches.size(), 1u);
}

TEST_P(Endings, AFailureOfTheSinkClosesWithIt) {
  ASSERT_NO_FATAL_FAILURE(greet());
  server_.sink.during_frames = [](std::span<const Frame>) {
    return Status{StatusCode::kInvalidArgument, Layer::kRpc, "no such thing"};
  };
  client_.request(1);
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.message(), "no such thing");
}

TEST_P(Endings, CloseGivesBackLeasesThatWereNotSent) {
  ASSERT_NO_FATAL_FAILURE(greet());
  server_.connection->pause_receiving();
  CountedLease& lease = lent(pattern(12'000'000));
  client_.request_with(1, lease);
  run_until_idle();
  ASSERT_EQ(lease.released, 0);
  client_.connection->close({StatusCode::kCancelled, Layer::kRpc, "stop"});
  EXPECT_EQ(lease.released, 0);
  ASSERT_TRUE(until([&] { return client_.sink.closed(); }));
  EXPECT_EQ(lease.released, 1);
  EXPECT_FALSE(lease.was_sent);
}

TEST_P(Endings, MayBeDestroyedInEveryState) {
  // 0 not started, 1 started, 2 greeted, 3 frames queued, 4 lease half sent, 5 attachment half landed,
  // 6 paused, 7 finished, 8 closing, 9 closed
  for (int state = 0; state <= 9; ++state) {
    SCOPED_TRACE(state);
    CountedLease& lease = lent(state == 4 || state == 5 ? pattern(12'000'000) : std::string{});
    if (state == 0) {
      if (!listener_) listener_ = listen(any_url());
      auto made = try_connect(listener_->local_url());
      ASSERT_TRUE(made.ok());
      ASSERT_TRUE(until([&] { return !incoming_.empty(); }));
      incoming_.clear();
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(state == 1 ? connect() : greet());
    if (state == 3) client_.request(1, "never sent");
    if (state == 4) server_.connection->pause_receiving();
    if (state == 4 || state == 5) client_.request_with(1, lease);
    if (state == 6) client_.connection->pause_receiving();
    if (state == 7) client_.connection->finish();
    if (state >= 8) client_.connection->close({});
    if (state == 5) {
      ASSERT_TRUE(until([&] { return server_.sink.asked_landing == 1; }));
    } else if (state != 3 && state != 8) {
      run_until_idle();
    }
    client_.connection.reset();
    server_.connection.reset();
    EXPECT_EQ(lease.released, state == 4 || state == 5 ? 1 : 0);
    EXPECT_EQ(client_.sink.closings, state == 7 || state == 9 ? 1 : 0);
    EXPECT_EQ(loop_->chunks().chunks_out(), 0u);
    hang_up();
  }
}

TEST_P(Endings, OneConnectionMayDestroyAnotherInACallback) {
  ASSERT_NO_FATAL_FAILURE(greet());
  client_.request(1);
  server_.request(2);
  // Both have something to receive in the same turn; the first to hear destroys the other.
  Connection* victim = nullptr;
  server_.sink.during_frames = [&](std::span<const Frame>) {
    victim = client_.connection.release();
    delete victim;
    return Status{};
  };
  client_.sink.during_frames = [&](std::span<const Frame>) {
    victim = server_.connection.release();
    delete victim;
    return Status{};
  };
  ASSERT_TRUE(until([&] { return victim != nullptr; }));
  run_until_idle();
  EXPECT_EQ(client_.sink.frames.size() + server_.sink.frames.size(), 1u);
}

TEST_P(Endings, AByteStreamCutAfterEveryByteIsNeverAFrame) {
  const std::string frame = frame_head({.type = FrameType::kRequest, .id = 1}, "thirteen bytes") +
                            frame_head({.type = FrameType::kRequest,
                                        .flags = wire::FrameFlags::kAttachment,
                                        .id = 2,
                                        .attachment_bytes = 9}) +
                            "123456789" + std::string(7, '\0');
  const std::string stream = hello_text() + frame;
  const std::size_t ends[] = {hello_text().size(), hello_text().size() + 56, stream.size()};
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    ASSERT_NO_FATAL_FAILURE(connect());
    ASSERT_NO_FATAL_FAILURE(say_and_end(std::string_view{stream}.substr(0, cut)));
    const bool between = std::find(std::begin(ends), std::end(ends), cut) != std::end(ends);
    EXPECT_EQ(server_.sink.why.ok(), between) << cut << ": " << server_.sink.why.to_string();
    EXPECT_EQ(server_.sink.why.code(), between ? StatusCode::kOk : StatusCode::kUnavailable);
    EXPECT_EQ(server_.sink.frames.size(), (cut >= ends[1] ? 1u : 0u) + (cut >= ends[2] ? 1u : 0u)) << cut;
    hang_up();
  }
}

TEST_P(Endings, HostileHeadersEndTheConnectionBeforeAnythingIsAllocated) {
  struct Case {
    wire::FrameHeader header;
    wire::FrameFault fault;
  };
  const Case cases[] = {
      {{.body_bytes = 0xFFFFFFFF, .type = FrameType::kRequest}, wire::FrameFault::kBodyTooLarge},
      {{.body_bytes = (4u << 20) + 1, .type = FrameType::kRequest}, wire::FrameFault::kBodyTooLarge},
      {{.type = FrameType::kRequest, .flags = 1, .attachment_bytes = ~std::uint64_t{0}},
       wire::FrameFault::kAttachmentTooLarge},
      {{.type = static_cast<FrameType>(99)}, wire::FrameFault::kUnknownType},
      {{.type = FrameType::kPing, .flags = 0x08}, wire::FrameFault::kUnknownFlags},
      {{.type = FrameType::kCancel, .schema = 1}, wire::FrameFault::kUnexpectedField},
  };
  for (const Case& one : cases) {
    ASSERT_NO_FATAL_FAILURE(greet());
    std::string bytes(wire::kHeaderBytes, '\0');
    wire::store_header(reinterpret_cast<std::byte*>(bytes.data()), one.header);
    client_.request(5, "a good one before it");
    client_.send_raw(bytes);
    ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
    EXPECT_EQ(server_.sink.frames.size(), 1u);
    EXPECT_EQ(server_.sink.why.layer(), Layer::kWire);
    EXPECT_EQ(server_.sink.why.native(), static_cast<int>(one.fault)) << server_.sink.why.to_string();
    hang_up();
  }
}

TEST_P(Endings, ALegalLengthOfWhichLittleArrivesCostsOneChunk) {
  ASSERT_NO_FATAL_FAILURE(greet());
  std::string bytes = frame_head({.type = FrameType::kRequest, .id = 1}, pattern(20'000));
  const std::uint32_t announced = 4u << 20;
  std::memcpy(bytes.data(), &announced, sizeof announced);
  client_.send_raw(bytes);
  run_until_idle();
  EXPECT_EQ(loop_->chunks().chunks_out(), 1u);
  EXPECT_FALSE(server_.sink.closed());
}

TEST_P(Endings, PaddingThatIsNotZeroEndsTheConnection) {
  ASSERT_NO_FATAL_FAILURE(greet());
  std::string bytes = frame_head({.type = FrameType::kRequest, .id = 1}, "12345");
  bytes.back() = 'x';
  client_.send_raw(bytes);
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.native(), static_cast<int>(wire::FrameFault::kPadding));
}

TEST_P(Endings, AnotherProtocolIsNamed) {
  ASSERT_NO_FATAL_FAILURE(connect());
  client_.send_raw("GET /index.html HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(server_.sink.why.message().find("HTTP/1"), std::string_view::npos);
}

TEST_P(Endings, APeerThatSaysNoHelloIsLeft) {
  ASSERT_NO_FATAL_FAILURE(connect({}, {.frame_timeout = std::chrono::milliseconds{20}}));
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.code(), StatusCode::kUnavailable) << server_.sink.why.to_string();
}

TEST_P(Endings, APeerThatDoesNotFinishItsFrameIsLeft) {
  ASSERT_NO_FATAL_FAILURE(greet({}, {.frame_timeout = short_patience()}));
  client_.send_raw(frame_head({.type = FrameType::kPing, .id = 1}).substr(0, 39));
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.code(), StatusCode::kUnavailable) << server_.sink.why.to_string();
}

TEST_P(Endings, AnAttachmentThatStandsStillEndsTheConnection) {
  ASSERT_NO_FATAL_FAILURE(greet({}, {.frame_timeout = short_patience()}));
  client_.send({.type = FrameType::kRequest,
                .flags = wire::FrameFlags::kAttachment,
                .id = 1,
                .attachment_bytes = 100'000});
  client_.send_raw(pattern(99'999));
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.asked_landing, 1);
  EXPECT_TRUE(server_.sink.frames.empty());
}

TEST_P(Endings, AnIdlePeerIsNotTooSlow) {
  // A busy machine, and a real device in an emulated one, take milliseconds for a message now and then.
  const Duration patience = std::chrono::milliseconds{leaves_base() ? 500 : 100};
  const ConnectionOptions options{.stall_timeout = patience, .frame_timeout = patience};
  ASSERT_NO_FATAL_FAILURE(greet(options, options));
  client_.request(1, pattern(100'000));
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 1; }));
  ASSERT_TRUE(until([&] { return loop_->timers_armed() == 0; }));
  EXPECT_FALSE(server_.sink.closed() || client_.sink.closed());
}

TEST_P(Endings, APeerThatStopsTakingIsLeft) {
  ASSERT_NO_FATAL_FAILURE(greet({.stall_timeout = std::chrono::milliseconds{20}}));
  server_.connection->pause_receiving();
  CountedLease& lease = lent(pattern(20'000'000));
  client_.request_with(1, lease);
  ASSERT_TRUE(until([&] { return client_.sink.closed(); }));
  EXPECT_EQ(client_.sink.why.code(), StatusCode::kUnavailable);
  EXPECT_NE(client_.sink.why.message().find("stopped taking"), std::string_view::npos);
  EXPECT_EQ(lease.released, 1);
  EXPECT_FALSE(lease.was_sent);
}

TEST_P(Endings, NobodyListeningIsUnavailable) {
  Url url = any_url();
  if (url.scheme == "tcp" || leaves_base()) {
    auto gone = listen(url);
    url = gone->local_url();
  }
  const auto refused = try_connect(url);
  EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable) << refused.status().to_string();
  EXPECT_EQ(refused.status().retry(), Retry::kReconnect);
  EXPECT_NE(refused.status().message().find(url.to_string()), std::string_view::npos);
}

TEST_P(Endings, AConnectWhoseTimeHasPassedOrThatIsCancelledDoesNothing) {
  auto listener = listen(any_url());
  const auto late = try_connect(listener->local_url(), {.deadline = Deadline{loop_->now()}});
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded) << late.status().to_string();
  CancelScope scope;
  scope.cancel(CancelReason::kRequested);
  const auto cancelled =
      loop_->block_on(with_scope(scope, transport_->connect(*loop_, listener->local_url(), {})));
  EXPECT_EQ(cancelled.status().code(), StatusCode::kCancelled) << cancelled.status().to_string();
}

INSTANTIATE_TEST_SUITE_P(Over, Endings, ::testing::ValuesIn(all_transports()),
                         [](const auto& test) { return std::string{test.param}; });

}  // namespace
}  // namespace weft::conformance
