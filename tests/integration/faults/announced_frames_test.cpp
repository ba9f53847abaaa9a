// SPDX-License-Identifier: Apache-2.0
// Faults, part "resources": peers that announce long frames, send a part and no more, beside one that sends
// all of its own. What they make a loop hold for bytes that never come is bounded, and is given back however
// it ends.
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"

namespace weft::faults::announced_frames_tests {

using namespace weft::detail;
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::uint32_t kBody = 3 << 20;
// More than a standard chunk has room for: what follows goes into one for the whole frame.
constexpr std::size_t kSent = 64 * 1024 + 8;

class AnnouncedFrames : public StillFaultTest {
 protected:
  using Peers = std::vector<std::unique_ptr<HostilePeer>>;

  Server& serve_echo(ServerOptions options = {}) {
    return serve(std::move(options), [](Server& server) { server.register_handler<&echo>(); });
  }
  ChunkPool& chunks() { return loop().chunks(); }
  void send_while_turning(HostilePeer& peer, std::string_view bytes) {
    faults::send_while_turning(loop(), peer, bytes);
  }
  // An honest call, after which memory of its frames is kept.
  void call_with_much(Client& honest) {
    const std::string text(kBody, 't');
    const Result<std::string> answer = wait_for(honest.start<&echo>(text));
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(answer->size(), text.size());
  }
  static std::string beginning() {
    wire::FrameHeader header = request_header<&echo>(1);
    header.body_bytes = kBody;
    return header_bytes(header) + std::string(kSent, 'x');
  }
  // Peers that sent the beginning of a frame, each behind an honest call.
  Peers announcing(Server& server, std::size_t count) {
    Client& honest = client();
    Peers peers;
    for (std::size_t i = 0; i < count; ++i) {
      call_with_much(honest);
      peers.push_back(std::make_unique<HostilePeer>(server.urls().front()));
      send_while_turning(*peers.back(), hello_bytes() + beginning());
    }
    EXPECT_EQ(server.stats().connections, count + 1);
    return peers;
  }
  bool nothing_is_left() {
    return turn_until(loop(), [&] { return chunks().chunks_out() == 0 && chunks().unfilled_bytes() == 0; });
  }
};

TEST_F(AnnouncedFrames, OfManyPeersHoldABoundedMemoryUntilTheirTimeIsOver) {
  Server& server = serve_echo();
  const Peers peers = announcing(server, 40);
  EXPECT_LE(chunks().unfilled_bytes(), 64 * kMiB);
  EXPECT_GE(chunks().unfilled_bytes(), 32 * kMiB);
  call_with_much(client());
  pass(11s);
  EXPECT_TRUE(nothing_is_left());
  EXPECT_EQ(server.stats().connections, 2u) << "the honest ones";
}

TEST_F(AnnouncedFrames, OfAPeerThatTricklesAreGivenUpInTheSameTime) {
  Server& server = serve_echo();
  const Peers peers = announcing(server, 2);
  EXPECT_GE(chunks().unfilled_bytes(), 2 * 2 * kMiB);
  pass(9s);
  for (const auto& peer : peers) send_while_turning(*peer, "x");
  EXPECT_GE(chunks().unfilled_bytes(), 2 * 2 * kMiB);
  pass(2s);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(AnnouncedFrames, OfPeersThatDieOrEndTheirStreamsGiveTheirPartBack) {
  Server& server = serve_echo();
  const Peers peers = announcing(server, 3);
  EXPECT_GE(chunks().unfilled_bytes(), 3 * 2 * kMiB);
  peers[0]->reset();
  peers[1]->end_sending();
  peers[2]->close();
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(AnnouncedFrames, ForWhichThereIsNoMemoryGiveTheirPartBackAndTheRestIsDropped) {
  ServerOptions options;
  options.limits.process_memory_max = 16 * kMiB;
  Server& server = serve_echo(std::move(options));
  const Peers peers = announcing(server, 8);
  EXPECT_GE(chunks().unfilled_bytes(), 8 * 2 * kMiB) << "what was announced is not charged";
  for (const auto& peer : peers) send_while_turning(*peer, std::string(kBody - kSent - 8, 'x'));
  EXPECT_TRUE(turn_until(loop(), [&] { return chunks().unfilled_bytes() == 0; }));
  EXPECT_LT(chunks().chunks_out(), peers.size()) << "some were refused";
  EXPECT_EQ(server.stats().connections, peers.size() + 1);
  pass(11s);
  EXPECT_TRUE(nothing_is_left());
}

// Of n peers that want all they can get each holds 8 / (8n + 1) of the memory, so an honest one has room for
// eight ninths of what is left.
TEST_F(AnnouncedFrames, OfManyPeersThatSendAllButTheEndLeaveRoomForAnHonestOne) {
  constexpr std::size_t kPeers = 20;
  constexpr std::size_t kMemory = 32 * kMiB;
  ServerOptions options;
  options.limits.process_memory_max = kMemory;
  Server& server = serve_echo(std::move(options));
  Client& honest = client();
  const auto call = [&](std::size_t bytes) {
    return wait_for(honest.start<&echo>(std::string(bytes, 't'))).status().code();
  };
  ASSERT_EQ(call(12 * kMiB), StatusCode::kOk);
  std::vector<std::unique_ptr<HostilePeer>> peers;
  wire::FrameHeader header = request_header<&echo>(1);
  header.body_bytes = 16 * kMiB;
  for (std::size_t i = 0; i < kPeers; ++i) {
    peers.push_back(std::make_unique<HostilePeer>(server.urls().front()));
    send_while_turning(*peers.back(), hello_bytes() + header_bytes(header));
  }
  for (int mebibyte = 0; mebibyte < 4; ++mebibyte) {
    for (const auto& peer : peers) send_while_turning(*peer, std::string(kMiB, 'x'));
  }
  EXPECT_EQ(call(12 * kMiB), StatusCode::kResourceExhausted);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(call(1000), StatusCode::kOk);
  // The request and its answer, whose memory counts too.
  EXPECT_EQ(call(kMemory / (8 * kPeers + 1) / 4), StatusCode::kOk);
  // Each sends 64 KiB every 9 s, which counts as progress, and holds what it has.
  for (int i = 0; i < 3; ++i) {
    pass(9s);
    for (const auto& peer : peers) send_while_turning(*peer, std::string(64 * 1024, 'x'));
    EXPECT_EQ(call(1000), StatusCode::kOk);
  }
  EXPECT_EQ(server.stats().connections, kPeers + 1);
  pass(11s);
  EXPECT_TRUE(nothing_is_left());
  EXPECT_EQ(server.stats().connections, 1u);
  EXPECT_EQ(call(12 * kMiB), StatusCode::kOk);
}

TEST_F(AnnouncedFrames, OfAServerThatStopsGiveTheirPartBack) {
  Server& server = serve_echo();
  const Peers peers = announcing(server, 3);
  EXPECT_GE(chunks().unfilled_bytes(), 3 * 2 * kMiB);
  server.stop();
  pass(11s);
  EXPECT_TRUE(nothing_is_left());
}

// A request waits for its attachment without the chunk that it came in, unless that is little more than it.
TEST_F(AnnouncedFrames, OfAttachmentsHoldNoChunkOfWhichTheirBodyIsASmallPart) {
  Server& server = serve({}, [](Server& its) { its.register_handler<&attachment_size>(); });
  HostilePeer peer{server.urls().front()};
  wire::FrameHeader header = request_header<&attachment_size>(1);
  header.body_bytes = kBody;
  send_while_turning(peer, hello_bytes() + header_bytes(header) + std::string(kBody, 'x'));
  const std::uint64_t refused = server.stats().calls_refused;
  header.id = 2;
  header.body_bytes = 30'000;
  header.flags = wire::FrameFlags::kAttachment | wire::FrameFlags::kInPieces;
  header.attachment_bytes = 1 * kMiB;
  send_while_turning(peer, header_bytes(header) + std::string(header.body_bytes, 'x'));
  EXPECT_EQ(server.stats().calls_refused, refused) << "it waits";
  EXPECT_EQ(chunks().chunks_out(), 0u);
  pass(11s);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(AnnouncedFrames, OfServersMakeAClientHoldNoMore) {
  constexpr std::size_t kServers = 30;
  serve_echo();
  Client& honest = client();
  HostileListener listener;
  Peers peers;
  std::vector<std::unique_ptr<Client>> callers;
  std::vector<Call<std::string>> calls;
  for (std::size_t i = 0; i < kServers; ++i) {
    call_with_much(honest);
    ClientOptions options;
    options.connect = listener.url();
    options.limits.ping_interval = 0s;
    options.logger = &logger();
    callers.push_back(std::make_unique<Client>(loop(), std::move(options)));
    calls.push_back(callers.back()->start<&echo>(std::string_view{"hello"}));
    std::atomic<bool> answered = false;
    std::thread server([&] {
      peers.push_back(std::make_unique<HostilePeer>(listener.accept()));
      HostilePeer& peer = *peers.back();
      peer.send(hello_bytes());
      peer.receive_hello();
      const auto request = peer.receive_frame();
      const wire::AnswerHead answer{.body_bytes = kBody, .id = request ? request->header.id : 0};
      peer.send(header_bytes(answer.header()) + std::string(kSent, 'x'));
      answered = true;
    });
    EXPECT_TRUE(turn_until(loop(), [&] { return answered.load(); }));
    server.join();
    loop().run_until_idle();
  }
  EXPECT_LE(chunks().unfilled_bytes(), 64 * kMiB);
  EXPECT_GE(chunks().unfilled_bytes(), 32 * kMiB);
  pass(11s);
  for (const Call<std::string>& call : calls) EXPECT_TRUE(call.done());
  EXPECT_TRUE(nothing_is_left());
  calls.clear();
}

}  // namespace
}  // namespace weft::faults::announced_frames_tests
