// SPDX-License-Identifier: Apache-2.0
// CR-11: frames of HTTP/2 as no library sends them: breaches of the protocol, floods, and calls in small
// pieces.
#include <zlib.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "integration/grpc/grpc_frames.hpp"

namespace weft::testing {
namespace {

TEST_F(GrpcFrames, ACallHasHeadMessageAndTrailers) {
  start();
  Raw client{url_};
  client.call(1, kEcho, text_bytes("hello"));
  const Answer2 answer = client.answer(1);
  EXPECT_EQ(answer.field(":status"), "200");
  EXPECT_EQ(answer.field("content-type"), "application/grpc");
  EXPECT_EQ(answer.field("grpc-accept-encoding"), "identity,gzip");
  EXPECT_EQ(answer.body, Raw::message(text_bytes("hello")));
  EXPECT_EQ(answer.status(), 0);
  EXPECT_EQ(answer.reset, -1);
}

TEST_F(GrpcFrames, CallsMayArriveByteByByte) {
  start();
  Raw client{url_};
  const std::string bytes = Raw::head(1, kEcho, {{"echo-last", "v"}}) +
                            Raw::data(1, Raw::message(text_bytes("slowly")).substr(0, 3)) +
                            Raw::data(1, Raw::message(text_bytes("slowly")).substr(3)) +
                            Raw::data(1, "", true);
  for (const char byte : bytes) client.send({&byte, 1});
  const Answer2 answer = client.answer(1);
  EXPECT_EQ(text_in(answer), "slowly");
  EXPECT_EQ(answer.field("echo-last"), "v");
}

TEST_F(GrpcFrames, FunctionsAndUnknownMethodsAreUnimplemented) {
  start();
  Raw client{url_};
  client.call(1, "/grpc_demo::twice", "");
  const Answer2 function = client.answer(1);
  EXPECT_EQ(function.status(), 12);
  EXPECT_NE(function.field("grpc-message").find("function"), std::string::npos);
  for (const auto& [stream, path] :
       {std::pair{3u, "/grpc_probe.Probe/None"}, {5u, "/none.Service/Echo"}, {7u, "/"}}) {
    client.call(stream, path, "");
    EXPECT_EQ(client.answer(stream).status(), 12) << path;
  }
  expect_good(client, 9);
}

TEST_F(GrpcFrames, RequestsThatAreNotOfGrpcGetAStatusOfHttp) {
  start();
  Raw client{url_};
  const auto ask = [&client](std::uint32_t stream, std::string method, std::string type) {
    client.send(Raw::frame(Raw::kHeaders, Raw::kEndHeaders | Raw::kEnd, stream,
                           Raw::block({{":method", std::move(method)},
                                       {":scheme", "http"},
                                       {":path", std::string{kEcho}},
                                       {":authority", "localhost"},
                                       {"content-type", std::move(type)}})));
    return client.answer(stream).field(":status");
  };
  EXPECT_EQ(ask(1, "POST", "text/html"), "415");
  EXPECT_EQ(ask(3, "POST", "application/grpc-web"), "415");
  EXPECT_EQ(ask(5, "GET", "application/grpc"), "405");
  expect_good(client, 7);
}

TEST_F(GrpcFrames, RequestsWithoutExactlyOneMessageAreRefused) {
  start();
  Raw client{url_};
  client.send(Raw::head(1, kEcho, {}, true));
  EXPECT_EQ(client.answer(1).status(), 12);
  client.send(Raw::head(3, kEcho) + Raw::data(3, Raw::message("") + Raw::message(""), true));
  EXPECT_EQ(client.answer(3).status(), 12);
  client.send(Raw::head(5, kEcho) + Raw::data(5, Raw::message(text_bytes("cut")).substr(0, 7), true));
  EXPECT_EQ(client.answer(5).status(), 13);
  client.send(Raw::head(7, kEcho) + Raw::data(7, std::string("\7\0\0\0\0", 5), true));
  EXPECT_EQ(client.answer(7).status(), 13);
  client.send(Raw::head(9, kJoin) + Raw::data(9, Raw::message(text_bytes("cut")).substr(0, 7), true));
  EXPECT_EQ(client.answer(9).status(), 13);
  client.call(11, kEcho, "\xff\xff\xff");
  EXPECT_EQ(client.answer(11).status(), 3);
  expect_good(client, 13);
}

TEST_F(GrpcFrames, AnnouncedLengthsTakeNoMemory) {
  start();
  Raw client{url_};
  client.send(Raw::head(1, kEcho) + Raw::data(1, std::string("\0\xff\xff\xff\xff", 5)));
  const Answer2 unary = client.answer(1);
  EXPECT_EQ(unary.status(), 8);
  EXPECT_NE(unary.field("grpc-message").find("body_bytes_max"), std::string::npos);
  client.send(Raw::head(3, kJoin) + Raw::data(3, std::string("\0\xff\xff\xff\xff", 5)));
  EXPECT_EQ(client.answer(3).status(), 8);
  expect_good(client, 5);
}

/// Returns zeros as gzip.
std::string zipped_zeros(std::size_t count) {
  std::string zeros(count, '\0');
  std::string zipped(count / 100 + 1000, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(zeros.data());
  stream.avail_in = static_cast<uInt>(zeros.size());
  stream.next_out = reinterpret_cast<Bytef*>(zipped.data());
  stream.avail_out = static_cast<uInt>(zipped.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  zipped.resize(stream.total_out);
  deflateEnd(&stream);
  return zipped;
}

TEST_F(GrpcFrames, CompressionIsCheckedBeforeItIsBelieved) {
  start();
  Raw client{url_};
  client.send(Raw::head(1, kEcho) + Raw::data(1, Raw::message("x", true), true));
  EXPECT_EQ(client.answer(1).status(), 13);
  client.send(Raw::head(3, kEcho, {{"grpc-encoding", "gzip"}}) + Raw::data(3, Raw::message("x", true), true));
  EXPECT_EQ(client.answer(3).status(), 13);
  // A bomb: 20 MB in 20 KB.
  const std::string bomb = Raw::message(zipped_zeros(20'000'000), true);
  client.send(Raw::head(5, kEcho, {{"grpc-encoding", "gzip"}}) + Raw::data(5, bomb.substr(0, 16'000)) +
              Raw::data(5, bomb.substr(16'000), true));
  EXPECT_EQ(client.answer(5).status(), 8);
  const std::string cut = zipped_zeros(1000);
  client.send(Raw::head(11, kEcho, {{"grpc-encoding", "gzip"}}) +
              Raw::data(11, Raw::message(cut.substr(0, cut.size() - 9), true), true));
  EXPECT_EQ(client.answer(11).status(), 13);
  client.call(13, kEcho, "", {{"grpc-encoding", "snappy"}});
  const Answer2 unknown = client.answer(13);
  EXPECT_EQ(unknown.status(), 12);
  EXPECT_EQ(unknown.field("grpc-accept-encoding"), "identity,gzip");
  expect_good(client, 15);
}

TEST_F(GrpcFrames, UncompressedMessagesAreChargedAsTheyGrow) {
  ServerOptions options;
  options.limits.process_memory_max = 4u << 20;
  start(std::move(options));
  Raw client{url_};
  // Its end is cut off, which shows only when all of it has been uncompressed.
  const std::string whole = zipped_zeros(15'000'000);
  const std::string cut = Raw::message(whole.substr(0, whole.size() - 9), true);
  std::uint32_t stream = 1;
  for (const std::string_view method : {kEcho, kJoin}) {
    client.send(Raw::head(stream, method, {{"grpc-encoding", "gzip"}}) + Raw::data(stream, cut, true));
    const Answer2 answer = client.answer(stream);
    EXPECT_EQ(answer.status(), 8);
    EXPECT_NE(answer.field("grpc-message").find("process_memory_max"), std::string::npos);
    stream += 2;
  }
  // Each is within the limit, and gives its memory back.
  const std::string fits = Raw::message(zipped_zeros(1'000'000), true);
  for (int i = 0; i < 40; ++i) {
    client.send(Raw::head(stream, i % 2 == 0 ? kEcho : kJoin, {{"grpc-encoding", "gzip"}}) +
                Raw::data(stream, fits, true));
    EXPECT_EQ(client.answer(stream).status(), 3);  // zeros are no message of Protocol Buffers
    stream += 2;
  }
  expect_good(client, stream);
}

TEST_F(GrpcFrames, TimeoutsAreRead) {
  start();
  Raw client{url_};
  std::uint32_t stream = 1;
  for (const char* bad : {"", "1", "S", "123456789S", "-1S", "1x", "1.5S"}) {
    client.call(stream, kEcho, "", {{"grpc-timeout", bad}});
    EXPECT_EQ(client.answer(stream).status(), 13) << bad;
    stream += 2;
  }
  for (const char* good : {"99999999H", "1M", "60S", "60000m", "60000000u"}) {
    client.call(stream, kEcho, text_bytes("x"), {{"grpc-timeout", good}});
    EXPECT_EQ(client.answer(stream).status(), 0) << good;
    stream += 2;
  }
  for (const char* passed : {"0n", "5m"}) {
    client.call(stream, kWait, "", {{"grpc-timeout", passed}});
    EXPECT_EQ(client.answer(stream).status(), 4) << passed;
    stream += 2;
  }
}

TEST_F(GrpcFrames, BinaryMetadataMayBePaddedOrListed) {
  start();
  Raw client{url_};
  client.call(1, kEcho, "", {{"echo-a-bin", "AQI="}});
  EXPECT_EQ(client.answer(1).field("echo-a-bin"), "AQI");
  client.call(3, kEcho, "", {{"echo-a-bin", "AQI, /w"}});
  EXPECT_EQ(client.answer(3).field("echo-a-bin"), "/w");
  client.call(5, kEcho, "", {{"echo-a-bin", "A!"}});
  EXPECT_EQ(client.answer(5).status(), 13);
  expect_good(client, 7);
}

TEST_F(GrpcFrames, AnEmptyBinaryValueLeavesTheValueBeforeItAlone) {
  start();
  Raw client{url_};
  client.call(1, kFail, failure_bytes(5, "a=="), {{"echo-a-bin", ""}});
  const Answer2 answer = client.answer(1);
  EXPECT_EQ(answer.status(), 5);
  EXPECT_EQ(answer.field("grpc-message"), "a==");
  EXPECT_TRUE(answer.fields.contains("echo-a-bin"));
  EXPECT_EQ(answer.field("echo-a-bin"), "");
  expect_good(client, 3);
}

TEST_F(GrpcFrames, MetadataThatGrpcCannotCarryFailTheirCall) {
  start();
  Raw client{url_};
  client.call(1, kEcho, "", {{"echo-last", "\xc3\xa4"}});
  const Answer2 value = client.answer(1);
  EXPECT_EQ(value.status(), 3);
  EXPECT_NE(value.field("grpc-message").find("echo-last"), std::string::npos);
  client.call(3, kEcho, "", {{"echo-initial!", "x"}});
  EXPECT_EQ(client.answer(3).status(), 3);
  expect_good(client, 5);
}

TEST_F(GrpcFrames, MetadataAndHeadersAreLimited) {
  start({}, {.header_bytes_max = 10'000});
  Raw client{url_};
  client.call(1, kEcho, "", {{"a", std::string(8000, 'x')}, {"b", std::string(400, 'x')}});
  EXPECT_EQ(client.answer(1).status(), 8);
  std::vector<std::pair<std::string, std::string>> many(65, {"a", "x"});
  client.call(3, kEcho, "", many);
  EXPECT_EQ(client.answer(3).status(), 8);
  client.call(5, kEcho, "", {{"user-agent", std::string(10'000, 'x')}});
  const Answer2 large = client.answer(5);
  EXPECT_EQ(large.status(), 8);
  EXPECT_NE(large.field("grpc-message").find("header_bytes_max"), std::string::npos);
  expect_good(client, 7);
}

TEST_F(GrpcFrames, UpperCaseNamesResetTheirStream) {
  start();
  Raw client{url_};
  client.call(1, kEcho, "", {{"Upper", "x"}});
  EXPECT_EQ(client.answer(1).reset, kProtocolError);
  expect_good(client, 3);
}

TEST_F(GrpcFrames, BrokenFramesEndTheConnection) {
  start();
  const std::string bad[] = {
      Raw::data(0, "x"),                                     // data of no stream
      Raw::frame(Raw::kHeaders, Raw::kEndHeaders, 2, ""),    // an even id
      Raw::frame(Raw::kPing, 0, 0, "1234567"),               // a length that no ping has
      Raw::frame(Raw::kWindow, 0, 0, Raw::number(0)),        // a credit of nothing
      Raw::frame(Raw::kContinuation, 0, 1, ""),              // the rest of nothing
      Raw::frame(Raw::kData, 8, 1, std::string(1, '\x7f')),  // more padding than bytes, of an idle stream
      Raw::frame(Raw::kHeaders, Raw::kEndHeaders, 1, std::string(8, '\xff')),  // no HPACK
  };
  for (const std::string& bytes : bad) {
    Raw client{url_};
    client.send(bytes);
    EXPECT_GT(client.end(), 0);
  }
  expect_others_served();
  await_no_connection();
  EXPECT_EQ(server_->stats().refused[RefusalReason::kCarrierRules], std::size(bad));
  EXPECT_EQ(server_->stats().protocol_errors, std::size(bad));
}

TEST_F(GrpcFrames, OverflowingWindowsResetTheirStream) {
  start();
  Raw client{url_};
  client.send(Raw::head(1, kWait) + Raw::frame(Raw::kWindow, 0, 1, Raw::number(0x7fffffff)));
  EXPECT_EQ(client.answer(1).reset, 3);
  expect_good(client, 3);
}

TEST_F(GrpcFrames, FloodsOfFramesThatBringNothingEndTheConnection) {
  start();
  const std::string idle[] = {Raw::frame(Raw::kPing, 0, 0, "12345678"), Raw::frame(Raw::kSettings, 0, 0),
                              Raw::frame(Raw::kPriority, 0, 1, std::string("\0\0\0\0\x10", 5)),
                              Raw::frame(Raw::kWindow, 0, 0, Raw::number(1)), Raw::data(1, "")};
  for (const std::string& one : idle) {
    SCOPED_TRACE(static_cast<int>(one[3]));
    Raw client{url_};
    client.send(Raw::head(1, kJoin));
    std::string many;
    for (int i = 0; i < 500; ++i) many += one;
    // The answers are read meanwhile, so that the limit for queued answers is not the one that ends it.
    bool ended = false;
    for (int i = 0; i < 100 && !ended; ++i) {
      ended = !client.send(many) || !client.send(Raw::head(2 * i + 3u, kEcho, {}, true));
      for (bool answered = false; !ended && !answered;) {
        const Frame2 got = client.read();
        answered = got.type == Raw::kHeaders;
        ended = !client.take(got) || client.goaway() != -1;
      }
    }
    EXPECT_TRUE(ended);
    EXPECT_TRUE(client.goaway() == -1 || client.goaway() == kCalm) << client.goaway();
  }
  expect_others_served();
  await_no_connection();
  EXPECT_EQ(server_->stats().protocol_errors, std::size(idle));
}

TEST_F(GrpcFrames, ManyRequestsMayEndWithAnEmptyFrame) {
  start();
  Raw client{url_};
  const std::string failure = Raw::message(failure_bytes(5, ""));
  std::uint32_t stream = 1;
  for (int i = 0; i < 100; ++i) {  // more than a flood may have
    std::string calls;
    for (int call = 0; call < 100; ++call, stream += 2) {
      calls += Raw::head(stream, kFail) + Raw::data(stream, failure) + Raw::data(stream, "", true);
    }
    ASSERT_TRUE(client.send(calls));
    ASSERT_EQ(client.answer(stream - 2).status(), 5) << i;
  }
  // The end of a stream that is gone brings nothing.
  client.send(Raw::head(stream, kWait) + Raw::frame(Raw::kReset, 0, stream, Raw::number(8)));
  std::string ends;
  for (int i = 0; i < 500; ++i) ends += Raw::data(stream, "", true);
  for (int i = 0; i < 100; ++i) client.send(ends);
  EXPECT_FALSE(settle(client));
}

TEST_F(GrpcFrames, AClientThatReadsNoAcknowledgementsLosesItsConnection) {
  start();
  Raw client{url_, {}, 4096};
  std::string pings;
  for (int i = 0; i < 1000; ++i) pings += Raw::frame(Raw::kPing, 0, 0, "12345678");
  while (client.send(pings)) continue;
  expect_others_served();
}

TEST_F(GrpcFrames, RapidResetsEndTheConnection) {
  start();
  Raw client{url_};
  std::string resets;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    const std::uint32_t stream = 2 * i + 1;
    resets += Raw::head(stream, kWait) + Raw::data(stream, Raw::message(""), true) +
              Raw::frame(Raw::kReset, 0, stream, Raw::number(8));
  }
  client.send(resets);
  client.end();
  await(probe_.waiting, 0);
  expect_others_served();
}

TEST_F(GrpcFrames, ContinuationsAreLimited) {
  start();
  Raw client{url_};
  const std::string block = Raw::call_block(kEcho);
  client.send(Raw::frame(Raw::kHeaders, 0, 1, block));
  for (int i = 0; i < 100; ++i) {
    if (!client.send(Raw::frame(Raw::kContinuation, 0, 1, Raw::block({{"a", "x"}})))) break;
  }
  client.end();
  expect_others_served();
}

TEST_F(GrpcFrames, CallsInFlightAreLimited) {
  start({}, {.calls_in_flight_max = 3});
  Raw client{url_};
  for (std::uint32_t stream = 1; stream <= 7; stream += 2) client.call(stream, kWait, "");
  EXPECT_EQ(client.answer(7).reset, 7);  // REFUSED_STREAM: the call has not run
  await(probe_.waiting, 3);
  client.send(Raw::frame(Raw::kReset, 0, 1, Raw::number(8)));
  expect_good(client, 9);
}

TEST_F(GrpcFrames, OptionsMayBeExtremeButNotZero) {
  for (const std::uint32_t extreme : {1u, UINT32_MAX}) {
    start({}, {.calls_in_flight_max = extreme, .header_bytes_max = UINT32_MAX});
    expect_others_served();
    server_.reset();
  }
  for (const GrpcOptions& bad : {GrpcOptions{.calls_in_flight_max = 0}, GrpcOptions{.header_bytes_max = 0}}) {
    Server server{{.listen = {"tcp://127.0.0.1:0"}, .protocols = {weft::grpc(bad)}}};
    const Result<void> started = server.start();
    ASSERT_FALSE(started.ok());
    EXPECT_EQ(started.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(started.status().to_string().find("GrpcOptions::"), std::string::npos);
  }
}

TEST_F(GrpcFrames, AResetCancelsItsCallOnly) {
  start();
  Raw client{url_};
  client.call(1, kWait, "");
  client.call(3, kWait, "");
  await(probe_.waiting, 2);
  client.send(Raw::frame(Raw::kReset, 0, 1, Raw::number(8)));
  await(probe_.waiting, 1);
  expect_good(client, 5);
}

TEST_F(GrpcFrames, AnswersObeyTheWindowOfTheirStream) {
  start();
  Raw client{url_, {{4, 0}}};  // SETTINGS_INITIAL_WINDOW_SIZE
  const std::string bytes = text_bytes("in pieces");
  client.call(1, kEcho, bytes);
  EXPECT_EQ(client.await(Raw::kHeaders).stream, 1u);
  std::string body;
  while (body.size() < 5 + bytes.size()) {
    client.send(Raw::frame(Raw::kWindow, 0, 1, Raw::number(3)));
    const Frame2 data = client.await(Raw::kData);
    ASSERT_EQ(data.stream, 1u);
    ASSERT_LE(data.payload.size(), 3u);
    body += data.payload;
  }
  EXPECT_EQ(body, Raw::message(bytes));
  EXPECT_EQ(client.answer(1).status(), 0);
}

TEST_F(GrpcFrames, AnEarlyEndOfACallStopsItsRequest) {
  ServerOptions options;
  options.limits.body_bytes_max = 1000;
  start(std::move(options));
  Raw client{url_};
  client.send(Raw::head(1, kEcho) + Raw::data(1, Raw::message(std::string(2000, 'x')).substr(0, 100)));
  EXPECT_EQ(client.answer(1).status(), 8);
  const Frame2 reset = client.await(Raw::kReset);
  EXPECT_EQ(reset.stream, 1u);
  EXPECT_EQ(Raw::number_at(reset.payload, 0, 4), 0u);
  // The rest is on its way meanwhile.
  client.send(Raw::data(1, std::string(100, 'x')));
  expect_good(client, 3);
}

TEST_F(GrpcFrames, AStreamWhoseHandlerDoesNotReadGetsNoCredit) {
  ServerOptions options;
  options.limits.stream_window = 64 * 1024;
  start(std::move(options));
  Raw client{url_};
  client.await(Raw::kSettings);
  client.send(Raw::frame(Raw::kSettings, Raw::kAck, 0));
  client.send(Raw::head(1, kJoinLate));
  // The items that the handler may hold are credited, one more window waits.
  const std::string item = Raw::message(text_bytes(std::string(1000, 'x')));
  std::uint64_t sent = 0;
  std::uint64_t calls = 3;
  int items = 0;
  while (sent + item.size() <= 64 * 1024 + client.credit(1)) {
    client.send(Raw::data(1, item));
    sent += item.size();
    ++items;
    if (items % 16 == 0) {  // a call, to read the credits meanwhile
      expect_good(client, static_cast<std::uint32_t>(calls));
      calls += 2;
    }
  }
  EXPECT_LT(sent, 3u * 64 * 1024);
  EXPECT_EQ(probe_.joining, 1);
  probe_.may_go = true;
  client.send(Raw::data(1, "", true));
  const Answer2 answer = client.answer(1);
  EXPECT_EQ(answer.status(), 0) << answer.field("grpc-message");
  EXPECT_EQ(text_in(answer), std::to_string(items));
}

TEST_F(GrpcFrames, AStopServesTheCallsThatAreOnTheirWay) {
  start();
  Raw client{url_};
  expect_good(client, 1);
  client.call(3, "/grpc_probe.Probe/Hold", text_bytes("held"));
  await(probe_.holding, 1);
  server_->stop(1min);
  client.await(Raw::kGoaway);
  const Frame2 ping = client.await(Raw::kPing);
  // This one crossed the announcement.
  client.call(5, kEcho, text_bytes("late"));
  EXPECT_EQ(text_in(client.answer(5)), "late");
  client.send(Raw::frame(Raw::kPing, Raw::kAck, 0, ping.payload));
  const Frame2 goaway = client.await(Raw::kGoaway);
  EXPECT_EQ(Raw::number_at(goaway.payload, 0, 4), 5u);
  client.call(7, kEcho, text_bytes("too late"));
  probe_.may_go = true;
  EXPECT_EQ(text_in(client.answer(3)), "held");
  client.end();
  server_->wait();
}

TEST_F(GrpcFrames, CallsBehindTheLastOneOfAStopAreNotServed) {
  start();
  Raw client{url_};
  client.call(1, "/grpc_probe.Probe/Hold", text_bytes("held"));
  await(probe_.holding, 1);
  server_->stop(1min);
  client.await(Raw::kGoaway);
  const Frame2 ping = client.await(Raw::kPing);
  // The server learns of both together, and names the last stream before it comes to the second one.
  client.send(Raw::frame(Raw::kPing, Raw::kAck, 0, ping.payload) + Raw::head(3, kEcho) +
              Raw::data(3, Raw::message(text_bytes("too late")), true));
  EXPECT_EQ(Raw::number_at(client.await(Raw::kGoaway).payload, 0, 4), 1u);
  EXPECT_EQ(client.answer(3).reset, 7);  // REFUSED_STREAM
  probe_.may_go = true;
  EXPECT_EQ(text_in(client.answer(1)), "held");
  client.end();
  server_->wait();
  EXPECT_EQ(stats_of(kEcho).calls, 0u);
}

TEST_F(GrpcFrames, AForcedStopDoesNotWaitForAnswersThatNobodyTakes) {
  ServerOptions options;
  options.limits.stall_timeout = 1h;
  start(std::move(options));
  Raw client{url_, {{4, 1u << 30}}, 4096};
  client.send(Raw::frame(Raw::kWindow, 0, 0, Raw::number(1u << 30)));
  grpc_probe::Texts request;
  request.set_count(100'000);
  request.set_size(10'000);
  client.call(1, "/grpc_probe.Probe/Count", request.SerializeAsString());
  // Up to the point where no more leaves.
  for (int counted = -1, same = 0; same < 10'000; std::this_thread::yield()) {
    same = std::exchange(counted, probe_.counted) == counted ? same + 1 : 0;
  }
  client.end_sending();
  await(probe_.counting, 0);
  server_->stop(0s);
  server_->wait();
}

TEST_F(GrpcFrames, AnErrorOfAStreamIsNoBreachOfItsConnection) {
  start();
  {
    Raw client{url_};
    client.call(1, kEcho, "", {{"Upper", "x"}});
    EXPECT_EQ(client.answer(1).reset, kProtocolError);
    client.send(Raw::frame(Raw::kGoaway, 0, 0, Raw::number(0) + Raw::number(0)));
    EXPECT_EQ(client.end(), -1);
  }
  await_no_connection();
  EXPECT_EQ(server_->stats().protocol_errors, 0u);
}

TEST_F(GrpcFrames, AClientThatSaysGoawayGetsItsLastAnswers) {
  start();
  Raw client{url_};
  client.call(1, "/grpc_probe.Probe/Hold", text_bytes("held"));
  await(probe_.holding, 1);
  client.send(Raw::frame(Raw::kGoaway, 0, 0, Raw::number(0) + Raw::number(0)));
  probe_.may_go = true;
  EXPECT_EQ(text_in(client.answer(1)), "held");
  EXPECT_EQ(client.end(), -1);
  expect_others_served();
}

TEST_F(GrpcFrames, APeerThatSaysHalfAPrefaceIsDropped) {
  ServerOptions options;
  options.limits.hello_timeout = 20ms;
  start(std::move(options));
  const int fd = connect_to_loopback(url_);
  EXPECT_EQ(::send(fd, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24, MSG_NOSIGNAL), 24);
  char bytes[256];
  long got = 0;
  while ((got = ::recv(fd, bytes, sizeof bytes, 0)) > 0) continue;
  EXPECT_EQ(got, 0);
  ::close(fd);
  expect_others_served();
}

TEST_F(GrpcFrames, APeerThatAnswersNoPingIsDropped) {
  ServerOptions options;
  options.limits.ping_interval = 100ms;
  start(std::move(options));
  Raw client{url_};
  expect_good(client, 1);
  client.call(3, kWait, "");
  EXPECT_EQ(client.read().type, Raw::kPing);
  while (client.read().type != 0xFF) continue;
  await(probe_.waiting, 0);
}

}  // namespace
}  // namespace weft::testing
