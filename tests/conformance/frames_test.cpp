// SPDX-License-Identifier: Apache-2.0
// What every transport does with frames: whole, in order, aligned, in batches, with their attachments.
#include "conformance/fixture.hpp"

namespace weft::conformance {

using namespace weft::detail;
namespace {

using wire::FrameType;

class Frames : public ConformanceTest {};

TEST_P(Frames, HellosCrossAndComeFirst) {
  ASSERT_NO_FATAL_FAILURE(connect());
  client_.send_hello({.calls_in_flight_max = 5});
  server_.send_hello({.calls_in_flight_max = 6});
  // Not before it is known what carries the frames.
  client_.sink.during_hello = [&] { client_.request(1, "at once"); };
  ASSERT_TRUE(until([&] { return !client_.sink.hellos.empty() && server_.sink.frames.size() == 1; }));
  EXPECT_EQ(server_.sink.hellos[0].calls_in_flight_max, 5u);
  EXPECT_EQ(client_.sink.hellos[0].calls_in_flight_max, 6u);
}

TEST_P(Frames, EveryKindArrivesAsItWasSent) {
  ASSERT_NO_FATAL_FAILURE(greet());
  client_.send(wire::RequestHead{.id = 1, .method = 2, .timeout = 3, .schema = 4}.header(), "body");
  client_.send(wire::AnswerHead{.code = StatusCode::kNotFound, .native = 7, .id = 6}.header(), "answer");
  client_.send({.type = FrameType::kCancel, .id = 8});
  client_.send({.type = FrameType::kPing, .id = 9});
  client_.send({.type = FrameType::kPong, .id = 10});
  client_.send(wire::GoawayHead{.taken_up_to = 11}.header(), "why");
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 6; }));
  const auto& frames = server_.sink.frames;
  EXPECT_EQ(wire::RequestView{frames[0].header}.method(), 2u);
  EXPECT_EQ(wire::RequestView{frames[0].header}.schema(), 4u);
  EXPECT_EQ(frames[0].body, "body");
  EXPECT_EQ(wire::AnswerView{frames[1].header}.code(), static_cast<unsigned>(StatusCode::kNotFound));
  EXPECT_EQ(wire::AnswerView{frames[1].header}.native(), 7);
  EXPECT_EQ(frames[2].header.type, FrameType::kCancel);
  EXPECT_EQ(frames[4].header.id, 10u);
  EXPECT_EQ(wire::GoawayView{frames[5].header}.taken_up_to(), 11u);
  EXPECT_EQ(frames[5].body, "why");
}

TEST_P(Frames, PositionsInTheByteStreamAreTheSameForBothSides) {
  for (const bool checksums : {false, true}) {
    ASSERT_NO_FATAL_FAILURE(greet());
    if (checksums) {
      client_.connection->use_checksums();
      server_.connection->use_checksums();
    }
    EXPECT_EQ(server_.connection->handed_up(), client_.outbox().position());
    for (std::uint64_t id = 0; id < 10; ++id) {
      CountedLease& lease = lent(pattern(1 + id * 9'999));
      client_.send({.type = FrameType::kRequest, .id = id}, pattern(id * 4'999), checksums);
      client_.request_with(id, lease, "with", checksums);
      ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 2 * (id + 1) && lease.released == 1; }));
      EXPECT_EQ(server_.connection->handed_up(), client_.outbox().position());
      EXPECT_EQ(client_.outbox().handed_over(), client_.outbox().position());
    }
    client_ = {};
    server_ = {};
  }
}

TEST_P(Frames, ArriveInOrderAndInBatchesOfABoundedSize) {
  ASSERT_NO_FATAL_FAILURE(greet());
  constexpr std::uint64_t kCount = 5000;
  for (std::uint64_t id = 0; id < kCount; ++id)
    client_.request(id, pattern(id % 200, static_cast<unsigned>(id)));
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == kCount; }));
  for (std::uint64_t id = 0; id < kCount; ++id) {
    ASSERT_EQ(server_.sink.frames[id].header.id, id);
    ASSERT_EQ(server_.sink.frames[id].body, pattern(id % 200, static_cast<unsigned>(id)));
  }
  EXPECT_LE(*std::max_element(server_.sink.batches.begin(), server_.sink.batches.end()), 64u);
  // Between them the loop looks at the clock, the more often the slower the machine is: where a message of 1
  // KiB brings seven frames, an emulated one cuts most of what came in two.
  EXPECT_LT(server_.sink.batches.size(), kCount / 2) << "one receive should bring many frames";
  EXPECT_TRUE(client_.outbox().empty());
}

