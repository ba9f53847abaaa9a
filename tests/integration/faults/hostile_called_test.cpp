// SPDX-License-Identifier: Apache-2.0
// Faults, part "bytes from a peer", of servers that call their clients: clients that say they serve, and do
// what no honest one does. Server and test share one loop and a clock that stands still, so nothing happens
// but what the peer did.
#include <algorithm>
#include <string>
#include <vector>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/flooding_peer.hpp"
#include "integration/faults/heap_count.hpp"
#include "integration/faults/stream_bytes.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::faults::hostile_called_tests {

using namespace weft::detail;
namespace {

using wire::FrameType;

constexpr std::uint32_t kWindow = 1000;
const std::string kItem(60, 'i');

/// Items that a window of kWindow lets through when none is read.
constexpr int items_in_window() {
  return kWindow / static_cast<int>(wire::item_cost(64)) + 1;
}

/// Functions that clients are said to serve; nobody does.
int twice(int number) {
  return 2 * number;
}
Stream<std::string> feed() {
  co_yield kItem;
}
Task<int> take(Reader<std::string>& items) {
  while (auto item = co_await items.next()) continue;
  co_return 0;
}

/// Counts the items that come.
Task<Result<int>> count_items(Reader<std::string>& items) {
  int count = 0;
  while (auto item = co_await items.next()) ++count;
  if (!items.status().ok()) co_return items.status();
  co_return count;
}

/// Handlers of a server that call the client back. What they begin goes on when they, or their caller, have
/// ended, and notes how it ended.
struct Asking {
  std::vector<Status> ends;
  std::vector<int> answers;
  int items = 0;
  int written = 0;
  Event go_on;
  Scope scope;

  void ask(CallContext& context, int number) { scope.spawn(&Asking::ask_it, this, context.peer(), number); }
  /// Opens a stream of the peer's and reads it.
  void read(CallContext& context) { scope.spawn(&Asking::read_it, this, context.peer(), false); }
  /// The same, and reads nothing before it is told to.
  void read_late(CallContext& context) { scope.spawn(&Asking::read_it, this, context.peer(), true); }
  /// The same, and reads nothing at all.
  void skip(CallContext& context) { scope.spawn(&Asking::skip_it, this, context.peer()); }
  /// Opens a stream to the peer and writes to it.
  void write(CallContext& context, int count) {
    scope.spawn(&Asking::write_to_it, this, context.peer(), count);
  }

