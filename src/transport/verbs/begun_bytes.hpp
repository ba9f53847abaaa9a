// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "transport/verbs/registrations.hpp"
#include "weft/detail/coro/ring.hpp"

namespace weft::detail::verbs_carrier {

/// Bytes at the front of the send order that have been started, as a queue of spans: offers, which keep their
/// memory registered, and bytes already sent in messages.
///
///   done <-take_done()-- | offered | sent | offered | offered | sent | ... | <-add_offer(), add_sent()--
///
/// Spans complete in order from the front: sent bytes complete as soon as they reach the front, an offer as
/// far as the peer has fetched it. Thread: the loop's.
class BegunBytes {
 public:
  /// Throws std::bad_alloc.
  BegunBytes();

  /// Number of started bytes.
  std::size_t bytes() const noexcept { return bytes_; }
  /// Offers among it.
  std::size_t offers() const noexcept { return offers_; }
  /// take_done() has something to return.
  bool has_done() const noexcept { return fetched_ > 0; }

  /// Adds an offer at the end. At most kOffersMax offers exist, and each has at most one span of sent bytes
  /// before it.
  void add_offer(std::size_t bytes, std::shared_ptr<const Registration> memory);
  void add_sent(std::size_t bytes);
  /// Records that the peer fetched the next `bytes` of the offers.
  void fetched(std::size_t bytes) noexcept { fetched_ += bytes; }
  /// Returns how many bytes from the beginning on are done since this was called last; they are begun no
  /// more.
  std::size_t take_done() noexcept;
  /// Nothing is begun any more.
  void clear() noexcept;

 private:
  /// `memory` is an offer's.
  struct Span {
    std::size_t bytes = 0;
    std::shared_ptr<const Registration> memory{};
  };

  weft::detail::Ring<Span> spans_;
  std::size_t bytes_ = 0;
  std::size_t offers_ = 0;
  /// Bytes of offers that the peer has fetched and take_done() has not returned.
  std::size_t fetched_ = 0;
};

}  // namespace weft::detail::verbs_carrier
