// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/calls/threads/item_blocks.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft::detail {

class StreamExchange;

/// The loop's side of a StreamExchange: moves arriving items into it and written items out of it. It works
/// when asked, when the stream has items or has ended, and when the stream may send again. Derived classes
/// implement the client's and the server's side. Thread: the stream's loop.
class ExchangePump {
 public:
  ExchangePump(const ExchangePump&) = delete;
  ExchangePump& operator=(const ExchangePump&) = delete;

  /// Moves everything that can be moved now.
  void look() noexcept;

 protected:
  /// Both arguments must outlive this.
  ExchangePump(StreamSide& side, StreamExchange& exchange) noexcept
      : side_(side), exchange_(exchange), reader_(*this), writer_(*this) {}
  ~ExchangePump();

 private:
  struct Turn : Ready {
    explicit Turn(ExchangePump& its_pump) noexcept
        : Ready([](Ready* node) noexcept { static_cast<Turn*>(node)->pump.look(); }), pump(its_pump) {}
    ExchangePump& pump;
  };

  /// Updates the side to the state of its call.
  virtual void update_side() noexcept = 0;
  /// Ends the stream from this side.
  virtual void end_stream(const Status& why) noexcept = 0;

  void receive() noexcept;
  void send() noexcept;
  /// Returns false when nothing can be sent now.
  bool send_item(std::uint64_t& sent) noexcept;
  void listen() noexcept;

  StreamSide& side_;
  StreamExchange& exchange_;
  Turn reader_;
  Turn writer_;
  /// Items that were taken from the writer and are being sent.
  ItemBlocks hand_;
  /// Cost of the last item while its attachment is being sent.
  std::uint64_t attached_cost_ = 0;
  bool opened_ = false;
  bool gave_up_ = false;
  bool discarded_ = false;
};

}  // namespace weft::detail