 private:
  static Task<void> ask_it(Asking* its, Peer peer, int number) {
    Result<int> answer = co_await peer.call<twice>(number);
    its->ends.push_back(answer.status());
    if (answer.ok()) its->answers.push_back(*answer);
  }
  static Task<void> read_it(Asking* its, Peer peer, bool late) {
    auto stream = peer.open<feed>();
    if (late) {
      [[maybe_unused]] const Result<void> told = co_await its->go_on.wait();
    }
    while (auto item = co_await stream.next()) ++its->items;
    its->ends.push_back(stream.status());
  }
  static Task<void> skip_it(Asking* its, Peer peer) {
    auto stream = peer.open<feed>();
    Result<void> end = co_await stream.finish();
    its->ends.push_back(end.status());
  }
  static Task<void> write_to_it(Asking* its, Peer peer, int count) {
    CallOptions options;
    options.timeout = 10s;
    auto stream = peer.open<take>(options);
    for (; its->written < count; ++its->written) {
      const bool goes_on = co_await stream.write(kItem);
      if (!goes_on) break;
    }
    Result<int> end = co_await stream.finish();
    its->ends.push_back(end.status());
  }
};

class HostileCalled : public StillFaultTest {
 protected:
  Server& serve_asking(ServerOptions options = {}, std::uint32_t window = kWindow) {
    options.limits.stream_window = window;
    return serve(std::move(options), [this](Server& server) {
      server.register_handler<&Asking::ask, &Asking::read, &Asking::read_late, &Asking::skip, &Asking::write>(
          &asking_);
      server.register_handler<add, count_items>();
    });
  }
  /// A peer that has said hello and made the call `request`; `asked` becomes the id of what the server asks
  /// it then.
  FloodingPeer asked_peer(Server& server, const std::string& request, std::uint64_t& asked) {
    FloodingPeer peer{server.urls().front()};
    peer.say(hello_with_window(kWindow) + request);
    const auto frame = peer.await(loop(), FrameType::kRequest);
    EXPECT_TRUE(frame.has_value()) << "the server did not ask";
    asked = frame ? frame->header.id : wire::kNoId;
    return peer;
  }
  void expect_served_beside() {
    if (honest_ == nullptr) honest_ = &client();
    const Result<int> sum = wait_for(honest_->start<&add>(20, 22));
    EXPECT_EQ(sum.value(), 42) << "an honest client beside it";
  }
  void expect_served(Server& server) {
    expect_served_beside();
    EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
  }
  /// Returns true when so many of those that were begun have ended.
  bool have_ended(std::size_t times) {
    return turn_until(loop(), [&] { return asking_.ends.size() == times; });
  }
  void TearDown() override {
    asking_.go_on.set();
    loop().block_on(join(asking_.scope));
  }
  /// The server ends the connection of a peer that says `words(id)` when it is asked by `request`, counts
  /// that, and hears of the end of what it asked.
  template <typename Words>
  void expect_refused(const std::string& request, Words words, const std::string& what) {
    SCOPED_TRACE(what);
    const std::size_t ended = asking_.ends.size();
    const ServerStats before = server_->stats();
    std::uint64_t asked = 0;
    FloodingPeer peer = asked_peer(*server_, request, asked);
    peer.say(words(asked));
    EXPECT_TRUE(peer.is_left(loop()));
    asking_.go_on.set();
    EXPECT_TRUE(have_ended(ended + 1));
    asking_.go_on.reset();
    EXPECT_EQ(server_->stats().refused[RefusalReason::kMisplacedItem],
              before.refused[RefusalReason::kMisplacedItem] + 1);
    ASSERT_EQ(asking_.ends.size(), ended + 1);
    EXPECT_EQ(asking_.ends.back().code(), StatusCode::kUnavailable) << asking_.ends.back().to_string();
  }

  Asking asking_;
  Server* server_ = nullptr;
  Client* honest_ = nullptr;
};

TEST_F(HostileCalled, WhatNoStreamAllowsCostsAPeerItsConnectionAndTheServerItsStream) {
  server_ = &serve_asking();
  const std::string late = request_bytes<&Asking::read_late>(1);
  const std::string read = request_bytes<&Asking::read>(1);
  const std::string write = request_bytes<&Asking::write>(1, 1000);
  const std::string call = request_bytes<&Asking::ask>(1, 5);
  const auto item = [](std::uint64_t id, const std::string& text = kItem) {
    return item_bytes(id, text, true);
  };
  expect_refused(late, [&](std::uint64_t id) { return repeated(item(id), 20); }, "items without credit");
  expect_refused(
      late, [&](std::uint64_t id) { return repeated(item(id, ""), 100); }, "empty items without credit");
  expect_refused(
      read, [&](std::uint64_t id) { return last_bytes(id, true) + item(id); }, "an item behind the last");
  expect_refused(
      read, [&](std::uint64_t id) { return last_bytes(id, true) + last_bytes(id, true); }, "two last items");
  expect_refused(call, [&](std::uint64_t id) { return item(id); }, "an item for a call of one answer");
  expect_refused(
      call, [&](std::uint64_t id) { return credit_bytes(id, 5000, true); },
      "a credit for a call of one answer");
  expect_refused(
      write, [&](std::uint64_t id) { return credit_bytes(id, kWindow, true); }, "the same credit again");
  expect_refused(
      write,
      [&](std::uint64_t id) {
        return credit_bytes(id, 3 * kWindow, true) + credit_bytes(id, 2 * kWindow, true);
      },
      "a credit that takes back");
  expect_served(*server_);
}

// Ids that were never given, of other generations, and of the peer's own calls: none finds anything, in
// either direction, and what was asked is answered behind them.
TEST_F(HostileCalled, AnswersAndItemsForIdsThatWereNeverAskedAreDropped) {
  Server& server = serve_asking();
  std::uint64_t asked = 0;
  FloodingPeer peer = asked_peer(server, request_bytes<&Asking::ask>(1, 5), asked);
  std::string words;
  const wire::AnswerHead failure{.code = StatusCode::kInternal};
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    for (const std::uint64_t id : {asked + i, asked + (i << 32), ~i}) {
      wire::AnswerHead head = failure;
      head.id = id;
      words += frame_bytes(head.header(), "no") +
               frame_bytes(wire::AnswerHead{.id = id}.header(), body_of(7)) + item_bytes(id, kItem, true) +
               last_bytes(id, true) + credit_bytes(id, i, true) + control_bytes(FrameType::kCancel, id) +
               control_bytes(FrameType::kContinue, id);
    }
  }
  peer.say(words);
  EXPECT_TRUE(turn_until(loop(), [&] { return !peer.pour() && peer.has_said_all(); }));
  EXPECT_TRUE(asking_.ends.empty());
  peer.say(frame_bytes(wire::AnswerHead{.id = asked}.header(), body_of(10)));
  EXPECT_TRUE(have_ended(1));
  EXPECT_EQ(asking_.answers, std::vector<int>{10});
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  EXPECT_EQ(server.stats().connections, 1u);
  // Its answer again, and a third time: the call has ended.
  peer.say(repeated(frame_bytes(wire::AnswerHead{.id = asked}.header(), body_of(11)), 2) +
           request_bytes<&add>(2, 3, 4));
  ASSERT_TRUE(peer.await(loop(), FrameType::kAnswer));
  EXPECT_EQ(asking_.answers, std::vector<int>{10});
  EXPECT_EQ(asking_.ends.size(), 1u);
}

