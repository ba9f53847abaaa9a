// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "weft/detail/transport/connection.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::simulation {

/// Behaviours of a server that accepts connections and serves nothing.
enum class Manners {
  kSaysNoHello,  ///< sends other bytes
  kLeavesAfterItsHello,
  kLeavesAtTheFirstCall,
  kSendsAwayAtTheFirstCall,
  kSendsGarbageAtTheFirstCall,
};

/// One connection of such a server. The server says that it takes `calls_max` calls at a time.
class Visit final : private detail::FrameSink {
 public:
  Visit(std::unique_ptr<detail::Connection> connection, Manners manners, std::uint32_t calls_max)
      : connection_(std::move(connection)), manners_(manners) {
    connection_->start(*this);
    if (manners_ == Manners::kSaysNoHello) {
      send(kGarbage);
      return;
    }
    detail::wire::Hello hello;
    hello.body_bytes_max = 1 << 20;
    hello.calls_in_flight_max = calls_max;
    send(detail::wire::encode_hello(hello));
    if (manners_ == Manners::kLeavesAfterItsHello) connection_->finish();
  }
  bool over() const { return over_; }

 private:
  /// Neither a hello nor a frame.
  static inline const std::string kGarbage = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

  Status on_hello(const detail::wire::Hello&) override { return {}; }
  Status on_frames(std::span<const detail::Frame> frames, const detail::ChunkRef&) override {
    if (frames.front().header.type != detail::wire::FrameType::kRequest) return {};
    if (manners_ == Manners::kLeavesAtTheFirstCall) connection_->finish();
    if (manners_ == Manners::kSendsGarbageAtTheFirstCall) send(kGarbage);
    if (manners_ == Manners::kSendsAwayAtTheFirstCall) {
      detail::wire::FrameHeader header;
      header.type = detail::wire::FrameType::kGoaway;
      std::string frame(detail::wire::kHeaderBytes, '\0');
      detail::wire::store_header(reinterpret_cast<std::byte*>(frame.data()), header);
      send(frame);
    }
    return {};
  }
  detail::Landing on_attachment(const detail::Frame&) override { return detail::Landing::skip(); }
  Status on_attachment_end(const detail::Frame&, const detail::ChunkRef&, bool) override { return {}; }
  void on_drained() override {}
  void on_closed(Status) override { over_ = true; }

  void send(const std::string& bytes) {
    std::byte* const room = connection_->outbox().append(bytes.size());
    std::memcpy(room, bytes.data(), bytes.size());
  }

  const std::unique_ptr<detail::Connection> connection_;
  const Manners manners_;
  bool over_ = false;
};

}  // namespace weft::simulation
