// SPDX-License-Identifier: Apache-2.0
// Limits of connections of gRPC: memory, time and the number of streams.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "calls/grpc/message_reader.hpp"
#include "integration/grpc/grpc_frames.hpp"

namespace weft::testing {
namespace {

TEST_F(GrpcFrames, RequestsOverTheServersMemoryAreRefused) {
  ServerOptions options;
  options.limits.process_memory_max = 4u << 20;
  options.limits.connection_memory_max = 4u << 20;
  start(std::move(options));
  Raw client{url_};
  client.await(Raw::kSettings);
  client.send(Raw::frame(Raw::kSettings, Raw::kAck, 0));
  // Each message stops before its end.
  const std::string part = Raw::message(std::string(900'000, 'x')).substr(0, 16'000);
  std::uint32_t stream = 1;
  bool refused = false;
  for (; stream < 1000 && !refused; stream += 2) {
    client.send(Raw::head(stream, kEcho));
    for (int i = 0; i < 15; ++i) client.send(Raw::data(stream, i == 0 ? part : std::string(16'000, 'x')));
    client.send(Raw::frame(Raw::kPing, 0, 0, "12345678"));
    for (bool has_pong = false; !has_pong;) {
      const Frame2 got = client.read();
      ASSERT_TRUE(client.take(got));
      has_pong = got.type == Raw::kPing;
      refused = refused || got.type == Raw::kHeaders;
    }
  }
  EXPECT_TRUE(refused);
  EXPECT_EQ(client.answer(stream - 2).status(), 8);
  // The memory of the others is free again after their reset.
  for (std::uint32_t each = 1; each < stream - 2; each += 2) {
    client.send(Raw::frame(Raw::kReset, 0, each, Raw::number(8)));
  }
  expect_good(client, stream);
}

TEST_F(GrpcFrames, RequestsAreTakenAgainOnceTheirStreamsMemoryIsFree) {
  ServerOptions options;
  options.limits.process_memory_max = 256u << 10;
  start(std::move(options), {.calls_in_flight_max = 4096});
  Raw client{url_};
  // The pong may overtake the refusal.
  std::uint32_t refused = 0;
  std::uint32_t stream = 1;
  for (; stream < 2000 && refused == 0; stream += 2) {
    client.send(Raw::head(stream, kEcho));
    ASSERT_TRUE(settle(client));
    for (const std::uint32_t each : {stream, stream - 2}) {
      if (client.has_answer(each)) refused = each;
    }
  }
  ASSERT_NE(refused, 0u);
  EXPECT_EQ(client.answer(refused).status(), 8);
  for (std::uint32_t each = 1; each < stream; each += 2) {
    client.send(Raw::frame(Raw::kReset, 0, each, Raw::number(8)));
  }
  ASSERT_TRUE(settle(client));
  expect_good(client, stream);
}

TEST_F(GrpcFrames, RequestsThatTheirConnectionCutsOffAreCounted) {
  start();
  {
    Raw client{url_};
    client.send(Raw::head(1, kEcho) + Raw::data(1, Raw::message("some").substr(0, 7)) + Raw::head(3, kEcho));
    ASSERT_TRUE(settle(client));
  }
  await_no_connection();
  EXPECT_EQ(stats_of(kEcho).calls, 2u);
  EXPECT_EQ(stats_of(kEcho).dropped, 2u);
}

TEST_F(GrpcFrames, RequestsThatAreNotWholeEndAtTheirDeadline) {
  start();
  Raw client{url_};
  client.send(Raw::head(1, kEcho, {{"grpc-timeout", "20m"}}));
  EXPECT_EQ(client.answer(1).status(), 4);
  client.send(Raw::head(3, kEcho, {{"grpc-timeout", "20m"}}) +
              Raw::data(3, Raw::message("some").substr(0, 7)));
  EXPECT_EQ(client.answer(3).status(), 4);
  // The message is whole, and the request is not.
  client.send(Raw::head(5, kEcho, {{"grpc-timeout", "0n"}}) + Raw::data(5, Raw::message("")));
  EXPECT_EQ(client.answer(5).status(), 4);
  EXPECT_EQ(server_->stats().refused[RefusalReason::kBehind], 3u);
  EXPECT_EQ(stats_of(kEcho).refused, 3u);
  client.send(Raw::data(5, "", true));
  expect_good(client, 7);
}

TEST_F(GrpcFrames, RequestsWithoutProgressAreRefused) {
  ServerOptions options;
  options.limits.frame_timeout = 50ms;
  start(std::move(options));
  Raw client{url_};
  client.send(Raw::head(1, kEcho) + Raw::head(3, kWait) + Raw::data(3, Raw::message(""), true) +
              Raw::head(5, kJoin));
  const Answer2 answer = client.answer(1);
  EXPECT_EQ(answer.status(), 4);
  EXPECT_NE(answer.field("grpc-message").find("frame_timeout"), std::string::npos);
  // Others have no such limit: the call that runs, and the stream whose handler reads.
  EXPECT_EQ(probe_.waiting, 1);
  client.send(Raw::data(5, Raw::message(text_bytes("late")), true));
  EXPECT_EQ(text_in(client.answer(5)), "late");
  expect_good(client, 7);
}

TEST_F(GrpcFrames, AsManyStreamsAsAreAnnouncedMayBeOpen) {
  ServerOptions options;
  options.limits.frame_timeout = 1h;
  start(std::move(options), {.calls_in_flight_max = UINT32_MAX});
  Raw client{url_};
  const std::string settings = client.await(Raw::kSettings).payload;
  client.send(Raw::frame(Raw::kSettings, Raw::kAck, 0));
  std::uint32_t streams = 0;
  for (std::size_t at = 0; at < settings.size(); at += 6) {
    if (Raw::number_at(settings, at, 2) == 3) streams = Raw::number_at(settings, at + 2, 4);
  }
  ASSERT_GT(streams, 1000u);
  std::string heads;
  for (std::uint32_t i = 0; i < streams; ++i) {
    heads += Raw::head(2 * i + 1, kEcho);
    if (heads.size() < 50'000) continue;
    ASSERT_TRUE(client.send(heads));
    ASSERT_TRUE(settle(client)) << i;
    heads.clear();
  }
  client.send(heads + Raw::data(1, Raw::message(text_bytes("first")), true));
  EXPECT_EQ(text_in(client.answer(1)), "first");
}

TEST_F(GrpcFrames, LargeFailuresOfManyCallsWaitForTheirClient) {
  start();
  Raw client{url_, {}, 4096};
  constexpr int kCalls = 1000;
  const std::string message = Raw::message(text_bytes("f"));
  for (int i = 0; i < kCalls; ++i) {
    const auto stream = static_cast<std::uint32_t>(2 * i + 1);
    client.send(Raw::head(stream, kHold) + Raw::data(stream, message, true));
  }
  await(probe_.holding, kCalls);
  probe_.may_go = true;
  // All have failed before the client reads anything.
  await(probe_.holding, 0);
  for (int i = 0; i < kCalls; ++i) {
    const Answer2 answer = client.answer(static_cast<std::uint32_t>(2 * i + 1));
    ASSERT_EQ(answer.status(), 10) << i;
    ASSERT_GT(answer.field("grpc-status-details-bin").size(), 8192u);
  }
  expect_good(client, 2 * kCalls + 1);
}

TEST_F(GrpcFrames, LargeFailuresOfOneTurnWaitForTheMemoryOfOthers) {
  start();
  probe_.may_go = true;
  Raw client{url_};
  client.send(Raw::frame(Raw::kHeaders, Raw::kEndHeaders, 1, Raw::indexed_call_block(kHold)) +
              Raw::data(1, Raw::message(text_bytes("f")), true));
  ASSERT_EQ(client.answer(1).status(), 10);
  // Calls of 32 bytes each: 500 are received at once, and their answers take over 8 MB.
  constexpr std::uint32_t kLast = 2001;
  std::string calls;
  for (std::uint32_t stream = 3; stream <= kLast; stream += 2) {
    calls += Raw::frame(Raw::kHeaders, Raw::kEndHeaders, stream, Raw::indexed_call_block()) +
             Raw::data(stream, Raw::message(text_bytes("f")), true);
  }
  ASSERT_TRUE(client.send(calls));
  for (std::uint32_t stream = 3; stream <= kLast; stream += 2) {
    const Answer2 answer = client.answer(stream);
    ASSERT_EQ(answer.status(), 10) << stream;
    ASSERT_GT(answer.field("grpc-status-details-bin").size(), 8192u);
  }
  expect_good(client, kLast + 2);
}

TEST_F(GrpcFrames, MetadataOfRequestsThatAreNotWholeAreCharged) {
  ServerOptions options;
  options.limits.process_memory_max = 1u << 20;
  start(std::move(options));
  Raw client{url_};
  bool refused = false;
  for (std::uint32_t stream = 1; stream < 600 && !refused; stream += 2) {
    client.send(Raw::head(stream, kEcho, {{"a", std::string(8000, 'x')}}));
    ASSERT_TRUE(settle(client));
    // The pong may overtake the refusal.
    refused = client.has_answer(stream) || client.has_answer(stream - 2);
  }
  EXPECT_TRUE(refused);
}

TEST(GrpcMessages, TakeMemoryForArrivedBytesAndChargeAllOfIt) {
  const auto budget = std::make_shared<detail::MemoryBudget>(std::size_t{64} << 20);
  detail::LocalBudget memory{budget};
  const RpcLimits limits;
  detail::Admission admission{limits, memory};
  detail::grpc::ConnectionMemory kept{admission, memory};
  detail::ChunkPool chunks;
  const std::size_t all = memory.free();
  {
    detail::grpc::MessageReader reader{1u << 20, kept, chunks};
    const std::string message = Raw::message(std::string(900'000, 'x'));
    const auto take = [&reader](std::string_view part) {
      Bytes bytes = as_bytes(part);
      return reader.next(bytes);
    };
    using Step = detail::grpc::MessageReader::Step;
    EXPECT_EQ(take(std::string_view{message}.substr(0, 6)), Step::kMore);
    EXPECT_EQ(chunks.chunks_out(), 0u);
    EXPECT_GE(all - memory.free(), 512u);
    EXPECT_LE(all - memory.free(), 4096u);
    EXPECT_EQ(take(std::string_view{message}.substr(6, 100'000)), Step::kMore);
    EXPECT_EQ(chunks.chunks_out(), 1u);
    EXPECT_GE(all - memory.free(), 100'000u);
    EXPECT_LE(all - memory.free(), 400'000u);
    EXPECT_EQ(take(std::string_view{message}.substr(100'006)), Step::kMessage);
    EXPECT_EQ(as_text(reader.message()), std::string(900'000, 'x'));
    EXPECT_GE(all - memory.free(), 900'000u);
  }
  EXPECT_EQ(memory.free(), all);
}

}  // namespace
}  // namespace weft::testing