// The answer is in the peer's hands; none of these is one that can be read.
TEST_F(HostileCalled, AnswersOfNoSenseFailTheCallAndKeepTheConnection) {
  Server& server = serve_asking();
  FloodingPeer peer{server.urls().front()};
  peer.say(hello_with_window(kWindow));
  std::uint64_t own = 1;
  const auto answer = [&](const std::string& body, StatusCode code = StatusCode::kOk) {
    peer.say(request_bytes<&Asking::ask>(own++, 5));
    const auto asked = peer.await(loop(), FrameType::kRequest);
    ASSERT_TRUE(asked.has_value());
    const std::size_t ended = asking_.ends.size();
    peer.say(frame_bytes(wire::AnswerHead{.code = code, .id = asked->header.id}.header(), body));
    ASSERT_TRUE(turn_until(loop(), [&] { return asking_.ends.size() == ended + 1; }));
  };
  answer("");
  EXPECT_EQ(asking_.ends.back().code(), StatusCode::kInvalidArgument) << asking_.ends.back().to_string();
  answer(std::string(100'000, 'x'));
  EXPECT_EQ(asking_.ends.back().code(), StatusCode::kInvalidArgument) << asking_.ends.back().to_string();
  answer("\x1b[31mlies\n", StatusCode::kNotFound);
  EXPECT_EQ(asking_.ends.back().code(), StatusCode::kNotFound);
  EXPECT_EQ(asking_.ends.back().message().find('\x1b'), std::string::npos);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  answer(body_of(10));
  EXPECT_EQ(asking_.answers, std::vector<int>{10});
}

// The server waits for the peer's answer, so it may not stop reading at once; what it says meanwhile is small
// refusals, of as many requests as an honest peer may have, and then it reads no more.
TEST_F(HostileCalled, AFloodOfRequestsWhoseAnswersNobodyReadsIsRefusedAndThenNotRead) {
  ServerOptions options;
  options.limits.outbox_high_water = 64 * 1024;
  options.limits.calls_in_flight_max = 1000;
  options.peer_call_timeout = 60s;
  Server& server = serve_asking(std::move(options));
  std::uint64_t asked = 0;
  FloodingPeer peer = asked_peer(server, request_bytes<&Asking::ask>(1, 5), asked);
  expect_served_beside();
  restart_heap_peak();
  const std::size_t before = heap_bytes();
  std::string requests;
  for (std::uint64_t id = 2; id < 1000; ++id) requests += request_bytes<&add>(id, 1, 2);
  const std::uint64_t rounds = 50'000;  // two gigabytes
  EXPECT_FALSE(flood(loop(), peer, rounds, [&](std::uint64_t) { return requests; }));
  const ServerStats stats = server.stats();
  EXPECT_GT(stats.refused[RefusalReason::kOverOutbox], 100u);
  // Each has 128 bytes at most, and they are all that is made while the outbox is full.
  EXPECT_LT(stats.refused[RefusalReason::kOverOutbox], 10'000u);
  EXPECT_EQ(stats.refused[RefusalReason::kOverProcessMemory], 0u);
  if (kHeapIsCounted) {
    EXPECT_LT(heap_peak_bytes() - before, 2u << 20);
  }
  expect_served_beside();
  // It is left when it has taken nothing for the time of a stall, and the call that it owed fails.
  pass(31s);
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 1; })) << "the honest one";
  EXPECT_TRUE(have_ended(1));
  EXPECT_EQ(asking_.ends.back().code(), StatusCode::kUnavailable) << asking_.ends.back().to_string();
  expect_served(server);
}

