// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::detail {

class ItemSink;

/// Place of a stream that is open: its connection, and the call whose items go there.
struct StreamPlace {
  /// Null before the stream is open, and when it is closed.
  ItemSink* sink = nullptr;
  std::uint64_t id = 0;
  /// This side answers its request.
  bool answers = false;
  /// The stream is open, and its sink is a SessionStreams.
  bool is_session = false;

  bool is_open() const noexcept { return sink != nullptr; }
};

}  // namespace weft::detail
