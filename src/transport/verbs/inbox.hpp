// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/message_header.hpp"
#include "weft/detail/coro/ring.hpp"

namespace weft::detail::verbs_carrier {

/// Everything that has come to a carrier and was not received: messages with bytes in their slots, places of
/// the peer's offers (FetchedOffers has them, in the same order), and the peer's end.
///
///   last <- added by completions     bytes | offer | offer | bytes | end     received -> first
///
/// Allocates once. Thread: its loop's.
class Inbox {
 public:
  enum class Kind : std::uint8_t { kBytes, kOffer, kEnd };
  struct Arrival {
    Kind kind = Kind::kBytes;
    std::uint32_t slot = 0;
    /// The rest of a message, as positions in its slot.
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    /// No byte of the message was received.
    bool is_whole() const noexcept { return kind == Kind::kBytes && begin == kMessageHeaderBytes; }
  };

  explicit Inbox(std::size_t arrivals_max) : arrivals_(arrivals_max) {}

  bool empty() const noexcept { return arrivals_.empty(); }
  bool begins_with(Kind kind) noexcept { return !empty() && arrivals_.front().kind == kind; }
  Arrival& front() noexcept { return arrivals_.front(); }
  Arrival& back() noexcept { return arrivals_.back(); }
  /// Returns how many offers stand one behind the other at the beginning.
  std::size_t offers_in_front() noexcept {
    std::size_t count = 0;
    while (count < arrivals_.size() && arrivals_[count].kind == Kind::kOffer) ++count;
    return count;
  }

  /// Returns the message at `place` if it is whole and the only one between two offers; else null.
  const Arrival* between_offers(std::size_t place) noexcept {
    if (place + 1 >= arrivals_.size() || arrivals_[place + 1].kind != Kind::kOffer) return nullptr;
    return arrivals_[place].is_whole() ? &arrivals_[place] : nullptr;
  }

  /// A message of `bytes`, head included.
  void add_bytes(std::uint32_t slot, std::size_t bytes) noexcept {
    arrivals_.push_back({Kind::kBytes, slot, kMessageHeaderBytes, static_cast<std::uint32_t>(bytes)});
  }
  void add(Kind kind) noexcept { arrivals_.push_back({kind, 0, 0, 0}); }
  Arrival pop_front() noexcept { return arrivals_.pop_front(); }
  void pop_back() noexcept { arrivals_.pop_back(); }

 private:
  weft::detail::Ring<Arrival> arrivals_;
};

}  // namespace weft::detail::verbs_carrier
