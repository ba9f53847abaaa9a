// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "support/raw_socket.hpp"
#include "support/wire_bytes.hpp"
#include "weft/detail/calls/terms/method_key.hpp"

namespace weft::testing {

/// A client that writes the frames of its uploads by hand.
class RawUploader {
 public:
  /// Outcome of a call: the code, and the text of a failure.
  struct Answer {
    StatusCode code = StatusCode::kUnknown;
    std::string text;
  };

  RawUploader(const std::string& url, Loop& loop) : loop_(loop), peer_(Url::parse(url).value()) {
    wire::Hello hello;
    hello.features_supported = wire::Features::kAll;
    hello.body_bytes_max = 1u << 20;
    hello.calls_in_flight_max = 16;
    hello.stream_window_bytes = 1u << 20;
    EXPECT_TRUE(peer_.send(wire::encode_hello(hello)));
  }
  /// Sends a request whose stream of items is `items`, and waits for its answer. Expects that the server
  /// keeps the connection.
  Answer upload(const MethodKey& method, const std::vector<std::string>& items) {
    send(method, items);
    return await_answer();
  }
  template <auto M>
  Answer upload(const std::vector<std::string>& items) {
    return upload(method_key<M>, items);
  }
  /// Sends one frame for the request, one for each item, and one for their end.
  void send(const MethodKey& method, const std::vector<std::string>& items) {
    wire::RequestHead head;
    head.id = wire::make_id(++slot_, 1);
    head.method = method.id;
    head.schema = method.schema;
    std::string bytes = frame_bytes(head.header());
    for (const std::string& item : items) bytes += frame_bytes(wire::ItemHead{.id = head.id}.header(), item);
    bytes += frame_bytes(wire::ItemHead{.id = head.id, .last = true}.header());
    EXPECT_TRUE(peer_.send(bytes));
  }
  Answer await_answer() {
    answer_ = {};
    EXPECT_TRUE(turn_until(loop_, [&] { return finds_answer() || peer_.at_end(); }));
    EXPECT_FALSE(peer_.at_end()) << "the connection goes on";
    return answer_;
  }

 private:
  bool finds_answer() {
    received_ += peer_.receive_some(4096);
    if (!has_hello_) {
      const std::size_t hello = wire::hello_length(as_bytes(received_)).value();
      if (hello == 0 || received_.size() < hello) return false;
      received_.erase(0, hello);
      has_hello_ = true;
    }
    while (received_.size() >= wire::kHeaderBytes) {
      const wire::FrameHeader header = wire::load_header(as_bytes(received_).data());
      const std::size_t size = wire::head_bytes(header.body_bytes, false);
      if (received_.size() < size) return false;
      const std::string body = received_.substr(wire::kHeaderBytes, header.body_bytes);
      received_.erase(0, size);
      if (header.type != wire::FrameType::kAnswer) continue;
      answer_ = {static_cast<StatusCode>(wire::AnswerView{header}.code()), body};
      return true;
    }
    return false;
  }

  Loop& loop_;
  RawSocket peer_;
  std::uint32_t slot_ = 0;
  std::string received_;
  bool has_hello_ = false;
  Answer answer_;
};

}  // namespace weft::testing
