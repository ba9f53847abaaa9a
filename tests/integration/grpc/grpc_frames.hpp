// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <weft/grpc.hpp>
#include <weft/protobuf.hpp>
#include <weft/weft.hpp>

#include "integration/grpc/probe_service.hpp"
#include "integration/grpc/raw_http2.hpp"

namespace grpc_demo {

inline int twice(int a) {
  return 2 * a;
}

}  // namespace grpc_demo

namespace weft::testing {

using namespace std::chrono_literals;
using Raw = RawHttp2;

inline constexpr std::string_view kEcho = "/grpc_probe.Probe/Echo";
inline constexpr std::string_view kFail = "/grpc_probe.Probe/Fail";
inline constexpr std::string_view kWait = "/grpc_probe.Probe/Wait";
inline constexpr std::string_view kHold = "/grpc_probe.Probe/Hold";
inline constexpr std::string_view kJoin = "/grpc_probe.Probe/Join";
inline constexpr std::string_view kJoinLate = "/grpc_probe.Probe/JoinLate";
inline constexpr long kProtocolError = 1;
inline constexpr long kCalm = 11;

inline std::string text_bytes(std::string text) {
  grpc_probe::Text message;
  message.set_text(std::move(text));
  return message.SerializeAsString();
}
inline std::string failure_bytes(int code, std::string text, std::string details = {}) {
  grpc_probe::Failure message;
  message.set_code(code);
  message.set_message(std::move(text));
  message.set_details(std::move(details));
  return message.SerializeAsString();
}
inline std::string text_in(const Answer2& answer) {
  grpc_probe::Text message;
  if (answer.body.size() < 5 || !message.ParseFromString(answer.body.substr(5))) return "<none>";
  return message.text();
}

/// A server of gRPC, and clients that send any frames.
class GrpcFrames : public ::testing::Test {
 protected:
  ~GrpcFrames() override {
    probe_.may_go = true;
    if (!server_) return;
    server_->stop(0s);
    server_->wait();
    EXPECT_EQ(probe_.waiting, 0);
  }
  void start(ServerOptions options = {}, GrpcOptions grpc_options = {}) {
    options.listen = {"tcp://127.0.0.1:0"};
    options.protocols.push_back(weft::grpc(grpc_options));
    server_.emplace(std::move(options));
    protobuf::Services services{*server_};
    services.add(probe_);
    server_->register_handler<grpc_demo::twice>();
    const Result<void> started = server_->start();
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    url_ = server_->urls().front();
  }
  void expect_good(Raw& client, std::uint32_t stream) {
    client.call(stream, kEcho, text_bytes("good"));
    const Answer2 answer = client.answer(stream);
    EXPECT_EQ(answer.status(), 0) << answer.field("grpc-message");
    EXPECT_EQ(text_in(answer), "good");
  }
  /// A connection that does nothing wrong is served.
  void expect_others_served() {
    Raw client{url_};
    expect_good(client, 1);
  }
  static void await(const std::atomic<int>& number, int value) {
    while (number != value) std::this_thread::yield();
  }
  MethodStats stats_of(std::string_view path) const {
    for (const MethodStats& method : server_->stats().methods) {
      if (method.name == path.substr(1)) return method;
    }
    return {};
  }
  /// Waits until all connections have ended.
  void await_no_connection() const {
    while (server_->stats().connections != 0) std::this_thread::yield();
  }
  /// Waits until the server has taken all that `client` sent. Returns false if the connection has ended.
  static bool settle(Raw& client) {
    client.send(Raw::frame(Raw::kPing, 0, 0, "12345678"));
    for (;;) {
      const Frame2 got = client.read();
      if (!client.take(got)) return false;
      if (got.type == Raw::kPing && (got.flags & Raw::kAck) != 0) return true;
    }
  }

  ProbeService probe_;
  std::optional<Server> server_;
  std::string url_;
};

}  // namespace weft::testing
