// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "weft/detail/base/log.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Logs faults of peers: at most one line a second per peer, with the number of its faults omitted since its
/// previous line. Omitted faults are still counted by reason.
///
/// A peer is an address without its port, because a peer that reconnects after its connection was ended for a
/// fault uses another port. Peers without an address of their own (Unix sockets, memory) are one peer per
/// URL. The memory is bounded: at most kPeersMax addresses are stored. A new address replaces the one that
/// was silent longest, if that was at least a second; otherwise its fault is omitted, so any number of peers
/// causes at most kPeersMax lines a second.
///
/// Thread: any, with a lock. Each connection reports at most one fault a second here.
class FaultLog {
 public:
  static constexpr std::size_t kPeersMax = 64;
  static constexpr Duration kInterval = std::chrono::seconds{1};

  explicit FaultLog(Logger& logger) : logger_(logger) {}

  /// `endpoint` is the peer's URL; `faults` is the number of faults reported: the last one, described by
  /// `text`, and the suppressed ones before it. `now` is a loop's; the loops of a server may differ slightly.
  void note(std::string_view endpoint, std::string_view text, std::uint64_t faults, TimePoint now);
  /// Counts `faults` that were suppressed, without a text.
  void keep_back(std::string_view endpoint, std::uint64_t faults);

 private:
  struct Peer {
    std::string address;
    TimePoint written{};
    std::uint64_t left_out = 0;
  };

  /// The line to be written; empty when there is none.
  std::string line_for(std::string_view endpoint, std::string_view text, std::uint64_t faults, TimePoint now);
  static std::string_view address_of(std::string_view endpoint);
  Peer* find(std::string_view address);
  Peer* find_or_replace(std::string_view address, TimePoint now);

  Logger& logger_;
  std::mutex mutex_;
  std::array<Peer, kPeersMax> peers_;
  /// Number of lines left out of peers that had no place, or lost it.
  std::uint64_t others_left_out_ = 0;
};

}  // namespace weft::detail