TEST_P(Frames, GoBackAndForthManyTimes) {
  ASSERT_NO_FATAL_FAILURE(greet());
  server_.sink.during_frames = [&](std::span<const Frame> batch) {
    for (const Frame& frame : batch) {
      server_.send({.type = FrameType::kAnswer, .id = frame.header.id}, as_text(frame.body));
    }
    return Status{};
  };
  client_.sink.during_frames = [&](std::span<const Frame> batch) {
    for (const Frame& frame : batch) {
      if (frame.header.id < 500) client_.request(frame.header.id + 1, as_text(frame.body));
    }
    return Status{};
  };
  client_.request(0, "ball");
  ASSERT_TRUE(until([&] { return client_.sink.frames.size() == 501; }));
  EXPECT_EQ(client_.sink.frames.back().body, "ball");
}

TEST_P(Frames, BodiesOfManyChunksArriveWhole) {
  ASSERT_NO_FATAL_FAILURE(greet());
  const std::size_t sizes[] = {65400, 65495, 65496, 65497, 65536, 65544, 200'001, 1 << 20, 4 << 20, 0, 3};
  std::uint64_t id = 0;
  for (const std::size_t size : sizes) client_.request(++id, pattern(size, static_cast<unsigned>(size)));
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == std::size(sizes); }));
  for (std::size_t at = 0; at < std::size(sizes); ++at) {
    EXPECT_TRUE(server_.sink.frames[at].body == pattern(sizes[at], static_cast<unsigned>(sizes[at])))
        << sizes[at];
  }
}

TEST_P(Frames, RetainedChunksKeepTheirBytes) {
  ASSERT_NO_FATAL_FAILURE(greet());
  std::vector<ChunkRef> chunks;
  std::vector<Frame> views;
  server_.sink.retained = &chunks;
  server_.sink.during_frames = [&](std::span<const Frame> batch) {
    views.insert(views.end(), batch.begin(), batch.end());
    return Status{};
  };
  for (std::uint64_t id = 0; id < 300; ++id) client_.request(id, pattern(1001, static_cast<unsigned>(id)));
  ASSERT_TRUE(until([&] { return views.size() == 300; }));
  for (std::uint64_t id = 0; id < 300; ++id) {
    EXPECT_TRUE(as_text(views[id].body) == pattern(1001, static_cast<unsigned>(id))) << id;
  }
}

TEST_P(Frames, AttachmentsOfEveryLengthLandWhereTheyWereTold) {
  ASSERT_NO_FATAL_FAILURE(greet());
  const std::size_t sizes[] = {1, 7, 8, 9, 4095, 16383, 16384, 16389, 100'003, 3'000'005};
  std::vector<const CountedLease*> leases;
  for (const std::size_t size : sizes) {
    CountedLease& lease = lent(pattern(size, static_cast<unsigned>(size)));
    leases.push_back(&lease);
    client_.request_with(size, lease, "body of " + std::to_string(size));
    client_.request(0, "between");
  }
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 2 * std::size(sizes); }));
  for (std::size_t at = 0; at < std::size(sizes); ++at) {
    const Seen& seen = server_.sink.frames[2 * at];
    EXPECT_TRUE(seen.landed);
    EXPECT_TRUE(seen.attachment == leases[at]->bytes) << sizes[at];
    EXPECT_EQ(seen.body, "body of " + std::to_string(sizes[at]));
    EXPECT_EQ(server_.sink.frames[2 * at + 1].body, "between");
    EXPECT_EQ(leases[at]->released, 1);
    EXPECT_TRUE(leases[at]->was_sent);
  }
}

TEST_P(Frames, AnAttachmentMayBeGatheredFromPieces) {
  ASSERT_NO_FATAL_FAILURE(greet());
  CountedLease& first = lent(pattern(20'003, 1));
  CountedLease& second = lent(pattern(5, 2));
  CountedLease& third = lent(pattern(30'001, 3));
  const std::string whole = first.bytes + second.bytes + third.bytes;
  client_.send({.type = FrameType::kRequest,
                .flags = wire::FrameFlags::kAttachment,
                .id = 1,
                .attachment_bytes = whole.size()});
  ASSERT_TRUE(client_.outbox().append_leased(as_bytes(first.bytes), first, true));
  ASSERT_TRUE(client_.outbox().append_leased(as_bytes(second.bytes), second, true));
  ASSERT_TRUE(client_.outbox().append_leased(as_bytes(third.bytes), third));
  client_.request(2, "after");
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 2; }));
  EXPECT_TRUE(server_.sink.frames[0].attachment == whole);
  EXPECT_EQ(server_.sink.frames[1].body, "after");
  EXPECT_EQ(first.released + second.released + third.released, 3);
}

TEST_P(Frames, ASkippedAttachmentLeavesTheNextFrameWhole) {
  ASSERT_NO_FATAL_FAILURE(greet());
  server_.sink.landing = Landing::Kind::kSkip;
  CountedLease& lease = lent(pattern(1'000'003));
  client_.request_with(1, lease, "skip me");
  client_.request(2, "next");
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 2; }));
  EXPECT_FALSE(server_.sink.frames[0].landed);
  EXPECT_EQ(server_.sink.frames[0].body, "skip me");
  EXPECT_EQ(server_.sink.frames[1].body, "next");
}

