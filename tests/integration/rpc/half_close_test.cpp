// SPDX-License-Identifier: Apache-2.0
// A peer that ends its side of the stream gets the answers that it asked for before; one that is gone does
// not keep its handlers running.
#include <optional>

#include "integration/rpc/raw_peer.hpp"
#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::half_close_tests {

using namespace weft::detail;
namespace {

/// Handlers that wait until they are told to go on.
struct Slow {
  std::vector<Reply<int>> replies;
  int cancelled = 0;
  Event go;

  Task<int> wait() {
    const Result<void> told = co_await go.wait();
    if (!told.ok()) ++cancelled;
    co_return 5;
  }
  void later(Reply<int> reply) { replies.push_back(std::move(reply)); }
};

class HalfClose : public RpcTest {
 protected:
  Server& server(const char* url) {
    ServerOptions options;
    options.listen = {url};
    return serve_here(std::move(options), [&](Server& its) {
      its.register_handler<&Slow::wait>(&slow_);
      its.register_handler<&Slow::later>(&slow_);
    });
  }
  /// A peer that asks for both, and ends its side. The server knows of it afterwards.
  void ask_and_end(RawPeer& peer) {
    constexpr auto kWait = detail::method_key<&Slow::wait>;
    constexpr auto kLater = detail::method_key<&Slow::later>;
    peer.send_hello();
    peer.send_request(wire::make_id(0, 0), kWait.id, kWait.schema, "");
    peer.send_request(wire::make_id(1, 0), kLater.id, kLater.schema, "");
    EXPECT_TRUE(turn_until(loop(), [&] { return peer.write_some() && peer.all_written(); }));
    peer.end_sending();
    // It asks whether the peer is still there.
    EXPECT_TRUE(turn_until(
        loop(), [&] { return peer.read_some() && !peer.frames_of(wire::FrameType::kPing).empty(); }));
  }

  Slow slow_;
};

TEST_F(HalfClose, DeliversTheAnswersOfSlowHandlersAndThenEnds) {
  Server& its = server(kAnyPort);
  RawPeer peer{its.urls().front()};
  ask_and_end(peer);
  EXPECT_TRUE(peer.answers().empty());
  EXPECT_EQ(its.stats().calls_running, 2u);
  slow_.go.set();
  ASSERT_TRUE(turn_until(loop(), [&] { return peer.read_some() && peer.answers().size() == 1; }));
  std::move(slow_.replies.front())(7);
  ASSERT_TRUE(turn_until(loop(), [&] { return !peer.read_some(); })) << "the server ends its side too";
  ASSERT_EQ(peer.answers().size(), 2u);
  for (const wire::FrameHeader& answer : peer.answers()) EXPECT_TRUE(wire::AnswerView{answer}.succeeded());
  EXPECT_EQ(slow_.cancelled, 0);
  EXPECT_TRUE(turn_until(loop(), [&] { return its.stats().connections == 0; }));
}

TEST_F(HalfClose, OfAPeerThatIsGoneByThenCancelsItsHandlers) {
  Server& its = server(kAnyPort);
  std::optional<RawPeer> peer{std::in_place, its.urls().front()};
  ask_and_end(*peer);
  peer.reset();
  std::move(slow_.replies.front())(7);  // meets a peer that takes nothing
  EXPECT_TRUE(turn_until(loop(), [&] { return its.stats().connections == 0; }));
  EXPECT_TRUE(turn_until(loop(), [&] { return slow_.cancelled == 1; }));
}

TEST_F(HalfClose, IsNotWhatAPeerThatGoesDoesAndItsHandlersAreCancelledAtOnce) {
  Server& its = server(kAnyPort);
  Client& caller = client(its);
  Call<int> call = caller.start<&Slow::wait>();
  ASSERT_TRUE(turn_until(loop(), [&] { return its.stats().calls_running == 1; }));
  caller.close();
  EXPECT_TRUE(turn_until(loop(), [&] { return slow_.cancelled == 1; }));
  EXPECT_EQ(wait_for(std::move(call)).status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace weft::testing::half_close_tests
