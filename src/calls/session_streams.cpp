// SPDX-License-Identifier: Apache-2.0
#include "calls/session_streams.hpp"

#include <string>

#include "calls/session.hpp"

namespace weft::detail {

std::uint32_t SessionStreams::window() const {
  return session_.limits().stream_window;
}

std::uint32_t SessionStreams::item_bytes_max() const {
  return session_.peer().body_bytes_max;
}

bool SessionStreams::has_place() const {
  return served_ < session_.limits().streams_max;
}

Loop& SessionStreams::loop() const {
  return session_.loop();
}

FrameOutput& SessionStreams::output() const {
  return session_.output();
}

LocalBudget& SessionStreams::memory() const {
  return *session_.host().memory;
}

// Who finds no room again waits behind those that wait now.
void SessionStreams::wake_writers() {
  while (!waiting_.empty()) waiting_.pop_front().wake_writer();
}

Status misplaced_item(std::string_view why) {
  return {StatusCode::kInvalidArgument, Layer::kWire,
          [&] { return std::string{"the peer sent a bad frame: "}.append(why); },
          static_cast<std::int32_t>(wire::FrameFault::kMisplacedItem), Retry::kReconnect};
}

}  // namespace weft::detail
