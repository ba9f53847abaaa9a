// SPDX-License-Identifier: Apache-2.0
// Faults, part "bytes from a peer", from the other side: whatever a server answers, its client fails that
// call or leaves that connection.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"

namespace weft::faults::answers_tests {

using namespace weft::detail;
namespace {

using wire::FrameType;

class BytesFromAServer : public FaultTest {};

TEST_F(BytesFromAServer, AnswersThatComeTwiceOrForNobodyAreDroppedAndCounted) {
  HostileListener listener;
  std::thread server{[&] {
    HostilePeer peer = listener.accept();
    if (!peer.send(hello_bytes()) || !peer.receive_hello()) return;
    while (const auto request = peer.receive_frame()) {
      wire::FrameHeader header;
      header.type = FrameType::kAnswer;
      header.id = request->header.id;
      const std::string answer = frame_bytes(header, body_of(7));
      header.id = 0xFFFFFFFFFFFFull;
      peer.send(answer + answer + frame_bytes(header, body_of(8)) + frame_bytes(header, "", "attached"));
    }
  }};
  Client& caller = client(listener.url());
  for (int i = 0; i < 3; ++i) {
    const Result<int> result = wait_for(caller.start<&add>(3, 4));
    EXPECT_TRUE(result.ok() && *result == 7);
  }
  EXPECT_TRUE(turn_until(loop(), [&] { return caller.stats().late_answers == 9; }))
      << caller.stats().late_answers;
  caller.close();
  server.join();
}

TEST_F(BytesFromAServer, AFailureOfALaterBuildIsUnknownWithItsNumberAndTheConnectionLives) {
  HostileListener listener;
  std::thread server{[&] {
    HostilePeer peer = listener.accept();
    if (!peer.send(hello_bytes()) || !peer.receive_hello()) return;
    const std::uint16_t statuses[] = {77, 0xFE00 | 200, 0xF000 | 14, 0};
    for (const std::uint16_t status : statuses) {
      const auto request = peer.receive_frame();
      if (!request) return;
      wire::FrameHeader header;
      header.type = FrameType::kAnswer;
      header.flags = wire::FrameFlags::kOptional;
      header.id = request->header.id;
      header.typed16 = status;
      if (status != 0) header.typed64 = 5;
      peer.send(frame_bytes({.type = static_cast<FrameType>(0xC0)}, "what is this?"));
      peer.send(status != 0 ? frame_bytes(header, "too new") : frame_bytes(header, body_of(7)));
    }
  }};
  Client& caller = client(listener.url());
  const Status first = wait_for(caller.start<&add>(3, 4)).status();
  EXPECT_EQ(first.code(), StatusCode::kUnknown);
  EXPECT_EQ(first.native(), 77);
  EXPECT_EQ(first.retry(), Retry::kNever);
  EXPECT_THAT(first.message(), ::testing::AllOf(::testing::HasSubstr("77"), ::testing::HasSubstr("too new")));
  const Status second = wait_for(caller.start<&add>(3, 4)).status();
  EXPECT_EQ(second.code(), StatusCode::kUnknown);
  EXPECT_EQ(second.native(), 200);
  EXPECT_EQ(second.layer(), Layer::kNone);
  EXPECT_EQ(second.retry(), Retry::kNever);
  const Status third = wait_for(caller.start<&add>(3, 4)).status();
  EXPECT_EQ(third.code(), StatusCode::kUnavailable);
  EXPECT_EQ(third.native(), 5);
  EXPECT_EQ(third.retry(), Retry::kNever);
  const Result<int> sum = wait_for(caller.start<&add>(3, 4));
  EXPECT_TRUE(sum.ok() && *sum == 7);
  EXPECT_EQ(caller.stats().frames_skipped, 4u);
  EXPECT_EQ(caller.stats().connections, 1u);
  caller.close();
  server.join();
}

TEST_F(BytesFromAServer, TextIsCleanedAndCutAndSaysWhoseItIs) {
  const std::string hostile =
      "\x1b]0;owned\x07\r\nerror: \xc2\x9b"
      "31m \xff\xfe gr\xc3\xbcn \xe2\x80\xae!";
  const std::uint16_t of_user = 2 | 1 << 8;
  const std::uint16_t of_transport = 14 | 5 << 8 | 3 << 12;
  const std::uint16_t of_later_build = 99;
  struct Answer {
    std::uint16_t status;
    std::string text;
  };
  const std::array answers{Answer{of_user, hostile}, Answer{of_transport, hostile},
                           Answer{of_later_build, hostile}, Answer{of_user, std::string(4u << 20, 'x')},
                           Answer{of_transport, "the server says: it is gone"}};
  HostileListener listener;
  std::thread server{[&] {
    HostilePeer peer = listener.accept();
    if (!peer.send(hello_bytes()) || !peer.receive_hello()) return;
    for (const Answer& answer : answers) {
      const auto request = peer.receive_frame();
      if (!request) return;
      wire::FrameHeader header;
      header.type = FrameType::kAnswer;
      header.id = request->header.id;
      header.typed16 = answer.status;
      header.typed64 = 104;
      peer.send(frame_bytes(header, answer.text));
    }
    peer.closed_by_other_side();
  }};
  Client& caller = client(listener.url());
  const std::string clean = "?]0;owned???error: ?31m ?? gr\xc3\xbcn ?!";
  const auto ask = [&] { return wait_for(caller.start<&add>(3, 4)).status(); };
  EXPECT_EQ(ask().message(), clean);
  const Status transport = ask();
  EXPECT_EQ(transport.layer(), Layer::kTransport);
  EXPECT_EQ(transport.retry(), Retry::kBackoff) << "the connection is there";
  EXPECT_EQ(transport.message(), "the server says: " + clean);
  EXPECT_THAT(std::string{ask().message()}, ::testing::EndsWith("and says: " + clean));
  const Status cut = ask();
  EXPECT_EQ(cut.message(), std::string(2046, 'x') + " ... " + std::string(2045, 'x'));
  EXPECT_EQ(ask().message(), "the server says: it is gone") << "of a server behind the server, said once";
  EXPECT_EQ(caller.stats().connections, 1u);
  caller.close();
  server.join();
}

TEST_F(BytesFromAServer, AnAttachmentThatNobodyAskedForIsSkippedAlsoWhenItsCallEndsMeanwhile) {
  HostileListener listener;
  std::thread server{[&] {
    HostilePeer peer = listener.accept();
    if (!peer.send(hello_bytes()) || !peer.receive_hello()) return;
    std::string whole, halved;
    for (int i = 0; i < 2; ++i) {
      const auto request = peer.receive_frame();
      if (!request) return;
      wire::FrameHeader header;
      header.type = FrameType::kAnswer;
      header.id = request->header.id;
      if (wire::RequestView{request->header}.method() == detail::method_key<&add>.id) {
        whole = frame_bytes(header, body_of(7));
      } else {
        halved = frame_bytes(header, body_of(std::string_view{"echo"}), std::string(1000, 'a'));
      }
    }
    peer.send(whole + halved.substr(0, halved.size() - 500));
    const auto cancel = peer.receive_frame();
    EXPECT_TRUE(cancel && cancel->header.type == FrameType::kCancel);
    peer.send(halved.substr(halved.size() - 500));
    const auto request = peer.receive_frame();
    if (!request) return;
    wire::FrameHeader header;
    header.type = FrameType::kAnswer;
    header.id = request->header.id;
    peer.send(frame_bytes(header, body_of(8)));
    peer.closed_by_other_side();
  }};
  Client& caller = client(listener.url());
  const auto winner =
      loop().block_on(race(caller.call<&echo>(std::string_view{"to be dropped"}), caller.start<&add>(3, 4)));
  EXPECT_EQ(winner.index, 1u);
  const Result<int> next = wait_for(caller.start<&add>(3, 4));
  EXPECT_TRUE(next.ok() && *next == 8) << next.status().to_string();
  EXPECT_EQ(caller.stats().connections, 1u);
  caller.close();
  server.join();
}

TEST_F(BytesFromAServer, AnAnswerThatDoesNotFitLeavesTheRestOfItsRequestsAttachmentInOrder) {
  constexpr std::size_t kLarge = std::size_t{32} << 20;
  std::string memory(kLarge, 'a');
  HostileListener listener;
  std::atomic<bool> answered = false;
  std::atomic<bool> read = false;
  std::string received;
  std::thread server{[&] {
    HostilePeer peer = listener.accept();
    if (!peer.send(hello_bytes(0, wire::Features::kChecksum)) || !peer.receive_hello()) return;
    const auto head = peer.receive(wire::kHeaderBytes);
    if (!head) return;
    wire::FrameHeader header = wire::load_header(as_bytes(*head).data());
    wire::FrameHeader answer;
    answer.type = FrameType::kAnswer;
    answer.id = header.id;
    peer.send(frame_bytes(answer, body_of(std::uint64_t{1}), "longer than the landing"));
    eventually([&] { return answered.load(); });
    received = peer.receive(wire::padded(header.body_bytes) + header.attachment_bytes).value_or("");
    read = true;
    peer.closed_by_other_side();
  }};
  Client& caller = client(listener.url());
  std::array<std::byte, 4> landing{};
  {
    const CallOptions options{.attachment = as_bytes(memory), .landing = landing};
    const auto refused = wait_for(caller.start<&attachment_size>(options));
    EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted) << refused.status().to_string();
  }
  std::ranges::fill(memory, 'b');  // it is the caller's again
  answered = true;
  EXPECT_TRUE(turn_until(loop(), [&] { return read.load(); }));
  caller.close();
  server.join();
  EXPECT_EQ(received.size(), kLarge);
  EXPECT_EQ(received.find('b'), std::string::npos);
}

TEST_F(BytesFromAServer, AServerThatAnswersNonsenseFailsTheCallsOfThatConnectionOnly) {
  wire::FrameHeader answer;
  answer.type = FrameType::kAnswer;
  wire::FrameHeader too_large = answer;
  too_large.body_bytes = 0xFFFFFFFF;
  wire::FrameHeader landless = answer;
  landless.flags = wire::FrameFlags::kAttachment;
  landless.attachment_bytes = ~std::uint64_t{0};
  const std::string after_hello[] = {"HTTP/1.1 400 Bad Request\r\n\r\nand so on and so forth, for long",
                                     std::string(200, '\xFF'),
                                     header_bytes(too_large),
                                     header_bytes(landless),
                                     control_bytes(static_cast<FrameType>(9)),
                                     frame_bytes(answer, "?").substr(0, 44),
                                     ""};
  HostileListener listener;
  std::thread server{[&] {
    for (const std::string& nonsense : after_hello) {
      HostilePeer peer = listener.accept();
      peer.send(hello_bytes());
      if (!peer.receive_hello() || !peer.receive_frame()) return;
      peer.send(nonsense);
      peer.end_sending();
      peer.closed_by_other_side();
    }
    HostilePeer peer = listener.accept();
    peer.send(hello_bytes());
    if (!peer.receive_hello()) return;
    // First a body that is no int, which is that call's failure, then a right one.
    for (const std::string& body : {std::string(300, '\xFF'), body_of(7)}) {
      const auto request = peer.receive_frame();
      if (!request) return;
      wire::FrameHeader header = answer;
      header.id = request->header.id;
      peer.send(frame_bytes(header, body));
    }
    peer.closed_by_other_side();
  }};
  Client& caller = client(listener.url(), {.reconnect_wait_max = 1ms});
  for (std::size_t i = 0; i < std::size(after_hello); ++i) {
    const Result<int> result = wait_for(caller.start<&add>(3, 4));
    EXPECT_EQ(result.status().code(), StatusCode::kUnavailable) << i << ": " << result.status().to_string();
  }
  EXPECT_FALSE(wait_for(caller.start<&add>(3, 4)).ok());
  const Result<int> right = wait_for(caller.start<&add>(3, 4));
  EXPECT_TRUE(right.ok() && *right == 7) << right.status().to_string();
  EXPECT_EQ(caller.stats().connections, std::size(after_hello) + 1);
  caller.close();
  server.join();
}

}  // namespace
}  // namespace weft::faults::answers_tests