// Nobody wants the items, so each is granted again at once, and the flood may go on for ever; of two streams
// in turns, each item is a credit. Nobody reads those.
TEST_F(HostileCalled, AFloodOfItemsWhoseCreditsNobodyReadsIsNotReadForEver) {
  ServerOptions options;
  options.limits.outbox_high_water = 64 * 1024;
  options.limits.calls_in_flight_max = 1000;
  Server& server = serve_asking(std::move(options));
  std::uint64_t first = 0;
  FloodingPeer peer = asked_peer(server, request_bytes<&Asking::skip>(1), first);
  peer.say(request_bytes<&Asking::skip>(2));
  const auto second = peer.await(loop(), FrameType::kRequest);
  ASSERT_TRUE(second.has_value());
  expect_served_beside();
  restart_heap_peak();
  const std::size_t before = heap_bytes();
  const std::string large(kWindow / 2, 'i');
  const std::string items =
      repeated(item_bytes(first, large, true) + item_bytes(second->header.id, large, true), 200);
  EXPECT_FALSE(flood(loop(), peer, 2000, [&](std::uint64_t) { return items; }));
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  if (kHeapIsCounted) {
    EXPECT_LT(heap_peak_bytes() - before, 2u << 20);
  }
  expect_served_beside();
  // It reads, and all goes on.
  peer.say(frame_bytes(wire::AnswerHead{.id = first}.header()) + request_bytes<&add>(3, 1, 2));
  EXPECT_TRUE(
      peer.await(loop(), FrameType::kAnswer, [](const RawFrame& frame) { return frame.header.id == 3; }));
  EXPECT_TRUE(have_ended(1));
  EXPECT_TRUE(asking_.ends.back().ok()) << asking_.ends.back().to_string();
  peer.reset();
}