TEST_P(Frames, AnAbandonedLandingIsNotWrittenAnyMore) {
  ASSERT_NO_FATAL_FAILURE(greet());
  const std::string attachment = pattern(40'000);
  client_.send({.type = FrameType::kRequest,
                .flags = wire::FrameFlags::kAttachment,
                .id = 1,
                .attachment_bytes = attachment.size()});
  client_.send_raw(std::string_view{attachment}.substr(0, 999));
  ASSERT_TRUE(until([&] { return server_.sink.asked_landing == 1; }));
  run_until_idle();
  server_.connection->abandon_landing();
  server_.sink.memory.assign(attachment.size(), '!');
  client_.send_raw(std::string_view{attachment}.substr(999));
  client_.request(2, "next");
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 2; }));
  EXPECT_FALSE(server_.sink.frames[0].landed);
  EXPECT_EQ(server_.sink.memory, std::string(attachment.size(), '!'));
  EXPECT_EQ(server_.sink.frames[1].body, "next");
}

TEST_P(Frames, OneByteAtATimeIsEnough) {
  ASSERT_NO_FATAL_FAILURE(connect());
  std::string stream = hello_text() + frame_head({.type = FrameType::kRequest, .id = 1}, "first");
  stream += frame_head(
      {.type = FrameType::kRequest, .flags = wire::FrameFlags::kAttachment, .id = 2, .attachment_bytes = 11},
      "second");
  stream += std::string{"attachment!"} + std::string(5, '\0');
  stream += frame_head({.type = FrameType::kPing, .id = 3});
  for (const char byte : stream) {
    client_.send_raw({&byte, 1});
    run_until_idle();
  }
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 3; }));
  EXPECT_EQ(server_.sink.frames[0].body, "first");
  EXPECT_EQ(server_.sink.frames[1].attachment, "attachment!");
  EXPECT_EQ(server_.sink.frames[2].header.id, 3u);
}

TEST_P(Frames, ChecksumsProtectHeadAndAttachment) {
  ASSERT_NO_FATAL_FAILURE(connect());
  server_.sink.during_hello = [&] { server_.connection->use_checksums(); };
  client_.sink.during_hello = [&] { client_.connection->use_checksums(); };
  client_.send_hello();
  server_.send_hello();
  ASSERT_TRUE(until([&] { return !client_.sink.hellos.empty() && !server_.sink.hellos.empty(); }));
  CountedLease& small = lent(pattern(13));
  CountedLease& large = lent(pattern(300'001));
  client_.request_with(1, small, "one", true);
  client_.request_with(2, large, "two", true);
  client_.send({.type = FrameType::kPing, .id = 3}, {}, true);
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 3; }));
  EXPECT_TRUE(server_.sink.frames[0].attachment == small.bytes);
  EXPECT_TRUE(server_.sink.frames[1].attachment == large.bytes);
  // A flipped bit of an attachment, whose checksum is for what it should have been.
  CountedLease& torn = lent(pattern(50));
  client_.request_with(4, torn, "three", true);
  std::string stream;
  iovec pieces[4];
  const std::size_t count = client_.outbox().segments(pieces);
  for (std::size_t at = 0; at < count; ++at) {
    stream.append(static_cast<const char*>(pieces[at].iov_base), pieces[at].iov_len);
  }
  stream[60] ^= 1;
  client_.outbox().release_all();
  client_.send_raw(stream);
  ASSERT_TRUE(until([&] { return server_.sink.closed(); }));
  EXPECT_EQ(server_.sink.why.code(), StatusCode::kDataLoss);
  EXPECT_EQ(server_.sink.frames.size(), 3u);
}

TEST_P(Frames, APausedConnectionTakesNothingAndGoesOnWhenResumed) {
  ASSERT_NO_FATAL_FAILURE(greet());
  server_.sink.during_frames = [&](std::span<const Frame>) {
    server_.connection->pause_receiving();
    return Status{};
  };
  for (std::uint64_t id = 0; id < 200; ++id) client_.request(id, pattern(100));
  ASSERT_TRUE(until([&] { return !server_.sink.frames.empty(); }));
  run_until_idle();
  const std::size_t taken = server_.sink.frames.size();
  EXPECT_LE(taken, 64u);
  server_.sink.during_frames = nullptr;
  server_.connection->resume_receiving();
  EXPECT_EQ(server_.sink.frames.size(), taken) << "frames came from inside resume_receiving()";
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 200; }));
}

