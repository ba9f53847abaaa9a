// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/calls/threads/exchange_pump.hpp"
#include "weft/detail/calls/threads/stream_exchange.hpp"
#include "weft/detail/runtime/posted.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

/// Exchange of a stream that a handler on a worker thread serves. Belongs to its call: the worker's posts
/// reach the loop before the handler's end does. Thread: that loop's, except where stated.
class ServedExchange final : public StreamExchange, private ExchangePump, private Posted {
 public:
  /// Both outlive it; `side` is open.
  ServedExchange(Loop& loop, StreamSide& side) noexcept;

 private:
  void update_side() noexcept override {}
  void end_stream(const Status& why) noexcept override { side_.close(why, true); }
  void post() noexcept override;
  void run() override {
    take_back_post();
    look();
  }
  void drop() noexcept override {}

  Loop& loop_;
  StreamSide& side_;
};

}  // namespace weft::detail
