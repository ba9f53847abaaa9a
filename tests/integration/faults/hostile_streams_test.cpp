// SPDX-License-Identifier: Apache-2.0
// Faults, part "bytes from a peer", of streams: items and credits that nobody asked for, in both directions.
// What breaks the protocol costs its sender the connection; whatever else comes costs its own stream at most.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/heap_count.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "integration/faults/stream_bytes.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/wire/crc32c.hpp"

namespace weft::faults::hostile_streams_tests {

using namespace weft::detail;
namespace {

using wire::FrameType;

constexpr std::uint32_t kWindow = 1000;
const std::string kItem(60, 'i');

/// Sends `count` items.
Stream<std::string> watch(int count) {
  for (int i = 0; i < count; ++i) co_yield kItem;
}
/// Counts the items that come.
Task<Result<int>> count_items(Reader<std::string>& items) {
  int count = 0;
  while (auto item = co_await items.next()) ++count;
  if (!items.status().ok()) co_return items.status();
  co_return count;
}
/// Never reads, and ends when it is cancelled.
Task<int> never_read(Reader<std::string>&) {
  Event never;
  [[maybe_unused]] const Result<void> cancelled = co_await never.wait();
  co_return 0;
}
/// An ordinary call that runs for long.
Task<int> long_call() {
  Event never;
  [[maybe_unused]] const Result<void> cancelled = co_await never.wait();
  co_return 0;
}

/// Goes on for long when its reading has ended.
Task<int> outlive_reading(Reader<std::string>& items) {
  while (auto item = co_await items.next()) continue;
  Event never;
  [[maybe_unused]] const Result<void> cancelled = co_await never.wait();
  co_return 0;
}

/// An item whose attachment of `attachment` bytes is announced.
std::string attached_bytes(std::uint64_t id, std::uint64_t attachment, bool of_answer = false) {
  const wire::ItemHead head{.id = id, .of_answer = of_answer, .attachment_bytes = attachment};
  wire::FrameHeader header = head.header();
  const std::string body = body_of(kItem);
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  std::string bytes = header_bytes(header);
  append_padded(bytes, body);
  return bytes;
}
/// A piece of an item's attachment.
std::string piece_bytes(std::uint64_t id, std::uint64_t offset, std::size_t bytes, bool last,
                        bool of_answer = false) {
  const wire::PieceHead head{
      .id = id, .offset = offset, .bytes = bytes, .of_answer = of_answer, .last = last, .of_item = true};
  std::string frame = header_bytes(head.header());
  append_padded(frame, std::string(bytes, 'p'));
  return frame;
}
/// An item of the usual text.
std::string item_bytes(std::uint64_t id) {
  return faults::item_bytes(id, kItem);
}
using faults::item_bytes;
/// Items that a window of kWindow lets through when none is read.
constexpr int items_in_window() {
  return kWindow / static_cast<int>(wire::item_cost(64)) + 1;
}

/// Reads until the call of `id` is answered, and well.
void expect_succeeds(HostilePeer& peer, std::uint64_t id) {
  for (;;) {
    const auto frame = peer.receive_frame();
    ASSERT_TRUE(frame.has_value());
    if (frame->header.type != FrameType::kAnswer || frame->header.id != id) continue;
    EXPECT_TRUE(wire::AnswerView{frame->header}.succeeded()) << frame->body;
    return;
  }
}

/// A server that does what a test says: takes one connection, one request on it, and says `words` for it.
class ScriptedServer {
 public:
  template <typename Script>
  explicit ScriptedServer(Script script)
      : thread_([this, script] {
          HostilePeer peer = listener_.accept();
          script(peer);
          over_ = true;
        }) {}
  ~ScriptedServer() { thread_.join(); }
  std::string url() const { return listener_.url(); }
  /// Its part is over: the client has left too.
  bool is_over() const { return over_; }