TEST_P(Frames, AProducerIsToldWhenItsQueueHasDrained) {
  ASSERT_NO_FATAL_FAILURE(greet());
  server_.connection->pause_receiving();
  client_.connection->tell_when_drained(100'000);
  run_until_idle();
  std::uint64_t id = 0;
  while (client_.outbox().queued_bytes() < 20'000'000) client_.request(++id, pattern(50'000));
  run_until_idle();
  EXPECT_EQ(client_.sink.drained, 0) << "nothing has been sent";
  EXPECT_GT(client_.outbox().queued_bytes(), 100'000u);
  server_.connection->resume_receiving();
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == id; }));
  EXPECT_EQ(client_.sink.drained, 1);
  EXPECT_EQ(client_.outbox().queued_bytes(), 0u);
}

TEST_P(Frames, ALeaseTakenOverIsReleasedAtOnceAndItsBytesStillArrive) {
  ASSERT_NO_FATAL_FAILURE(greet());
  server_.connection->pause_receiving();
  CountedLease& lease = lent(pattern(12'000'000));
  const std::string sent = lease.bytes;
  client_.request_with(1, lease);
  run_until_idle();
  ASSERT_EQ(lease.released, 0) << "more than any buffer on the way holds";
  ASSERT_TRUE(client_.outbox().take_over(lease));
  EXPECT_EQ(lease.released, 1);
  EXPECT_FALSE(lease.was_sent);
  lease.bytes.assign(lease.bytes.size(), 'x');
  server_.connection->resume_receiving();
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 1; }));
  EXPECT_TRUE(server_.sink.frames[0].attachment == sent);
  EXPECT_EQ(lease.released, 1);
}

TEST_P(Frames, AnIdleConnectionHoldsNoChunk) {
  ASSERT_NO_FATAL_FAILURE(greet());
  client_.request(1, pattern(1000));
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == 1; }));
  run_until_idle();
  EXPECT_EQ(loop_->chunks().chunks_out(), 0u);
  const std::string half = frame_head({.type = FrameType::kRequest, .id = 2}, pattern(500)).substr(0, 300);
  client_.send_raw(half);
  run_until_idle();
  client_.outbox().release_all();
  EXPECT_EQ(loop_->chunks().chunks_out(), 0u) << "a small part of a frame does not need a chunk";
}

TEST_P(Frames, EndpointsAreUrls) {
  ASSERT_NO_FATAL_FAILURE(connect());
  Url url = url_;
  if (leaves_base() && !over_unix()) url.scheme = "tcp";  // the stream's
  EXPECT_EQ(client_.connection->remote_endpoint(), url.to_string());
  EXPECT_EQ(server_.connection->local_endpoint(), url.to_string());
  EXPECT_TRUE(Url::parse(client_.connection->local_endpoint()).ok());
  EXPECT_EQ(server_.connection->remote_endpoint(), client_.connection->local_endpoint());
}

TEST_P(Frames, AreCountedAlikeOnBothSides) {
  ASSERT_NO_FATAL_FAILURE(greet());
  constexpr std::uint64_t kFrames = 300;
  for (std::uint64_t id = 0; id < kFrames; ++id) client_.request(id, "small");
  CountedLease& lease = lent(pattern(500'000));
  client_.request_with(kFrames, lease, "with");
  ASSERT_TRUE(until([&] { return server_.sink.frames.size() == kFrames + 1 && lease.released == 1; }));
  run_until_idle();
  const ConnectionStats sent = client_.connection->stats();
  const ConnectionStats received = server_.connection->stats();
  EXPECT_EQ(sent.bytes_sent, client_.outbox().position());
  EXPECT_EQ(received.bytes_received, sent.bytes_sent);
  EXPECT_EQ(received.frames_received, sent.frames_sent);
  EXPECT_GE(sent.frames_sent, kFrames + 2) << "with the hello, and what brought a carrier up";
  if (!leaves_base()) {
    EXPECT_EQ(sent.frames_sent, kFrames + 2);
    EXPECT_EQ(server_.connection->stats().frames_sent, 1u);
    EXPECT_LT(received.receives, kFrames);
    EXPECT_LT(sent.sends, kFrames);
  }
  EXPECT_EQ(received.bytes_sent, sent.bytes_received);
}

INSTANTIATE_TEST_SUITE_P(Over, Frames, ::testing::ValuesIn(all_transports()),
                         [](const auto& test) { return std::string{test.param}; });

}  // namespace
}  // namespace weft::conformance
