// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/detail/base/time.hpp"

namespace weft {

/// Options of a broadcast to a server's peers. Trivially copyable, as CallOptions are and for the same
/// reason.
struct BroadcastOptions {
  /// Peers that have this tag (CallPeer::set_tag); empty: all. The broadcast copies it when it is made.
  std::string_view tag{};
  /// Time for the answers; above zero. A caller's deadline that is earlier takes its place.
  Duration timeout = std::chrono::seconds{5};
  /// A peer is behind, and is left out, when more than this many calls to it are unanswered, or more than the
  /// next option's bytes wait to be sent to it. Both bound the memory that a broadcast keeps for a peer.
  std::uint32_t unanswered_max = 64;
  std::size_t queued_bytes_max = 256 * 1024;
  /// Closes the connections of peers that are behind, with a message to the peer, instead of leaving them
  /// out.
  bool closes_who_is_behind = false;
};

/// Outcome of a broadcast: how many of the peers that were connected.
struct BroadcastOutcome {
  std::size_t answered = 0;  ///< ran it, and succeeded
  std::size_t failed = 0;    ///< failed it, did not answer in time, or have gone meanwhile
  std::size_t behind = 0;    ///< were left out, or closed
  /// Were called but not waited for: an earlier broadcast had no answer from them in time, and they have
  /// answered nothing since.
  std::size_t silent = 0;

  std::size_t peers() const { return answered + failed + behind + silent; }
};

}  // namespace weft
