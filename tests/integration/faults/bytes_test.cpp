// SPDX-License-Identifier: Apache-2.0
// Faults, part "bytes from a peer": whatever arrives, the server closes that connection or fails that call,
// and goes on serving the others.
#include <algorithm>
#include <bit>
#include <random>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/heap_count.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "weft/detail/wire/crc32c.hpp"

namespace weft::faults::bytes_tests {

using namespace weft::detail;
namespace {

using wire::FrameType;

Task<int> until_cancelled(int value) {
  [[maybe_unused]] const auto outcome = co_await sleep_for(1h);
  co_return value;
}

struct NamedFrame {
  std::string name;
  std::string bytes;
};

std::vector<NamedFrame> one_of_each_type() {
  wire::FrameHeader answer;
  answer.type = FrameType::kAnswer;
  answer.id = 77;
  return {{"request", request_bytes<&add>(1, 2, 3)},
          {"request with attachment", frame_bytes(request_header<&attachment_size>(2), "", "twelve bytes")},
          {"answer", frame_bytes(answer, "late")},
          {"answer with attachment", frame_bytes(answer, "late", "and more")},
          {"cancel", control_bytes(FrameType::kCancel, 5)},
          {"ping", control_bytes(FrameType::kPing, 6)},
          {"pong", control_bytes(FrameType::kPong, 6)},
          {"goaway", frame_bytes({.type = FrameType::kGoaway}, "bye")}};
}

class BytesFromAPeer : public FaultTest {
 protected:
  Server& serve_all(ServerOptions options = {}) {
    return serve(std::move(options), [](Server& server) {
      server.register_handler<&add>();
      server.register_handler<&echo>({.body_bytes_max = 1u << 20});
      server.register_handler<&attachment_size>({.attachment_bytes_max = 64 * 1024});
      server.register_handler<&until_cancelled>();
    });
  }
  /// An honest client's call works.
  void expect_served(const Server& server) {
    ClientOptions options;
    options.call_timeout = 30s;
    Client& honest = client(server.urls().front(), options);
    const Result<int> sum = wait_for(honest.start<&add>(20, 22));
    ASSERT_TRUE(sum.ok()) << sum.status().to_string();
    EXPECT_EQ(*sum, 42);
    honest.close();
  }
  /// The server ends a connection that said hello and then `bytes`, counts it, and serves on.
  void expect_refused(Server& server, const std::string& bytes, const std::string& what) {
    const std::uint64_t before = server.stats().protocol_errors;
    HostilePeer peer{server.urls().front()};
    peer.send(hello_bytes() + bytes);
    EXPECT_TRUE(peer.closed_by_other_side()) << what;
    ASSERT_TRUE(eventually([&] { return server.stats().protocol_errors == before + 1; })) << what;
  }
};

TEST_F(BytesFromAPeer, EveryFrameCutAfterEveryByteAndThenEndedOrResetLeavesTheServerServing) {
  Server& server = serve_all();
  std::vector<NamedFrame> frames = one_of_each_type();
  frames.push_back({"hello", {}});
  for (const NamedFrame& frame : frames) {
    const std::string whole = frame.name == "hello" ? hello_bytes() : hello_bytes() + frame.bytes;
    for (std::size_t cut = whole.size() - (frame.name == "hello" ? whole.size() : frame.bytes.size());
         cut < whole.size(); ++cut) {
      HostilePeer ends{server.urls().front()};
      ASSERT_TRUE(ends.connected());
      ends.send(std::string_view{whole}.substr(0, cut));
      ends.end_sending();
      EXPECT_TRUE(ends.closed_by_other_side()) << frame.name << " cut after " << cut;
      HostilePeer resets{server.urls().front()};
      resets.send(std::string_view{whole}.substr(0, cut));
      resets.reset();
    }
  }
  EXPECT_TRUE(at_rest(server));
  EXPECT_EQ(server.stats().protocol_errors, 0u) << "a peer that dies has not broken the protocol";
  expect_served(server);
}

TEST_F(BytesFromAPeer, EveryFrameDeliveredOneByteAtATimeStillWorks) {
  Server& server = serve_all();
  HostilePeer peer{server.urls().front()};
  std::string all = hello_bytes();
  for (const NamedFrame& frame : one_of_each_type()) all += frame.bytes;
  for (const char& byte : all) ASSERT_TRUE(peer.send({&byte, 1}));
  ASSERT_TRUE(peer.receive_hello());
  const auto sum = peer.receive_frame();
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->header.id, 1u);
  EXPECT_TRUE(wire::AnswerView{sum->header}.succeeded());
  EXPECT_EQ(sum->body, body_of(5));
  const auto size = peer.receive_frame();
  ASSERT_TRUE(size);
  EXPECT_EQ(size->body, body_of(std::uint64_t{12}));
  const auto pong = peer.receive_frame();
  ASSERT_TRUE(pong);
  EXPECT_EQ(pong->header.type, FrameType::kPong);
  EXPECT_EQ(pong->header.id, 6u);
}

TEST_F(BytesFromAPeer, LengthsOverTheLimitAreRefusedFromTheHeaderAloneAndThoseUnderItAreServed) {
  ServerOptions options;
  options.limits.body_bytes_max = 4096;
  options.limits.attachment_bytes_max = 32 * 1024;
  Server& server = serve_all(std::move(options));
  for (const std::uint32_t length : {4097u, 8192u, 0x7FFFFFFFu, 0xFFFFFFF8u, 0xFFFFFFFFu}) {
    wire::FrameHeader header = request_header<&echo>(1);
    header.body_bytes = length;
    expect_refused(server, header_bytes(header), "body of " + std::to_string(length));
  }
  for (const std::uint64_t length : {std::uint64_t{32 * 1024 + 1}, ~std::uint64_t{7}, ~std::uint64_t{0}}) {
    wire::FrameHeader header = request_header<&attachment_size>(1);
    header.flags = wire::FrameFlags::kAttachment;
    header.attachment_bytes = length;
    expect_refused(server, header_bytes(header), "attachment of " + std::to_string(length));
  }
  HostilePeer peer{server.urls().front()};
  peer.send(hello_bytes());
  ASSERT_TRUE(peer.receive_hello());
  for (const std::size_t length : {0u, 4095u, 4096u}) {
    // Nonsense as arguments: the call fails, and the next on the same connection is looked at all the same.
    ASSERT_TRUE(peer.send(frame_bytes(request_header<&echo>(length + 1), std::string(length, '\xFF'))));
    const auto answer = peer.receive_frame();
    ASSERT_TRUE(answer) << length;
    EXPECT_EQ(answer->header.id, length + 1);
    EXPECT_FALSE(wire::AnswerView{answer->header}.succeeded());
  }
  ASSERT_TRUE(peer.send(frame_bytes(request_header<&attachment_size>(9), "", std::string(32 * 1024, 'x'))));
  const auto size = peer.receive_frame();
  ASSERT_TRUE(size);
  EXPECT_EQ(size->body, body_of(std::uint64_t{32 * 1024}));
}

TEST_F(BytesFromAPeer, AHeaderWithAnythingThatHasNoMeaningThereEndsTheConnectionAndIsCounted) {
  Server& server = serve_all();
  for (const unsigned type : {0u, 7u, 8u, 127u}) {
    expect_refused(server, control_bytes(static_cast<FrameType>(type)), "type " + std::to_string(type));
  }
  wire::FrameHeader flagged = request_header<&add>(1);
  flagged.flags = 0x08;
  expect_refused(server, header_bytes(flagged), "flag 08");
  using Spoil = void (*)(wire::FrameHeader&);
  const std::pair<const char*, Spoil> spoilt[] = {
      {"attachment flag without length", [](wire::FrameHeader& h) { h.flags = 1; }},
      {"attachment length without flag", [](wire::FrameHeader& h) { h.attachment_bytes = 8; }},
      {"metadata longer than the body", [](wire::FrameHeader& h) { h.typed16 = 17, h.body_bytes = 16; }},
      {"too much metadata",
       [](wire::FrameHeader& h) { h.typed16 = wire::kMetadataBytesMax + 1, h.body_bytes = 64 * 1024; }},
      {"ping with a body", [](wire::FrameHeader& h) { h = {.body_bytes = 8, .type = FrameType::kPing}; }},
      {"ping with a method", [](wire::FrameHeader& h) { h = {.type = FrameType::kPing, .typed64 = 1}; }},
      {"goaway with an id", [](wire::FrameHeader& h) { h = {.type = FrameType::kGoaway, .id = 1}; }},
      {"success with advice",
       [](wire::FrameHeader& h) { h = {.type = FrameType::kAnswer, .typed16 = 0x1000}; }},
      {"cancel with a timeout", [](wire::FrameHeader& h) { h = {.type = FrameType::kCancel, .timeout = 1}; }},
  };
  for (const auto& [what, spoil] : spoilt) {
    wire::FrameHeader header = request_header<&add>(1);
    spoil(header);
    expect_refused(server, header_bytes(header), what);
  }
  std::string padded = request_bytes<&echo>(1, std::string_view{"five!"});
  padded.back() = 1;
  expect_refused(server, padded, "padding that is not zero");
  EXPECT_TRUE(at_rest(server));
  expect_served(server);
}

TEST_F(BytesFromAPeer, FramesThatOnlyALaterBuildKnowsAreDroppedAndCountedAndTheCallsAroundThemServed) {
  ServerOptions options;
  options.limits.attachment_bytes_max = 1u << 20;
  Server& server = serve_all(std::move(options));
  HostilePeer peer{server.urls().front()};
  peer.send(hello_bytes());
  ASSERT_TRUE(peer.receive_hello());
  std::uint64_t skipped = 0;
  const auto expect_sum = [&](std::uint64_t id) {
    wire::FrameHeader header = request_header<&add>(id);
    header.flags = wire::FrameFlags::kOptional;
    peer.send(frame_bytes(header, body_of(20, 22)));
    const auto answer = peer.receive_frame();
    ASSERT_TRUE(answer && answer->header.id == id && wire::AnswerView{answer->header}.succeeded());
    EXPECT_EQ(server.stats().frames_skipped, skipped);
  };
  for (const std::size_t body : {0u, 8u, 70'000u, 1'000'000u}) {
    for (const std::size_t attachment : {0u, 9u, 300'000u}) {
      wire::FrameHeader header{.type = static_cast<FrameType>(0x80 + skipped), .typed16 = 7, .id = 1};
      header.typed64 = header.schema = 9;
      peer.send(frame_bytes(header, std::string(body, 'b'), std::string(attachment, 'a')));
      expect_sum(++skipped);
    }
  }
  // As many as it likes, and none of them costs memory that stays.
  const std::string crowd(frame_bytes({.type = static_cast<FrameType>(0xFF)}, std::string(100, 'c')));
  for (int i = 0; i < 10'000; ++i) peer.send(crowd);
  skipped += 10'000;
  expect_sum(skipped);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  expect_refused(server, header_bytes({.body_bytes = 0x7FFFFFFF, .type = static_cast<FrameType>(0x90)}),
                 "a body over the limit");
  expect_refused(server,
                 header_bytes({.type = static_cast<FrameType>(0x90),
                               .flags = wire::FrameFlags::kAttachment,
                               .attachment_bytes = (1u << 20) + 1}),
                 "an attachment over the limit");
  ::shutdown(peer.fd(), SHUT_WR);
  EXPECT_TRUE(at_rest(server));
}

TEST_F(BytesFromAPeer, AnotherProtocolsFirstBytesOrASpoiltHelloEndTheConnectionAndAreCounted) {
  Server& server = serve_all();
  std::vector<std::string> beginnings = {"GET / HTTP/1.1\r\n\r\n",
                                         "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                                         "PRPC\0\0\0\0",
                                         "SSH-2.0-client\r\n",
                                         std::string("\x16\x03\x01\x02\x00\x01\x00", 7),
                                         "\n"};
  const std::string good = hello_bytes();
  for (const std::size_t at :
       {0u, 1u, 2u, 3u, 4u, 5u, 6u, 12u, 24u, 40u}) {  // magic, version, zeros, required, ...
    beginnings.push_back(good);
    beginnings.back()[at] = static_cast<char>(beginnings.back()[at] ^ 0x40);
  }
  for (const std::uint32_t length : {0u, 1u, 8u, 4096u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    beginnings.push_back(good);
    std::memcpy(beginnings.back().data() + 8, &length, sizeof length);
    beginnings.back().resize(length == 4096 ? 16 + 4096 : good.size());
  }
  std::uint64_t expected = 0;
  for (const std::string& beginning : beginnings) {
    HostilePeer peer{server.urls().front()};
    peer.send(beginning);
    EXPECT_TRUE(peer.closed_by_other_side()) << beginning;
    ++expected;
    EXPECT_TRUE(eventually([&] { return server.stats().protocol_errors == expected; }))
        << server.stats().protocol_errors << " after " << expected << ": " << beginning;
  }
  expect_served(server);
}

TEST_F(BytesFromAPeer, RandomBytesDoNoHarm) {
  Server& server = serve_all();
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    std::mt19937 random{seed};
    std::string bytes = seed % 3 != 0 ? hello_bytes() : std::string{};
    if (seed % 3 == 1) bytes += header_bytes(request_header<&echo>(seed)).substr(0, random() % 40);
    const std::size_t size = random() % 400;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(random()));
    HostilePeer peer{server.urls().front()};
    peer.send(bytes);
    peer.end_sending();
    EXPECT_TRUE(peer.closed_by_other_side()) << "seed " << seed;
  }
  EXPECT_TRUE(at_rest(server));
  expect_served(server);
}

TEST_F(BytesFromAPeer, MemoryBeforeTheVerdictStaysUnder64KiBOfEachConnection) {
  constexpr std::size_t kPeers = 32;
  ServerOptions options;
  options.limits.body_bytes_max = 64u << 20;
  Server& server = serve_all(std::move(options));
  expect_served(server);  // the first peer, so that what is kept for later is there
  const std::size_t before = heap_bytes();
  restart_heap_peak();
  std::vector<HostilePeer> peers;
  for (std::size_t i = 0; i < kPeers; ++i) {
    peers.emplace_back(server.urls().front());
    wire::FrameHeader header = request_header<&echo>(1);
    header.body_bytes = 64u << 20;  // legal, and announced to be large: 10,000 bytes of it come
    ASSERT_TRUE(peers.back().send(hello_bytes() + header_bytes(header) + std::string(10'000, 'x')));
    ASSERT_TRUE(peers.back().receive_hello());
  }
  expect_served(server);  // one who came later has been served: what was sent before has been taken in
  const std::size_t each = (heap_peak_bytes() - before) / kPeers;
  std::printf("%zu bytes for a connection whose frame has only begun\n", each);
  if (kHeapIsCounted) {  // one chunk, and the connection itself
    EXPECT_LE(each, 64 * 1024 + 8 * 1024u);
  }
  peers.clear();
  EXPECT_TRUE(at_rest(server));
}

TEST_F(BytesFromAPeer, AnAttachmentOverItsMethodsLimitIsRefusedWithoutBufferingItAndTheNextCallWorks) {
  Server& server = serve_all();
  HostilePeer peer{server.urls().front()};
  peer.send(hello_bytes());
  ASSERT_TRUE(peer.receive_hello());
  const std::string large = frame_bytes(request_header<&attachment_size>(1), "", std::string(8u << 20, 'x'));
  const std::size_t before = heap_bytes();
  restart_heap_peak();
  ASSERT_TRUE(peer.send(large));
  const auto refused = peer.receive_frame();
  if (kHeapIsCounted) {
    EXPECT_LE(heap_peak_bytes() - before, 384 * 1024u);
  }
  ASSERT_TRUE(refused);
  EXPECT_EQ(wire::AnswerView{refused->header}.code(), static_cast<unsigned>(StatusCode::kResourceExhausted));
  EXPECT_NE(refused->body.find("65536"), std::string::npos) << refused->body;
  ASSERT_TRUE(peer.send(frame_bytes(request_header<&attachment_size>(2), "", "small")));
  const auto answered = peer.receive_frame();
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->body, body_of(std::uint64_t{5}));
  EXPECT_EQ(server.stats().calls_refused, 1u);
}

TEST_F(BytesFromAPeer, ABodyOverItsMethodsLimitIsRefusedWithoutBufferingItAndTheNextCallWorks) {
  constexpr std::size_t kLarge = 64u << 20;
  ServerOptions options;
  options.limits.body_bytes_max = kLarge;
  Server& server = serve_all(std::move(options));
  HostilePeer peer{server.urls().front()};
  peer.send(hello_bytes());
  ASSERT_TRUE(peer.receive_hello());
  const std::string unlimited =
      frame_bytes(request_header<remote<"nothing", int()>>(2), std::string(kLarge, 'x'));
  const std::string large = frame_bytes(request_header<&echo>(1), std::string(kLarge, 'x'));
  const std::size_t before = heap_bytes();
  restart_heap_peak();
  ASSERT_TRUE(peer.send(large));
  const auto refused = peer.receive_frame();
  ASSERT_TRUE(peer.send(unlimited));
  const auto unknown = peer.receive_frame();
  if (kHeapIsCounted) {
    EXPECT_LE(heap_peak_bytes() - before, 384 * 1024u);
  }
  ASSERT_TRUE(refused && unknown);
  EXPECT_EQ(refused->header.id, 1u);
  EXPECT_EQ(wire::AnswerView{refused->header}.code(), static_cast<unsigned>(StatusCode::kResourceExhausted));
  EXPECT_NE(refused->body.find("1048576"), std::string::npos) << refused->body;
  EXPECT_EQ(wire::AnswerView{unknown->header}.code(), static_cast<unsigned>(StatusCode::kUnimplemented));
  ASSERT_TRUE(peer.send(request_bytes<&add>(3, 2, 3)));
  const auto answered = peer.receive_frame();
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->body, body_of(5));
  EXPECT_EQ(server.stats().refused[RefusalReason::kOverMethodsBody], 1u);
}

TEST_F(BytesFromAPeer, AnUnknownMethodOrAWrongSchemaFailsThatCallOnly) {
  Server& server = serve(ServerOptions{}, [](Server& s) { s.register_handler<method<&add, "sum">>(); });
  Client& caller = client(server.urls().front());
  const Result<int> unknown = wait_for(caller.start<remote<"no such method", int(int)>>(1));
  EXPECT_EQ(unknown.status().code(), StatusCode::kUnimplemented);
  const Result<int> wrong = wait_for(caller.start<remote<"sum", int(std::string)>>("one"));
  EXPECT_EQ(wrong.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(wrong.status().message().find("sum"), std::string_view::npos) << wrong.status().to_string();
  const Result<int> right = wait_for(caller.start<remote<"sum", int(int, int)>>(1, 2));
  ASSERT_TRUE(right.ok()) << right.status().to_string();
  EXPECT_EQ(*right, 3);
  EXPECT_EQ(caller.stats().connections, 1u);
  EXPECT_EQ(server.stats().calls_refused, 2u);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

TEST_F(BytesFromAPeer, TwoCallsInFlightOfOneIdEndTheConnectionAndItsCalls) {
  Server& server = serve_all();
  expect_refused(server, request_bytes<&until_cancelled>(3, 1) + request_bytes<&until_cancelled>(3, 2),
                 "one id twice");
  EXPECT_TRUE(at_rest(server));
  expect_served(server);
}

/// A request with attachment as it travels when checksums are on.
std::string checksummed_request(std::uint64_t id, std::string_view text) {
  std::string bytes = frame_bytes(request_header<&attachment_size>(id), "", text);
  std::string head = bytes.substr(0, wire::kHeaderBytes);
  const auto sum = [](std::string_view part) {
    std::string word(8, '\0');
    const std::uint32_t value = wire::crc32c(as_bytes(part));
    std::memcpy(word.data(), &value, sizeof value);
    return word;
  };
  return head + sum(head) + bytes.substr(wire::kHeaderBytes) + sum(text);
}

TEST_F(BytesFromAPeer, ABitFlippedAnywhereIsDetectedWhileChecksumsAreOn) {
  ServerOptions options;
  options.checksums = true;
  Server& server = serve_all(std::move(options));
  const std::string hello = hello_bytes(wire::Features::kChecksum);
  const std::string good = hello + checksummed_request(1, "fifteen bytes.");
  const auto answered = [&](const std::string& bytes) {
    HostilePeer peer{server.urls().front()};
    peer.send(bytes);
    peer.end_sending();
    if (!peer.receive_hello()) return false;
    const auto answer = peer.receive_frame(true);
    return answer && wire::AnswerView{answer->header}.succeeded();
  };
  ASSERT_TRUE(answered(good));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(answered(flipped)) << "bit " << bit % 8 << " of byte " << bit / 8;
  }
  EXPECT_TRUE(at_rest(server));
  expect_served(server);
}

}  // namespace
}  // namespace weft::faults::bytes_tests
