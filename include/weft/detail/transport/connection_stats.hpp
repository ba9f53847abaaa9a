// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft {

/// Numbers of what went over one connection since it was made, or over several together. A hello counts as a
/// frame.
struct ConnectionStats {
  std::uint64_t bytes_received = 0;
  std::uint64_t frames_received = 0;  ///< whole ones
  std::uint64_t receives = 0;         ///< each brought some bytes, mostly many frames
  std::uint64_t bytes_sent = 0;       ///< taken by the carrier
  std::uint64_t frames_sent = 0;      ///< queued when bytes were last sent: the last ones may still wait
  std::uint64_t sends = 0;            ///< each took some bytes, mostly many frames
  std::uint64_t items_received = 0;   ///< of streams
  std::uint64_t items_sent = 0;       ///< of streams, queued

  ConnectionStats& operator+=(const ConnectionStats& other) {
    bytes_received += other.bytes_received;
    frames_received += other.frames_received;
    receives += other.receives;
    bytes_sent += other.bytes_sent;
    frames_sent += other.frames_sent;
    sends += other.sends;
    items_received += other.items_received;
    items_sent += other.items_sent;
    return *this;
  }
  friend bool operator==(const ConnectionStats&, const ConnectionStats&) = default;
};

}  // namespace weft