// The server reads none of its streams at the peer yet, and the peer fills them all. What it may take of the
// server's memory is a share: an item of somebody else finds a place.
TEST_F(HostileCalled, ItemsOfStreamsThatTheServerOpenedLeaveOthersTheirShareOfTheMemory) {
  constexpr int kStreams = 16;
  ServerOptions options;
  options.limits.process_memory_max = 8u << 20;
  Server& server = serve_asking(std::move(options), 4u << 20);
  const std::string large(50'000, 'm');
  FloodingPeer peer{server.urls().front()};
  peer.say(hello_with_window(kWindow));
  std::vector<std::uint64_t> asked;
  for (std::uint64_t i = 0; i < kStreams; ++i) {
    peer.say(request_bytes<&Asking::read_late>(i));
    const auto request = peer.await(loop(), FrameType::kRequest);
    ASSERT_TRUE(request.has_value());
    asked.push_back(request->header.id);
  }
  for (const std::uint64_t id : asked) peer.say(repeated(item_bytes(id, large, true), 40));
  ASSERT_TRUE(turn_until(loop(), [&] {
    peer.pour();
    return peer.has_said_all();
  }));
  peer.say(request_bytes<&add>(100, 1, 2));
  ASSERT_TRUE(
      peer.await(loop(), FrameType::kAnswer, [](const RawFrame& frame) { return frame.header.id == 100; }));
  const auto upload = [&](Client& honest) -> Task<Result<int>> {
    auto stream = honest.open<count_items>();
    for (int i = 0; i < 4; ++i) {
      const bool goes_on = co_await stream.write(large);
      if (!goes_on) break;
    }
    Result<int> count = co_await stream.finish();
    co_return count;
  };
  const Result<int> counted = loop().block_on(upload(client()));
  ASSERT_TRUE(counted.ok()) << counted.status().to_string();
  EXPECT_EQ(*counted, 4);
  // Streams that found no place have what came before.
  asking_.go_on.set();
  peer.reset();
  ASSERT_TRUE(have_ended(kStreams));
  EXPECT_GT(asking_.items, 40);
  EXPECT_LT(asking_.items, kStreams * 40);
}

TEST_F(HostileCalled, APeerThatGrantsNothingHoldsTheWriterOfItsStreamAndNobodyElse) {
  Server& server = serve_asking();
  std::uint64_t asked = 0;
  FloodingPeer peer = asked_peer(server, request_bytes<&Asking::write>(1, 1'000'000), asked);
  loop().run_until_idle();
  EXPECT_LE(asking_.written, items_in_window());
  EXPECT_GT(asking_.written, 0);
  expect_served_beside();
  pass(11s);
  ASSERT_EQ(asking_.ends.size(), 1u);
  EXPECT_EQ(asking_.ends.back().code(), StatusCode::kDeadlineExceeded) << asking_.ends.back().to_string();
  EXPECT_TRUE(peer.await(loop(), FrameType::kCancel, [&](const RawFrame& frame) {
    return frame.header.id == asked;
  })) << "the peer is told";
  peer.say(credit_bytes(asked, 1'000'000, true) + credit_bytes(asked, 1, true) +
           request_bytes<&add>(2, 3, 4));
  EXPECT_TRUE(peer.await(loop(), FrameType::kAnswer, [](const RawFrame& frame) {
    return frame.header.id == 2;
  })) << "what comes for it late finds nobody";
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

// Each of its calls ends in time, and the places that it keeps are its own.
TEST_F(HostileCalled, APeerThatAnswersNothingCostsItsCallsTheirTime) {
  constexpr int kCalls = 100;
  constexpr std::uint32_t kPlaces = 10;
  Server& server = serve_asking();
  FloodingPeer peer{server.urls().front()};
  wire::Hello hello;
  hello.features_supported = wire::Features::kAll;
  hello.body_bytes_max = 1u << 20;
  hello.calls_in_flight_max = kPlaces;
  std::string words = wire::encode_hello(hello);
  for (std::uint64_t id = 1; id <= kCalls; ++id) words += request_bytes<&Asking::ask>(id, 5);
  peer.say(words);
  std::vector<std::uint64_t> asked;
  const auto hear = [&] {
    peer.listen();
    peer.look([&](const RawFrame& frame) {
      if (frame.header.type == FrameType::kRequest) asked.push_back(frame.header.id);
    });
  };
  ASSERT_TRUE(turn_until(loop(), [&] {
    hear();
    return server.stats().calls == kCalls;
  }));
  loop().run_until_idle();
  hear();
  EXPECT_EQ(asked.size(), kPlaces);
  pass(31s);
  EXPECT_EQ(asking_.ends.size(), std::size_t{kCalls});
  EXPECT_TRUE(std::ranges::all_of(
      asking_.ends, [](const Status& end) { return end.code() == StatusCode::kDeadlineExceeded; }));
  hear();
  EXPECT_EQ(asked.size(), kPlaces) << "places of calls that it owes answers for are not given away";
  expect_served_beside();
  // It answers late, and is asked again.
  words.clear();
  for (const std::uint64_t id : asked) words += frame_bytes(wire::AnswerHead{.id = id}.header(), body_of(1));
  asked.clear();
  peer.say(words + request_bytes<&Asking::ask>(1000, 5));
  ASSERT_TRUE(turn_until(loop(), [&] {
    hear();
    return !asked.empty();
  }));
  peer.say(frame_bytes(wire::AnswerHead{.id = asked.front()}.header(), body_of(10)));
  EXPECT_TRUE(turn_until(loop(), [&] { return !asking_.answers.empty(); }));
  EXPECT_EQ(asking_.answers, std::vector<int>{10});
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

TEST_F(HostileCalled, RequestsBeforeTheHelloAreNoHello) {
  Server& server = serve_asking();
  const std::string hello = hello_with_window(kWindow);
  const std::string request = request_bytes<&add>(1, 1, 2);
  std::uint64_t refused = 0;
  for (const std::string& words : {request + hello, hello.substr(0, hello.size() / 2) + request + hello}) {
    FloodingPeer peer{server.urls().front()};
    peer.say(words);
    EXPECT_TRUE(peer.is_left(loop()));
    EXPECT_EQ(server.stats().refused[RefusalReason::kBadHello], ++refused);
  }
  EXPECT_EQ(server.stats().calls, 0u);
  // Behind it they are taken, though the server's own hello was not read.
  FloodingPeer peer{server.urls().front()};
  std::string words = hello;
  for (std::uint64_t id = 1; id <= 1000; ++id) words += request_bytes<&add>(id, 1, 2);
  peer.say(words);
  EXPECT_TRUE(peer.await(loop(), FrameType::kAnswer, [](const RawFrame& frame) {
    return frame.header.id == 1000 && frame.body == body_of(3);
  }));
  expect_served(server);
}

// Each says again that the peer wants no requests: what was asked before is answered, and what is asked
// behind them is refused here.
TEST_F(HostileCalled, AFloodOfGoawaysLeavesWhatWasAskedBefore) {
  Server& server = serve_asking();
  std::uint64_t asked = 0;
  FloodingPeer peer = asked_peer(server, request_bytes<&Asking::ask>(1, 5), asked);
  restart_heap_peak();
  const std::size_t before = heap_bytes();
  const std::string goaways = repeated(control_bytes(FrameType::kGoaway), 1000);
  EXPECT_TRUE(flood(loop(), peer, 100, [&](std::uint64_t) { return goaways; }));
  if (kHeapIsCounted) {
    EXPECT_LT(heap_peak_bytes() - before, 1u << 20);
  }
  expect_served_beside();
  EXPECT_TRUE(asking_.ends.empty());
  peer.say(request_bytes<&Asking::ask>(2, 6));
  ASSERT_TRUE(have_ended(1));
  EXPECT_EQ(asking_.ends.back().code(), StatusCode::kUnavailable) << asking_.ends.back().to_string();
  EXPECT_TRUE(asking_.ends.back().unprocessed());
  peer.say(frame_bytes(wire::AnswerHead{.id = asked}.header(), body_of(10)));
  ASSERT_TRUE(have_ended(2));
  EXPECT_EQ(asking_.answers, std::vector<int>{10});
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

TEST_F(HostileCalled, APeerThatResetsItsConnectionEndsAllThatWasAskedOfIt) {
  Server& server = serve_asking();
  constexpr std::uint64_t kEach = 300;
  FloodingPeer peer{server.urls().front()};
  std::string words = hello_with_window(kWindow);
  for (std::uint64_t id = 1; id <= kEach; ++id) {
    words += request_bytes<&Asking::ask>(3 * id, 5) + request_bytes<&Asking::read>(3 * id + 1) +
             request_bytes<&Asking::write>(3 * id + 2, 1'000'000);
  }
  peer.say(words);
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls == 3 * kEach; }));
  loop().run_until_idle();
  EXPECT_TRUE(asking_.ends.empty());
  peer.reset();
  EXPECT_TRUE(have_ended(3 * kEach));
  EXPECT_TRUE(std::ranges::all_of(asking_.ends,
                                  [](const Status& end) { return end.code() == StatusCode::kUnavailable; }));
  expect_served(server);
}

}  // namespace
}  // namespace weft::faults::hostile_called_tests
