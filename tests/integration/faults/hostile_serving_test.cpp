// SPDX-License-Identifier: Apache-2.0
// Faults, part "bytes from a peer", of clients that serve: a server that calls in ways that no honest one
// does.
#include <atomic>
#include <string>
#include <thread>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "weft/coro/event.hpp"

namespace weft::faults::hostile_serving_tests {

using namespace weft::detail;
namespace {

using wire::FrameType;

/// The client has not registered it.
int unknown(int a, int b) {
  return a - b;
}
/// Ends when it is cancelled.
Task<int> wait_long() {
  Event never;
  [[maybe_unused]] const Result<void> cancelled = co_await never.wait();
  co_return 0;
}

/// A client that serves, and a server of bytes that it has connected to; the client's loop turns while the
/// server's part runs on a thread of its own.
class HostileServing : public FaultTest {
 protected:
  /// Runs `script` as the part of a server to which a client that serves has connected.
  template <typename Script>
  void expect(Script script) {
    HostileListener listener;
    ClientOptions options;
    options.limits.body_bytes_max = 10'000;
    Client& serving = client(listener.url(), options);
    serving.register_handler<add, wait_long>();
    std::atomic<bool> connected = false;
    std::atomic<bool> over = false;
    std::thread server{[&] {
      HostilePeer peer = listener.accept();
      EXPECT_TRUE(peer.send(hello_bytes()));
      EXPECT_TRUE(peer.receive_hello());
      connected.wait(false);
      script(peer);
      over = true;
    }};
    EXPECT_TRUE(loop().block_on(serving.connect()).ok());
    connected = true;
    connected.notify_one();
    EXPECT_TRUE(turn_until(loop(), [&] { return over.load(); }));
    server.join();
    serving.close();
  }
  /// The client ends a connection on which it was told `bytes`.
  void expect_ended(const std::string& bytes, const std::string& what) {
    expect([&](HostilePeer& peer) {
      peer.send(bytes);
      EXPECT_TRUE(peer.closed_by_other_side()) << what;
    });
  }
  /// The client keeps a connection on which it was told `bytes`, and answers a request behind them.
  void expect_taken(const std::string& bytes, const std::string& what) {
    expect([&](HostilePeer& peer) {
      peer.send(bytes + request_bytes<&add>(777, 1, 2));
      for (;;) {
        const auto frame = peer.receive_frame();
        ASSERT_TRUE(frame.has_value()) << what;
        if (frame->header.type != FrameType::kAnswer || frame->header.id != 777) continue;
        EXPECT_EQ(frame->body, body_of(3)) << what;
        break;
      }
    });
  }
};

TEST_F(HostileServing, WhatBreaksTheProtocolCostsTheServerTheConnection) {
  expect_ended(request_bytes<wait_long>(1) + request_bytes<wait_long>(1), "an id in use");
  wire::FrameHeader large = request_header<&add>(1);
  large.body_bytes = 1u << 31;
  expect_ended(header_bytes(large), "a request beyond every limit");
}

// Each of them says what the first said. The handler that runs is ended by the end of the connection.
TEST_F(HostileServing, AFloodOfGoawaysLeavesTheClientAlive) {
  std::string flood = request_bytes<wait_long>(1);
  for (int i = 0; i < 10'000; ++i) flood += control_bytes(FrameType::kGoaway);
  expect([&](HostilePeer& peer) {
    EXPECT_TRUE(peer.send(flood));
    peer.close();
  });
  expect_taken("", "a connection behind it");
}

TEST_F(HostileServing, WhatNamesNothingIsRefusedOrDropped) {
  expect_taken(request_bytes<&unknown>(1, 1, 2), "an unknown method");
  expect_taken(control_bytes(FrameType::kCancel, 5), "a cancel for nothing");
  expect_taken(frame_bytes(wire::ItemHead{.id = 99}.header(), "item"), "an item for nothing");
  expect_taken(frame_bytes(wire::CreditHead{.id = 99, .granted = 5}.header()), "a credit for nothing");
}

}  // namespace
}  // namespace weft::faults::hostile_serving_tests
