// SPDX-License-Identifier: Apache-2.0
// LG-2: answers that have no room wait in their calls, however late and by whom they are made, so that a peer
// that does not read costs no more than its queue.
#include "dropin.pb.h"
#include "integration/protobuf/services_testing.hpp"
#include "integration/rpc/raw_peer.hpp"

namespace weft::testing {

using namespace weft::detail;
namespace {

constexpr std::size_t kAnswerBytes = 256 * 1024;
constexpr std::size_t kHighWater = 1u << 20;
// What the kernel's buffers on both sides may swallow beside our queue.
constexpr std::size_t kKernelBytes = 16u << 20;
constexpr std::uint32_t kCalls = 200;

/// Waits until all are told to answer.
class HeldEcho : public Echo {
 public:
  Task<Result<void>> Say(CallContext&, const test::EchoRequest&, test::EchoResponse& response) override {
    const Result<void> opened = co_await open.wait();
    response.set_text(std::string(kAnswerBytes, 'a'));
    co_return opened;
  }
  Event open;
};

class HeldDropIn : public dropin::EchoService {
 public:
  void Echo(google::protobuf::RpcController*, const dropin::EchoRequest*, dropin::EchoResponse* response,
            google::protobuf::Closure* done) override {
    response->set_text(std::string(kAnswerBytes, 'a'));
    held.push_back(done);
  }
  std::vector<google::protobuf::Closure*> held;
};

class ProtobufRoom : public ProtobufTest {
 protected:
  /// All calls answer while the peer does not read. Then it reads.
  template <typename Answer>
  void expect_bounded(const MethodKey& method, Answer answer_all) {
    RawPeer peer{server_.urls().front(), 32 * 1024};
    peer.send_hello();
    for (std::uint32_t i = 0; i < kCalls; ++i) {
      peer.send_request(wire::make_id(i, 0), method.id, method.schema, "");
    }
    ASSERT_TRUE(
        turn_until(loop(), [&] { return peer.write_some() && server_.stats().calls_running == kCalls; }));
    run_in_turn(answer_all);
    std::size_t before = 0;
    do {
      before = server_.stats().calls_running;
      for (int i = 0; i < 20; ++i) loop().run_once(1ms);
    } while (server_.stats().calls_running != before);
    EXPECT_GE(before, kCalls - (kHighWater + kKernelBytes) / kAnswerBytes);
    ASSERT_TRUE(turn_until(loop(), [&] { return peer.read_some() && peer.answers().size() == kCalls; }));
    for (const wire::FrameHeader& answer : peer.answers()) EXPECT_GT(answer.body_bytes, kAnswerBytes);
    EXPECT_EQ(server_.stats().calls_running, 0u);
  }
  static ServerOptions small_queue() {
    ServerOptions options;
    options.limits.outbox_high_water = kHighWater;
    return options;
  }

  HeldEcho echo_;
  HeldDropIn drop_in_;
  Server& server_ = serve_here(small_queue(), [this](Server& its) {
    protobuf::Services services{its};
    services.add(echo_);
    services.add(drop_in_);
  });
};

TEST_F(ProtobufRoom, IsWaitedForByCoroutines) {
  constexpr MethodKey kSay =
      protobuf::make_method("weft.test.Echo/Say", "weft.test.EchoRequest", "weft.test.EchoResponse");
  expect_bounded(kSay, [this] { echo_.open.set(); });
}

TEST_F(ProtobufRoom, IsWaitedForByProtobufsOwnServices) {
  constexpr MethodKey kEcho = protobuf::make_method("weft.dropin.EchoService/Echo", "weft.dropin.EchoRequest",
                                                    "weft.dropin.EchoResponse");
  expect_bounded(kEcho, [this] {
    for (google::protobuf::Closure* done : drop_in_.held) done->Run();
  });
}

}  // namespace
}  // namespace weft::testing
