// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "transport/verbs/registrations.hpp"
#include "weft/detail/coro/ring.hpp"

namespace weft::detail::verbs_carrier {

/// The beginning of what is to be sent that is begun, one span behind the other: offers, each of which keeps
/// its memory registered, and bytes that were sent.
///
///   done <-take_done()-- | offered | sent | offered | offered | sent | ... | <-add_offer(), add_sent()--
///
/// Spans are done from the beginning on: what was sent when it comes first, an offer as far as it was
/// fetched. Thread: its loop's.
class BegunBytes {
 public:
  /// Throws std::bad_alloc.
  BegunBytes();

  /// All that is begun.
  std::size_t bytes() const noexcept { return bytes_; }
  /// Offers among it.
  std::size_t offers() const noexcept { return offers_; }
  /// take_done() has something to return.
  bool has_done() const noexcept { return fetched_ > 0; }

  /// Adds an offer at the end. There are at most kOffersMax, each with at most one span of what was sent
  /// before it.
  void add_offer(std::size_t bytes, std::shared_ptr<const Registration> memory);
  void add_sent(std::size_t bytes);
  /// The next `bytes` of what is offered were fetched.
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