 private:
  std::atomic<bool> over_ = false;
  HostileListener listener_;
  std::thread thread_;
};

/// Says hello and waits for the first request; returns its id.
std::uint64_t take_request(HostilePeer& peer, const std::string& hello = hello_with_window(kWindow)) {
  peer.send(hello);
  EXPECT_TRUE(peer.receive_hello());
  for (;;) {
    const auto frame = peer.receive_frame();
    if (!frame) {
      ADD_FAILURE() << "no request came";
      return wire::kNoId;
    }
    if (frame->header.type == FrameType::kRequest) return frame->header.id;
  }
}

class HostileStreams : public FaultTest {
 protected:
  Server& serve_all(ServerOptions options = {}) {
    options.threads = 1;
    options.limits.stream_window = kWindow;
    return serve(std::move(options), [](Server& server) {
      server.register_handler<add, watch, count_items, never_read, outlive_reading, long_call>();
    });
  }
  void expect_served(const Server& server) {
    Client& honest = client(server.urls().front());
    const Result<int> sum = wait_for(honest.start<&add>(20, 22));
    ASSERT_TRUE(sum.ok()) << sum.status().to_string();
    const auto items = [&]() -> Task<int> {
      auto stream = honest.open<watch>(50);
      int count = 0;
      while (auto item = co_await stream.next()) ++count;
      co_return count;
    };
    EXPECT_EQ(loop().block_on(items()), 50);
    honest.close();
  }
  /// The server ends a connection that said hello and then `bytes`, counts it, and serves on.
  void expect_refused(Server& server, const std::string& bytes, const std::string& what) {
    const std::uint64_t before = server.stats().protocol_errors;
    HostilePeer peer{server.urls().front()};
    peer.send(hello_with_window(kWindow) + bytes);
    EXPECT_TRUE(peer.closed_by_other_side()) << what;
    ASSERT_TRUE(eventually([&] { return server.stats().protocol_errors == before + 1; })) << what;
    ASSERT_TRUE(at_rest(server)) << what;
  }
  /// The connection stands, whatever `bytes` are, and a call behind them is answered.
  void expect_taken(Server& server, const std::string& bytes, const std::string& what) {
    HostilePeer peer{server.urls().front()};
    peer.send(hello_with_window(kWindow) + bytes + request_bytes<&add>(777, 1, 2));
    ASSERT_TRUE(peer.receive_hello()) << what;
    for (;;) {
      const auto frame = peer.receive_frame();
      ASSERT_TRUE(frame.has_value()) << what;
      if (frame->header.type != FrameType::kAnswer || frame->header.id != 777) continue;
      EXPECT_EQ(frame->body, body_of(3)) << what;
      break;
    }
  }
  /// The outcome of a stream of items whose server runs `script` when it has the request.
  template <typename Script>
  Status outcome_of_watch(Script script) {
    ScriptedServer server{[script](HostilePeer& peer) {
      script(peer, take_request(peer));
      peer.closed_by_other_side();
    }};
    ClientOptions options;
    options.limits.stream_window = kWindow;
    Client& caller = client(server.url(), options);
    const auto read = [&]() -> Task<Status> {
      auto stream = caller.open<watch>(1);
      items_read_ = 0;
      while (auto item = co_await stream.next()) ++items_read_;
      Result<void> end = co_await stream.finish();
      co_return end.status();
    };
    Status status = loop().block_on(read());
    caller.close();
    EXPECT_TRUE(turn_until(loop(), [&] { return server.is_over(); }));
    return status;
  }

