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

/// Writes into a log what peers do wrong: of each peer at most one line a second, which says how many faults
/// of that peer were left out since its last one. What is left out is still counted by reason.
///
/// A peer is an address without its port, because one whose connection was ended for a fault comes back on
/// another port. Peers without an address of their own (Unix sockets, memory) are one peer per URL. The
/// memory is bounded: kPeersMax addresses are known at a time. A new one takes the place of the one that was
/// silent longest, if that was a second; otherwise it is left out itself, so that kPeersMax lines a second is
/// all that any number of peers can cause.
///
/// Thread: any, with a lock. Nothing but faults comes here, of each connection at most one a second.
class FaultLog {
 public:
  static constexpr std::size_t kPeersMax = 64;
  static constexpr Duration kInterval = std::chrono::seconds{1};

  explicit FaultLog(Logger& logger) : logger_(logger) {}

  /// `endpoint` is the peer's URL; `faults` is how many this stands for: the last of them, which `text` is
  /// about, and those before it that were kept back. `now` is a loop's; loops of one server may differ a
  /// little.
  void note(std::string_view endpoint, std::string_view text, std::uint64_t faults, TimePoint now);
  /// `faults` more were kept back, and there is nothing to say about them.
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
