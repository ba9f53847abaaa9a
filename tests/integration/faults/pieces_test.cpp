// SPDX-License-Identifier: Apache-2.0
// Faults, part "bytes from a peer": attachments in pieces that do not fit, never come, or never end, from
// clients and from servers.
#include <gmock/gmock.h>

#include <string>
#include <thread>
#include <vector>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/heap_count.hpp"
#include "integration/faults/hostile_peer.hpp"

namespace weft::faults::pieces_tests {

using namespace weft::detail;
namespace {

using wire::FrameFlags;
using wire::FrameType;

constexpr std::uint64_t kWhole = 100'000;

/// A request that announces `bytes`, which come in pieces.
std::string announcement(std::uint64_t id, std::uint64_t bytes, std::uint32_t timeout = 0) {
  wire::FrameHeader header = request_header<&attachment_size>(id);
  header.flags = FrameFlags::kAttachment | FrameFlags::kInPieces;
  header.timeout = timeout;
  header.attachment_bytes = bytes;
  return header_bytes(header);
}

std::string piece(wire::PieceHead head, std::uint8_t more_flags = 0) {
  wire::FrameHeader header = head.header();
  header.flags |= more_flags;
  std::string bytes = header_bytes(header);
  append_padded(bytes, std::string(head.bytes, 'p'));
  return bytes;
}

/// The same attachment whole, in pieces of `bytes`.
std::string pieces(std::uint64_t id, std::uint64_t whole, std::uint64_t bytes, bool of_answer = false) {
  std::string all;
  for (std::uint64_t at = 0; at < whole; at += bytes) {
    const std::uint64_t part = std::min(bytes, whole - at);
    all += piece({.id = id, .offset = at, .bytes = part, .of_answer = of_answer, .last = at + part == whole});
  }
  return all;
}

class PiecesFromAPeer : public FaultTest {
 protected:
  Server& serve_all(ServerOptions options = {}) {
    return serve(std::move(options), [](Server& server) {
      server.register_handler<&add>();
      server.register_handler<&attachment_size>();
    });
  }
  /// A peer that said hello, and was greeted.
  static HostilePeer greeted(const Server& server) {
    HostilePeer peer{server.urls().front()};
    peer.send(hello_bytes());
    EXPECT_TRUE(peer.receive_hello());
    return peer;
  }
  static void expect_code(HostilePeer& peer, std::uint64_t id, StatusCode code) {
    const auto answer = peer.receive_frame();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->header.type, FrameType::kAnswer);
    EXPECT_EQ(answer->header.id, id);
    EXPECT_EQ(wire::AnswerView{answer->header}.code(), static_cast<unsigned>(code)) << answer->body;
  }
  static void expect_sum(HostilePeer& peer) {
    peer.send(request_bytes<&add>(1, 20, 22));
    expect_code(peer, 1, StatusCode::kOk);
  }
};

TEST_F(PiecesFromAPeer, AreServedHoweverTheyAreCut) {
  Server& server = serve_all();
  HostilePeer peer = greeted(server);
  for (const std::uint64_t bytes : {std::uint64_t{kWhole}, std::uint64_t{99'999}, std::uint64_t{70'000},
                                    std::uint64_t{4096}, std::uint64_t{7}}) {
    peer.send(announcement(bytes, kWhole) + pieces(bytes, kWhole, bytes));
    expect_code(peer, bytes, StatusCode::kOk);
  }
  expect_sum(peer);
}

TEST_F(PiecesFromAPeer, WhichEndsItsSideBeforeTheLastOneAreAnsweredAtOnce) {
  ServerOptions options;
  options.limits.frame_timeout = 24h;
  Server& server = serve_all(std::move(options));
  HostilePeer peer = greeted(server);
  peer.send(announcement(1, kWhole) + announcement(2, kWhole) + piece({.id = 2, .offset = 0, .bytes = 80}));
  ::shutdown(peer.fd(), SHUT_WR);
  expect_code(peer, 1, StatusCode::kUnavailable);
  expect_code(peer, 2, StatusCode::kUnavailable);
  EXPECT_TRUE(peer.closed_by_other_side());
  EXPECT_TRUE(at_rest(server));
}

TEST_F(PiecesFromAPeer, ThatDoNotComeNextEndTheConnectionAndAreCounted) {
  Server& server = serve_all();
  const std::string begun = announcement(2, kWhole) + piece({.id = 2, .offset = 0, .bytes = 80});
  const std::vector<std::string> misplaced = {
      piece({.id = 2, .offset = 0, .bytes = 80}),                      // again
      piece({.id = 2, .offset = 160, .bytes = 80}),                    // one is missing
      piece({.id = 2, .offset = ~std::uint64_t{0} - 7, .bytes = 80}),  // wraps around
      piece({.id = 2, .offset = 80, .bytes = kWhole, .last = true}),   // beyond the end
      piece({.id = 2, .offset = 80, .bytes = kWhole - 80}),            // the last, and does not say so
      piece({.id = 2, .offset = 80, .bytes = 80, .last = true}),       // not the last
  };
  for (const std::string& wrong : misplaced) {
    HostilePeer peer = greeted(server);
    const std::uint64_t before = server.stats().refused[RefusalReason::kMisplacedPiece];
    peer.send(begun + wrong);
    EXPECT_TRUE(peer.closed_by_other_side());
    EXPECT_TRUE(
        eventually([&] { return server.stats().refused[RefusalReason::kMisplacedPiece] == before + 1; }));
  }
  const std::pair<std::string, RefusalReason> bad_frames[] = {
      {header_bytes({.type = FrameType::kPiece, .id = 2}), RefusalReason::kUnexpectedField},  // of no bytes
      {piece({.id = 2, .offset = 0, .bytes = 8}, FrameFlags::kInPieces), RefusalReason::kUnknownFlags},
      {frame_bytes({.type = FrameType::kPiece, .id = 2}, "a body", "and bytes"),
       RefusalReason::kUnexpectedField}};
  for (const auto& [bad, reason] : bad_frames) {
    HostilePeer peer = greeted(server);
    const std::uint64_t before = server.stats().refused[reason];
    peer.send(announcement(2, kWhole) + bad);
    EXPECT_TRUE(peer.closed_by_other_side());
    EXPECT_TRUE(eventually([&] { return server.stats().refused[reason] == before + 1; }))
        << to_string(reason);
  }
  EXPECT_TRUE(at_rest(server));
}

TEST_F(PiecesFromAPeer, ForNobodyAreDroppedByTheThousandAndCounted) {
  Server& server = serve_all();
  HostilePeer peer = greeted(server);
  const std::string one = piece({.id = 77, .offset = 5, .bytes = 3});
  const std::string of_answer = piece({.id = 78, .offset = 0, .bytes = 3, .of_answer = true, .last = true});
  for (int i = 0; i < 10'000; ++i) peer.send(one + of_answer);
  expect_sum(peer);
  EXPECT_EQ(server.stats().pieces_skipped, 20'000u);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

TEST_F(PiecesFromAPeer, ThatWereAnnouncedAndDoNotComeFailTheirCallAndNoOther) {
  ServerOptions options;
  options.limits.frame_timeout = 100ms;
  Server& server = serve_all(std::move(options));
  HostilePeer peer = greeted(server);
  peer.send(announcement(2, kWhole) + piece({.id = 2, .offset = 0, .bytes = 80}));
  expect_sum(peer);
  expect_code(peer, 2, StatusCode::kUnavailable);
  peer.send(piece({.id = 2, .offset = 80, .bytes = 80}));  // too late
  expect_sum(peer);
  EXPECT_EQ(server.stats().pieces_skipped, 1u);
  EXPECT_EQ(server.stats().refused[RefusalReason::kAttachmentStalled], 1u);
  peer.send(announcement(3, kWhole, 50'000));
  expect_code(peer, 3, StatusCode::kDeadlineExceeded);
  expect_sum(peer);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

TEST_F(PiecesFromAPeer, ThatAreOnlyAnnouncedTakeNoMemoryFromOthers) {
  ServerOptions options;
  options.limits.process_memory_max = 64u << 20;
  options.limits.connection_memory_max = 64u << 20;
  Server& server = serve_all(std::move(options));
  HostilePeer peer = greeted(server);
  std::string all;
  constexpr std::uint64_t kRequests = 1000;
  for (std::uint64_t id = 2; id < 2 + kRequests; ++id) {
    all += announcement(id, 4u << 20) + piece({.id = id, .offset = 0, .bytes = 8});
  }
  peer.send(all);
  peer.send(request_bytes<&add>(1, 20, 22));
  // Those of the first are let in, as far as the connection may announce.
  std::uint64_t refused = 0;
  for (;; ++refused) {
    const auto answer = peer.receive_frame();
    ASSERT_TRUE(answer);
    if (answer->header.id == 1) break;
    EXPECT_EQ(wire::AnswerView{answer->header}.code(), static_cast<unsigned>(StatusCode::kResourceExhausted));
  }
  EXPECT_GE(refused, kRequests - 16);
  EXPECT_LT(refused, kRequests);
  Client& honest = client(server.urls().front());
  const std::vector<std::byte> memory(32u << 20);
  EXPECT_EQ(wait_for(honest.start<&attachment_size>(CallOptions{.attachment = Bytes{memory}})).value(),
            memory.size());
  expect_sum(peer);
}

TEST_F(PiecesFromAPeer, OfCallsThatAreGivenUpAgainAndAgainLeaveNothing) {
  Server& server = serve_all();
  HostilePeer peer = greeted(server);
  for (std::uint64_t id = 2; id < 2002; ++id) {
    peer.send(announcement(id, kWhole) + piece({.id = id, .offset = 0, .bytes = 80}) +
              control_bytes(FrameType::kCancel, id) + piece({.id = id, .offset = 80, .bytes = 80}));
    expect_code(peer, id, StatusCode::kCancelled);
  }
  expect_sum(peer);
  EXPECT_EQ(server.stats().pieces_skipped, 2000u) << "one behind each cancel";
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

TEST_F(PiecesFromAPeer, OfTwoCallsWithOneIdEndTheConnection) {
  Server& server = serve_all();
  HostilePeer peer = greeted(server);
  peer.send(announcement(2, kWhole) + announcement(2, kWhole));
  EXPECT_TRUE(peer.closed_by_other_side());
  EXPECT_TRUE(eventually([&] { return server.stats().refused[RefusalReason::kRepeatedCallId] == 1; }));
}

TEST_F(PiecesFromAPeer, ThatBreakOffWithTheirConnectionLeaveNothing) {
  Server& server = serve_all();
  const std::string whole = announcement(2, kWhole) + pieces(2, kWhole, 7000);
  for (std::size_t cut = 1; cut < whole.size(); cut += 997) {
    HostilePeer peer = greeted(server);
    peer.send(whole.substr(0, cut));
    if (cut % 2 == 0) peer.end_sending();
  }
  EXPECT_TRUE(at_rest(server));
}

/// A server that answers the first request of its client with bytes.
class PiecesFromAServer : public FaultTest {
 protected:
  /// The answer of a call with a landing of `kWhole` bytes to what the server sends after its request;
  /// `skipped` gets what the client counts of pieces for nobody.
  template <typename Answer>
  Status answered(Answer answer, std::uint64_t* skipped = nullptr) {
    HostileListener listener;
    std::thread server{[&] {
      HostilePeer peer = listener.accept();
      if (!peer.send(hello_bytes()) || !peer.receive_hello()) return;
      const auto request = peer.receive_frame();
      if (!request) return;
      peer.send(answer(request->header.id));
      while (peer.receive_frame()) {
      }
    }};
    Client& caller = client(listener.url());
    std::vector<std::byte> landing(kWhole);
    Status status =
        wait_for(caller.start<&add>(CallOptions{.timeout = 500ms, .landing = landing}, 1, 2)).status();
    if (skipped != nullptr) *skipped = caller.stats().pieces_skipped;
    caller.close();
    server.join();
    return status;
  }
  static std::string head(std::uint64_t id) {
    wire::FrameHeader header = wire::AnswerHead{.id = id}.header();
    header.flags = FrameFlags::kAttachment | FrameFlags::kInPieces;
    header.attachment_bytes = kWhole;
    const std::string body = body_of(3);
    header.body_bytes = static_cast<std::uint32_t>(body.size());
    std::string bytes = header_bytes(header);
    append_padded(bytes, body);
    return bytes;
  }
  static void expect_misplaced(const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_EQ(status.layer(), Layer::kWire);
    EXPECT_EQ(status.native(), static_cast<int>(wire::FrameFault::kMisplacedPiece)) << status.to_string();
  }
  static std::string first(std::uint64_t id) {
    return head(id) + piece({.id = id, .offset = 0, .bytes = 80, .of_answer = true});
  }
};

TEST_F(PiecesFromAServer, LandHoweverTheyAreCut) {
  EXPECT_TRUE(answered([](std::uint64_t id) { return head(id) + pieces(id, kWhole, 9999, true); }).ok());
}

TEST_F(PiecesFromAServer, ThatDoNotComeNextEndTheConnectionWhoseCallsAreToldWhy) {
  expect_misplaced(answered([](std::uint64_t id) {
    return first(id) + piece({.id = id, .offset = 160, .bytes = 80, .of_answer = true});
  }));
  expect_misplaced(answered([](std::uint64_t id) {
    return first(id) + piece({.id = id, .offset = 80, .bytes = kWhole, .of_answer = true, .last = true});
  }));
  // Without an announcement.
  expect_misplaced(answered(
      [](std::uint64_t id) { return piece({.id = id, .offset = 0, .bytes = 80, .of_answer = true}); }));
}

TEST_F(PiecesFromAServer, ForNobodyAreDroppedAndCounted) {
  std::uint64_t skipped = 0;
  const Status status = answered(
      [](std::uint64_t id) {
        return head(id) + piece({.id = id + 1, .offset = 7, .bytes = 80, .of_answer = true}) +
               piece({.id = id + 1, .offset = 7, .bytes = 80}) + pieces(id, kWhole, 9999, true);
      },
      &skipped);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(skipped, 2u);
}

TEST_F(PiecesFromAServer, ThatDoNotComeEndWithTheCallsTime) {
  EXPECT_EQ(answered([](std::uint64_t id) { return first(id); }).code(), StatusCode::kDeadlineExceeded);
}

TEST_F(PiecesFromAServer, AreBrokenOffByAFailure) {
  EXPECT_EQ(
      answered([](std::uint64_t id) {
        return first(id) +
               frame_bytes(
                   wire::AnswerHead{.code = StatusCode::kDataLoss, .layer = Layer::kUser, .id = id}.header(),
                   "the disk");
      }).code(),
      StatusCode::kDataLoss);
}

TEST_F(PiecesFromAServer, AreAnnouncedOnce) {
  EXPECT_FALSE(
      answered([](std::uint64_t id) { return first(id) + head(id) + pieces(id, kWhole, 9999, true); }).ok());
}

}  // namespace
}  // namespace weft::faults::pieces_tests