  int items_read_ = 0;
};

TEST_F(HostileStreams, WhatNoStreamAllowsCostsItsSenderTheConnection) {
  Server& server = serve_all();
  const std::string held = request_bytes<never_read>(1);
  expect_refused(server, held + repeated(item_bytes(1), items_in_window() + 1), "an item without credit");
  expect_refused(server, held + repeated(item_bytes(1, ""), 100), "empty items without credit");
  expect_refused(server, held + last_bytes(1) + item_bytes(1), "an item behind the last");
  expect_refused(server, held + last_bytes(1) + last_bytes(1), "two last items");
  expect_refused(server, request_bytes<long_call>(1) + item_bytes(1), "an item for a call of one answer");
  expect_refused(server, request_bytes<long_call>(1) + last_bytes(1), "an end for a call of one answer");
  expect_refused(server, request_bytes<long_call>(1) + credit_bytes(1, 5000),
                 "a credit for a call of one answer");
  const std::string watched = request_bytes<watch>(1, 1'000'000);
  expect_refused(server, watched + credit_bytes(1, 0), "a credit of nothing");
  expect_refused(server, watched + credit_bytes(1, kWindow), "the same credit again");
  expect_refused(server, watched + credit_bytes(1, 3 * kWindow) + credit_bytes(1, 2 * kWindow),
                 "a credit that takes back");
  expect_served(server);
}

TEST_F(HostileStreams, HeadersThatMakeNoSenseAreRefused) {
  Server& server = serve_all();
  const std::string held = request_bytes<never_read>(1);
  wire::FrameHeader last = wire::ItemHead{.id = 1, .last = true}.header();
  expect_refused(server, held + frame_bytes(last, "body"), "a last item with a body");
  wire::FrameHeader credit = wire::CreditHead{.id = 1, .granted = 5000}.header();
  expect_refused(server, held + frame_bytes(credit, "body"), "a credit with a body");
  wire::FrameHeader item = wire::ItemHead{.id = 1}.header();
  expect_refused(server, held + frame_bytes(item, "b", "attached"), "an item that an attachment follows");
  expect_refused(server, held + frame_bytes(credit, "", "attached"), "a credit with an attachment");
  for (int bit = 0; bit < 8; ++bit) {
    for (wire::FrameHeader header : {item, credit}) {
      const unsigned known = wire::FrameFlags::kOfType[static_cast<std::size_t>(header.type)];
      const unsigned flag = 1u << bit;
      if (((known | wire::FrameFlags::kOptional) & flag) != 0) continue;
      header.flags |= static_cast<std::uint8_t>(flag);
      expect_refused(server, held + frame_bytes(header), "an unknown flag " + std::to_string(bit));
    }
  }
  item.typed16 = 1;
  expect_refused(server, held + frame_bytes(item, "b"), "an item with a field that it has not");
  item.typed16 = 0;
  item.typed64 = 1;
  expect_refused(server, held + frame_bytes(item, "b"), "an item that grants");
  expect_served(server);
}

TEST_F(HostileStreams, AttachmentsThatDoNotGoAsAnnouncedCostTheirSenderTheConnection) {
  Server& server = serve_all();
  const std::string held = request_bytes<never_read>(1);
  expect_refused(server, held + piece_bytes(1, 0, 100, true), "a piece of nothing");
  expect_refused(server, held + item_bytes(1) + piece_bytes(1, 0, 100, true), "a piece of an item without");
  expect_refused(server, request_bytes<long_call>(1) + piece_bytes(1, 0, 100, true),
                 "a piece of an item for a call of one answer");
  const std::string begun = held + attached_bytes(1, 500);
  expect_refused(server, begun + item_bytes(1), "an item before the attachment was whole");
  expect_refused(server, begun + attached_bytes(1, 500), "another before it was whole");
  expect_refused(server, begun + last_bytes(1), "the last before it was whole");
  expect_refused(server, begun + piece_bytes(1, 0, 501, true), "more than announced");
  expect_refused(server, begun + piece_bytes(1, 8, 100, false), "a hole");
  expect_refused(server, begun + piece_bytes(1, 0, 100, true), "not the last");
  expect_refused(server, begun + piece_bytes(1, 0, 500, false), "the last, which does not say so");
  expect_refused(server, begun + piece_bytes(1, 0, 100, false) + piece_bytes(1, 0, 100, false),
                 "a piece twice");
  expect_refused(server, begun + piece_bytes(1, 0, 500, true) + piece_bytes(1, 500, 1, true), "one more");
  expect_refused(server, held + attached_bytes(1, std::uint64_t{1} << 41), "more than any may have");
  expect_refused(server,
                 held + attached_bytes(1, 4 * kWindow) + piece_bytes(1, 0, 4 * kWindow, true) + item_bytes(1),
                 "an item behind one that filled the window");
  wire::FrameHeader last = wire::ItemHead{.id = 1, .last = true, .attachment_bytes = 8}.header();
  expect_refused(server, held + header_bytes(last), "a last item with an attachment");
  wire::FrameHeader promised = wire::ItemHead{.id = 1, .attachment_bytes = 8}.header();
  promised.attachment_bytes = 0;
  expect_refused(server, held + header_bytes(promised), "an attachment of nothing");
  wire::FrameHeader piece = wire::PieceHead{.id = 1, .bytes = 8, .last = true, .of_item = true}.header();
  piece.typed16 = 2;
  expect_refused(server, held + header_bytes(piece), "a piece of what nobody knows");
  expect_served(server);
}

TEST_F(HostileStreams, AttachmentsNeedAPeerThatSaidThatItKnowsThem) {
  Server& server = serve_all();
  wire::Hello hello;
  hello.features_supported = wire::Features::kAll & ~wire::Features::kItemAttachments;
  hello.body_bytes_max = 16u << 20;
  hello.attachment_bytes_max = 1u << 30;
  hello.calls_in_flight_max = 100;
  hello.stream_window_bytes = kWindow;
  HostilePeer peer{server.urls().front()};
  peer.send(wire::encode_hello(hello) + request_bytes<never_read>(1) + attached_bytes(1, 500));
  EXPECT_TRUE(peer.closed_by_other_side());
  EXPECT_TRUE(at_rest(server));
}

TEST_F(HostileStreams, PiecesOfItemsThatNobodyWantsAreDropped) {
  Server& server = serve_all();
  const std::string piece = piece_bytes(99, 0, 70'000, false);
  expect_taken(server, attached_bytes(99, 1 << 20) + piece + piece, "of no call");
  expect_taken(server, request_bytes<add>(1, 1, 1) + attached_bytes(1, 100) + piece_bytes(1, 0, 100, true),
               "behind an answer");
  const std::string nonsense = frame_bytes(wire::ItemHead{.id = 1}.header(), "\xff\xff\xff\xff");
  expect_taken(
      server,
      request_bytes<outlive_reading>(1) + nonsense + attached_bytes(1, 500) + piece_bytes(1, 0, 100, false),
      "behind an item of no sense");
  EXPECT_TRUE(at_rest(server));
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  expect_served(server);
}

// Words take no memory, and what comes is charged as it comes.
TEST_F(HostileStreams, AttachmentsThatAreAnnouncedAndDoNotComeTakeNoMemoryFromOthers) {
  ServerOptions options;
  options.limits.process_memory_max = 8u << 20;
  options.limits.attachment_bytes_max = std::uint64_t{1} << 40;
  Server& server = serve_all(std::move(options));
  HostilePeer peer{server.urls().front()};
  peer.send(hello_with_window(kWindow));
  ASSERT_TRUE(peer.receive_hello());
  for (std::uint64_t id = 1; id <= 64; ++id) {
    ASSERT_TRUE(peer.send(request_bytes<never_read>(id) + attached_bytes(id, std::uint64_t{1} << 40)));
  }
  for (std::uint64_t id = 65; id <= 80; ++id) {
    ASSERT_TRUE(peer.send(request_bytes<never_read>(id) + attached_bytes(id, 4u << 20) +
                          piece_bytes(id, 0, 100'000, false)));
  }
  ASSERT_TRUE(peer.send(request_bytes<count_items>(200) + attached_bytes(200, 1'000'000) +
                        piece_bytes(200, 0, 1'000'000, true) + last_bytes(200)));
  expect_succeeds(peer, 200);
  expect_served(server);
  peer.close();
  EXPECT_TRUE(at_rest(server));
}

TEST_F(HostileStreams, ItemsAndCreditsOfUnknownStreamsAreDropped) {
  Server& server = serve_all();
  const std::string unknown = repeated(item_bytes(99), 50) + last_bytes(99) + last_bytes(99) +
                              credit_bytes(99, 1) + credit_bytes(99, 0);
  expect_taken(server, unknown, "of no call");
  expect_taken(server, item_bytes(1) + request_bytes<count_items>(1) + item_bytes(1) + last_bytes(1),
               "an item before its request");
  expect_taken(server, request_bytes<add>(1, 1, 1) + repeated(item_bytes(1), 20) + credit_bytes(1, 3),
               "behind an answer");
  expect_taken(server, item_bytes(99, kItem, true) + last_bytes(99, true) + credit_bytes(99, 5, true),
               "of answers to nothing");
  expect_taken(server, item_bytes(99, std::string(300'000, 'x')), "a large one of no call");
  EXPECT_TRUE(at_rest(server));
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  expect_served(server);
}

TEST_F(HostileStreams, AnItemLargerThanABodyMayBeIsRefusedByItsHead) {
  ServerOptions options;
  options.limits.body_bytes_max = 10'000;
  Server& server = serve_all(std::move(options));
  wire::FrameHeader item = wire::ItemHead{.body_bytes = 10'001, .id = 1}.header();
  expect_refused(server, request_bytes<never_read>(1) + header_bytes(item), "an item over the limit");
  expect_taken(server, request_bytes<never_read>(1) + item_bytes(1, std::string(9'000, 'x')),
               "one item beyond the window");
  expect_served(server);
}

TEST_F(HostileStreams, AHugeCreditIsTakenAndTheLastOfAllSums) {
  Server& server = serve_all();
  HostilePeer peer{server.urls().front()};
  peer.send(hello_with_window(0) + request_bytes<watch>(1, 100));
  ASSERT_TRUE(peer.receive_hello());
  EXPECT_FALSE(peer.readable_within(50ms)) << "a window of nothing lets nothing through";
  peer.send(credit_bytes(1, UINT64_MAX));
  int items = 0;
  for (;;) {
    const auto frame = peer.receive_frame();
    ASSERT_TRUE(frame.has_value());
    if (frame->header.type == FrameType::kItem) ++items;
    if (frame->header.type == FrameType::kAnswer) break;
  }
  EXPECT_EQ(items, 100);
  expect_served(server);
}

TEST_F(HostileStreams, AHelloThatPromisesAWindowHasOne) {
  Server& server = serve_all();
  std::string hello = hello_with_window(kWindow);
  wire::Hello old;
  old.features_supported = wire::Features::kAll & ~wire::Features::kStreams;
  old.body_bytes_max = 1u << 20;
  std::string without = wire::encode_hello(old);
  // The hello of an older build, with the bit of streams and a checksum that is right.
  auto* const at = reinterpret_cast<std::byte*>(without.data());
  const std::string whole = wire::encode_hello([&] {
    old.features_supported = wire::Features::kAll;
    return old;
  }());
  std::memcpy(at + 16, whole.data() + 16, without.size() - 16 - 8);
  weft::detail::store_le<std::uint64_t>(at + without.size() - 8, wire::crc32c({at, without.size() - 8}));
  const std::uint64_t before = server.stats().protocol_errors;
  HostilePeer peer{server.urls().front()};
  peer.send(without);
  EXPECT_TRUE(peer.closed_by_other_side());
  EXPECT_TRUE(eventually([&] { return server.stats().protocol_errors > before; }));
  expect_served(server);
}

// Both ways the words say that it is the build, and calls go on.
TEST_F(HostileStreams, APeerOfAnEarlierBuildOpensNoStreamAndGoesOnCalling) {
  Server& server = serve_all();
  HostilePeer peer{server.urls().front()};
  peer.send(hello_bytes(0, wire::Features::kAll & ~wire::Features::kStreams) + request_bytes<watch>(1, 1) +
            request_bytes<&add>(2, 3, 4));
  ASSERT_TRUE(peer.receive_hello());
  const auto refused = peer.receive_frame();
  ASSERT_TRUE(refused.has_value());
  EXPECT_FALSE(wire::AnswerView{refused->header}.succeeded());
  EXPECT_NE(refused->body.find("the method is a stream"), std::string::npos) << refused->body;
  const auto answered = peer.receive_frame();
  ASSERT_TRUE(answered.has_value());
  EXPECT_EQ(answered->body, body_of(7));

  ScriptedServer old{[](HostilePeer& of_client) {
    const std::uint64_t id =
        take_request(of_client, hello_bytes(0, wire::Features::kAll & ~wire::Features::kStreams));
    of_client.send(frame_bytes(wire::AnswerHead{.id = id}.header(), body_of(7)));
    of_client.closed_by_other_side();
  }};
  Client& caller = client(old.url());
  const auto open = [&]() -> Task<Status> {
    auto stream = caller.open<watch>(1);
    auto item = co_await stream.next();
    EXPECT_FALSE(item.has_value());
    co_return stream.status();
  };
  const Status status = loop().block_on(open());
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << status.message();
  EXPECT_NE(std::string{status.message()}.find("knows no streams"), std::string::npos);
  EXPECT_EQ(wait_for(caller.start<&add>(3, 4)).value(), 7);
  caller.close();
  EXPECT_TRUE(turn_until(loop(), [&] { return old.is_over(); }));
}

// Its reading has failed, and its handler goes on: what comes for it meanwhile finds nobody.
TEST_F(HostileStreams, ItemsBehindOneOfNoSenseAreDropped) {
  Server& server = serve_all();
  HostilePeer peer{server.urls().front()};
  const std::string nonsense = frame_bytes(wire::ItemHead{.id = 1}.header(), "\xff\xff\xff\xff");
  const auto call_add = [&](std::uint64_t id) {
    ASSERT_TRUE(peer.send(request_bytes<&add>(id, 1, 2)));
    for (auto frame = peer.receive_frame(); frame; frame = peer.receive_frame()) {
      if (frame->header.type == FrameType::kAnswer && frame->header.id == id) return;
    }
    ADD_FAILURE() << "call " << id << " was not answered";
  };
  ASSERT_TRUE(peer.send(hello_with_window(kWindow) + request_bytes<outlive_reading>(1)));
  ASSERT_TRUE(peer.receive_hello());
  ASSERT_TRUE(peer.send(nonsense));
  call_add(2);
  ASSERT_TRUE(peer.send(repeated(item_bytes(1), 100) + credit_bytes(1, 5 * kWindow) + last_bytes(1)));
  call_add(3);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  peer.close();
  EXPECT_TRUE(at_rest(server));
  expect_served(server);
}

TEST_F(HostileStreams, MoreStreamsThanAllowedAreRefusedAndOthersGoOn) {
  ServerOptions options;
  options.limits.streams_max = 3;
  Server& server = serve_all(std::move(options));
  HostilePeer peer{server.urls().front()};
  peer.send(hello_with_window(kWindow));
  for (std::uint64_t id = 1; id <= 5; ++id) peer.send(request_bytes<never_read>(id));
  peer.send(request_bytes<&add>(6, 1, 1));
  ASSERT_TRUE(peer.receive_hello());
  for (const std::uint64_t id : {4u, 5u}) {
    const auto refused = peer.receive_frame();
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(refused->header.id, id);
    EXPECT_NE(refused->body.find("streams_max"), std::string::npos) << refused->body;
  }
  ASSERT_EQ(peer.receive_frame().value().header.id, 6u);
  // One ends, and another has its place.
  peer.send(control_bytes(FrameType::kCancel, 2) + request_bytes<count_items>(7) + item_bytes(7) +
            last_bytes(7));
  ASSERT_EQ(peer.receive_frame().value().header.id, 2u) << "it is told that it was cancelled";
  const auto counted = peer.receive_frame();
  ASSERT_TRUE(counted.has_value());
  EXPECT_EQ(counted->header.id, 7u);
  EXPECT_EQ(counted->body, body_of(1));
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

TEST_F(HostileStreams, AMillionStreamsOpenedAndResetLeaveNothing) {
  Server& server = serve_all();
  HostilePeer peer{server.urls().front()};
  ASSERT_TRUE(peer.send(hello_with_window(kWindow)));
  std::thread reader([&] { EXPECT_TRUE(peer.closed_by_other_side()); });
  constexpr std::uint64_t kStreams = kHeapIsCounted ? 1'000'000 : 20'000;
  constexpr std::uint64_t kAtOnce = 1000;
  for (std::uint64_t id = 1; id <= kStreams;) {
    std::string words;
    for (std::uint64_t i = 0; i < kAtOnce; ++i, ++id) {
      words += request_bytes<never_read>(id) + item_bytes(id) + control_bytes(FrameType::kCancel, id);
    }
    ASSERT_TRUE(peer.send(words));
  }
  EXPECT_TRUE(eventually([&] { return server.stats().calls == kStreams; }));
  EXPECT_TRUE(eventually([&] { return server.stats().calls_running == 0; }))
      << "cancelled streams end while their connection stands";
  peer.end_sending();
  reader.join();
  EXPECT_TRUE(at_rest(server));
  expect_served(server);
}

// What nobody reads fills the server's memory: each stream that finds none fails, the connection stands, and
// a stream of which somebody reads goes on.
TEST_F(HostileStreams, ItemsThatNobodyReadsCostTheirStreamsWhenMemoryIsOut) {
  ServerOptions options{.threads = 1};
  options.limits.process_memory_max = 8u << 20;
  options.limits.stream_window = 4u << 20;
  Server& server = serve(std::move(options), [](Server& its) {
    its.register_handler<add, watch, count_items, never_read, long_call>();
  });
  HostilePeer peer{server.urls().front()};
  peer.send(hello_with_window(kWindow));
  ASSERT_TRUE(peer.receive_hello());
  std::thread writer([&] {
    const std::string large(50'000, 'm');
    for (std::uint64_t id = 1; id <= 16; ++id) {
      peer.send(request_bytes<never_read>(id) + repeated(item_bytes(id, large), 40));
    }
    peer.send(request_bytes<&add>(100, 1, 2));
  });
  bool answered = false;
  while (!answered) {
    const auto frame = peer.receive_frame();
    if (!frame) break;
    if (frame->header.type == FrameType::kAnswer && frame->header.id == 100) answered = true;
  }
  EXPECT_TRUE(answered) << "the connection stands";
  writer.join();
  // Those streams end, and all their memory is back.
  for (std::uint64_t id = 1; id <= 16; ++id) peer.send(control_bytes(FrameType::kCancel, id));
  EXPECT_TRUE(eventually([&] { return server.stats().calls_running == 0; }));
  peer.send(request_bytes<count_items>(200) + item_bytes(200, std::string(50'000, 'n')) + last_bytes(200));
  expect_succeeds(peer, 200);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  peer.close();
  EXPECT_TRUE(at_rest(server));
}

// ---- A server that does not keep to it, and its client. ----

TEST_F(HostileStreams, AClientEndsTheConnectionToAServerThatSendsWhatNoStreamAllows) {
  const auto breach = [&](const std::string& what, auto words) {
    const Status status =
        outcome_of_watch([words](HostilePeer& peer, std::uint64_t id) { peer.send(words(id)); });
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << what << ": " << status.to_string();
  };
  breach("an item behind the last", [](std::uint64_t id) {
    return item_bytes(id, kItem, true) + last_bytes(id, true) + item_bytes(id, kItem, true);
  });
  breach("a credit that takes back",
         [](std::uint64_t id) { return credit_bytes(id, 3000, true) + credit_bytes(id, 2000, true); });
  breach("a last item with a body", [](std::uint64_t id) {
    return frame_bytes(wire::ItemHead{.id = id, .of_answer = true, .last = true}.header(), "x");
  });
  breach("a piece of nothing", [](std::uint64_t id) { return piece_bytes(id, 0, 100, true, true); });
  breach("an item before its attachment", [](std::uint64_t id) {
    return attached_bytes(id, 100, true) + piece_bytes(id, 0, 50, false, true) + item_bytes(id, kItem, true);
  });
  breach("more of an attachment than announced", [](std::uint64_t id) {
    return attached_bytes(id, 100, true) + piece_bytes(id, 0, 101, true, true);
  });
  breach("a large item that ends in the middle", [](std::uint64_t id) {
    wire::FrameHeader header = wire::ItemHead{.body_bytes = 1u << 30, .id = id, .of_answer = true}.header();
    return header_bytes(header);
  });
}

TEST_F(HostileStreams, AClientOutlivesAServerThatSendsWithoutCredit) {
  ScriptedServer server{[](HostilePeer& peer) {
    const std::uint64_t id = take_request(peer);
    peer.send(repeated(item_bytes(id, kItem, true), 1000));
    peer.closed_by_other_side();
  }};
  ClientOptions options;
  options.limits.stream_window = kWindow;
  Client& caller = client(server.url(), options);
  const auto read = [&]() -> Task<Status> {
    auto stream = caller.open<watch>(1);
    while (!stream.done()) {
      [[maybe_unused]] const auto slept = co_await sleep_for(1ms);
    }
    int items = 0;
    while (auto item = co_await stream.next()) ++items;
    EXPECT_LE(items, items_in_window());
    co_return stream.status();
  };
  EXPECT_EQ(loop().block_on(read()).code(), StatusCode::kUnavailable);
  caller.close();
  EXPECT_TRUE(turn_until(loop(), [&] { return server.is_over(); }));
}

TEST_F(HostileStreams, AClientTellsItemsOfNoSenseFromABrokenConnection) {
  const Status spoilt = outcome_of_watch([](HostilePeer& peer, std::uint64_t id) {
    peer.send(item_bytes(id, kItem, true) +
              frame_bytes(wire::ItemHead{.id = id, .of_answer = true}.header(), "\xFF\xFF\xFF\xFF"));
  });
  EXPECT_EQ(items_read_, 1);
  EXPECT_EQ(spoilt.code(), StatusCode::kInvalidArgument) << spoilt.to_string();
  const Status lost = outcome_of_watch([](HostilePeer& peer, std::uint64_t id) {
    peer.send(item_bytes(id, kItem, true));
    peer.reset();
  });
  EXPECT_EQ(lost.code(), StatusCode::kUnavailable) << lost.to_string();
}

TEST_F(HostileStreams, AGoodEndInTheMiddleOfAnAttachmentIsNone) {
  const Status status = outcome_of_watch([](HostilePeer& peer, std::uint64_t id) {
    peer.send(item_bytes(id, kItem, true) + attached_bytes(id, 100, true) +
              piece_bytes(id, 0, 50, false, true) + frame_bytes(wire::AnswerHead{.id = id}.header()));
  });
  EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status.to_string();
  EXPECT_EQ(items_read_, 1);
}

TEST_F(HostileStreams, AClientThatNobodySendsTheRestOfAnAttachmentEndsItsStream) {
  // A terabyte is announced, and there is no address for it, or the stream waits and is dropped.
  const Status status = outcome_of_watch([](HostilePeer& peer, std::uint64_t id) {
    peer.send(attached_bytes(id, std::uint64_t{1} << 40, true) + piece_bytes(id, 0, 1000, false, true));
    peer.reset();
  });
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(items_read_, 0);
}

TEST_F(HostileStreams, ItemsOfNoStreamAreDroppedByAClient) {
  const Status status = outcome_of_watch([](HostilePeer& peer, std::uint64_t id) {
    peer.send(item_bytes(id + 1000, kItem, true) + last_bytes(id + 1000, true) +
              credit_bytes(id + 1000, 1, true) + item_bytes(id, kItem) + credit_bytes(id, 3) +
              item_bytes(id, kItem, true) + frame_bytes(wire::AnswerHead{.id = id}.header()) +
              item_bytes(id, kItem, true) + credit_bytes(id, 0, true));
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(items_read_, 1);
}

// ---- Time. ----

class StillHostileStreams : public StillFaultTest {
 protected:
  Server& serve_all(ServerOptions options = {}) {
    return serve(std::move(options),
                 [](Server& server) { server.register_handler<add, never_read, count_items, watch>(); });
  }
  /// Code of the next answer, which is that of `id`; nothing when none comes.
  std::optional<StatusCode> code_of_answer(HostilePeer& peer, std::uint64_t id) {
    while (turn_until(loop(), [&] { return peer.readable_within(0ms); })) {
      const auto frame = peer.receive_frame();
      if (!frame) return std::nullopt;
      if (frame->header.type != FrameType::kAnswer) continue;
      EXPECT_EQ(frame->header.id, id);
      return static_cast<StatusCode>(wire::AnswerView{frame->header}.code());
    }
    return std::nullopt;
  }
};

TEST_F(StillHostileStreams, AnItemThatIsAnnouncedAndDoesNotComeCostsTheConnection) {
  Server& server = serve_all();
  HostilePeer peer{server.urls().front()};
  wire::FrameHeader item = wire::ItemHead{.body_bytes = 1u << 20, .id = 1}.header();
  peer.send(hello_bytes() + request_bytes<never_read>(1) + header_bytes(item) + std::string(1000, 'x'));
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 1; }));
  for (int second = 0; second < 12; ++second) pass(1s);
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 0; }));
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
}

TEST_F(StillHostileStreams, AnAttachmentThatDoesNotGetOnCostsItsStream) {
  Server& server = serve_all();
  HostilePeer peer{server.urls().front()};
  peer.send(hello_bytes() + request_bytes<count_items>(1) + attached_bytes(1, 1u << 20) +
            piece_bytes(1, 0, 1000, false));
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 1; }));
  for (int second = 0; second < 12; ++second) pass(1s);
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
  EXPECT_EQ(server.stats().connections, 1u);
}

// What gets on slowly is left alone, and what has stopped costs its own stream and no other.
TEST_F(StillHostileStreams, AnAttachmentOfAnItemThatDoesNotGetOnIsCountedOnce) {
  constexpr std::size_t kPart = 64 * 1024;
  ServerOptions options;
  options.limits.frame_timeout = 1s;
  Server& server = serve_all(std::move(options));
  const auto stalled = [&] { return server.stats().refused[RefusalReason::kAttachmentStalled]; };
  HostilePeer peer{server.urls().front()};
  peer.send(hello_bytes() + request_bytes<never_read>(3) + request_bytes<count_items>(1) +
            attached_bytes(1, 1u << 20));
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 2; }));
  for (std::uint64_t part = 0; part < 3; ++part) {
    const std::uint64_t before = server.stats().traffic.bytes_received;
    const std::string piece = piece_bytes(1, part * kPart, kPart, false);
    ASSERT_TRUE(peer.send(piece));
    ASSERT_TRUE(
        turn_until(loop(), [&] { return server.stats().traffic.bytes_received >= before + piece.size(); }));
    pass(700ms);
    EXPECT_EQ(stalled(), 0u) << part;
    EXPECT_EQ(server.stats().calls_running, 2u) << part;
  }
  for (int times = 0; times < 10; ++times) pass(700ms);
  EXPECT_EQ(stalled(), 1u);
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 1; }));
  ASSERT_TRUE(peer.receive_hello());
  EXPECT_EQ(code_of_answer(peer, 1), StatusCode::kUnavailable);
  ASSERT_TRUE(peer.send(piece_bytes(1, 3 * kPart, kPart, false) + request_bytes<add>(5, 20, 22)));
  EXPECT_EQ(code_of_answer(peer, 5), StatusCode::kOk);
  EXPECT_EQ(server.stats().pieces_skipped, 1u) << "it came too late";
  EXPECT_EQ(stalled(), 1u);
  EXPECT_EQ(server.stats().connections, 1u);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

TEST_F(StillHostileStreams, AStreamOnWhichNothingHappensStands) {
  Server& server = serve_all();
  HostilePeer peer{server.urls().front()};
  peer.send(hello_bytes() + request_bytes<never_read>(1));
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 1; }));
  for (int minute = 0; minute < 10; ++minute) pass(60s);
  EXPECT_EQ(server.stats().connections, 1u);
  EXPECT_EQ(server.stats().calls_running, 1u);
}

TEST_F(StillHostileStreams, APeerThatEndsItsDirectionEndsTheReadingOfItsStreams) {
  Server& server = serve_all();
  HostilePeer peer{server.urls().front()};
  peer.send(hello_bytes() + request_bytes<count_items>(1) + item_bytes(1));
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 1; }));
  peer.end_sending();
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }))
      << "no item can come any more";
}

}  // namespace
}  // namespace weft::faults::hostile_streams_tests
