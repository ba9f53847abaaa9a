// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/item_blocks.hpp"
#include "weft/detail/calls/stream_side.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft::detail {

class StreamExchange;

/// The loop's part of a StreamExchange: moves what arrives into it and what was put out of it. It looks when
/// it is told to, when the stream has items or has ended, and when it may send again. Derived classes know
/// the side. Thread: the stream's loop.
class ExchangePump {
 public:
  ExchangePump(const ExchangePump&) = delete;
  ExchangePump& operator=(const ExchangePump&) = delete;

  /// Does all that can be done now.
  void look() noexcept;

 protected:
  /// Both outlive it.
  ExchangePump(StreamSide& side, StreamExchange& exchange) noexcept
      : side_(side), exchange_(exchange), reader_(*this), writer_(*this) {}
  ~ExchangePump();

 private:
  struct Turn : Ready {
    explicit Turn(ExchangePump& its_pump) noexcept
        : Ready([](Ready* node) noexcept { static_cast<Turn*>(node)->pump.look(); }), pump(its_pump) {}
    ExchangePump& pump;
  };

  /// Brings the side up to date with its call.
  virtual void update_side() noexcept = 0;
  /// Ends the stream from this side.
  virtual void end_stream(const Status& why) noexcept = 0;

  void receive() noexcept;
  void send() noexcept;
  /// False when nothing can be sent now.
  bool send_item(std::uint64_t& sent) noexcept;
  void listen() noexcept;

  StreamSide& side_;
  StreamExchange& exchange_;
  Turn reader_;
  Turn writer_;
  /// Items that were put and are being sent.
  ItemBlocks hand_;
  /// Cost of the last one, while its attachment is leaving.
  std::uint64_t attached_cost_ = 0;
  bool opened_ = false;
  bool gave_up_ = false;
  bool discarded_ = false;
};

}  // namespace weft::detail
