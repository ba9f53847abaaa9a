// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "transport/verbs/limits.hpp"
#include "transport/verbs/registrations.hpp"

namespace weft::detail::verbs_carrier {

/// Chooses which outgoing pieces are offered to the peer, and which are copied into messages.
///
///   an attachment of bytes_min or more in memory that peers may read --> offered alone
///   several runs of a list, of one registration, bytes_min together  --> offered together
///   everything else, and bytes of declined offers                    --> copied
///
/// The more attachments a peer declines in a row, the more of the next attachments are copied before another
/// is offered.
///
/// Thread: the loop's.
class OfferChoice {
 public:
  struct Limits {
    /// Minimum size of an attachment that is offered.
    std::size_t bytes_min = 0;
    /// Minimum size of each run of a list that is offered together with others.
    std::size_t run_bytes_min = kRunBytesMin;
  };
  /// Pieces that are offered together, and who keeps their memory registered; none: they are copied.
  struct Chosen {
    std::size_t pieces = 0;
    std::shared_ptr<const Registration> memory{};
  };
  OfferChoice(Registrations::View& registrations, Limits limits) noexcept
      : registrations_(registrations), limits_(limits) {}

  /// Chooses the bytes to offer from `next`, the bytes that are sent next. The first `leased` bytes of `next`
  /// are leased.
  Chosen choose(std::span<const iovec> next, std::size_t leased) noexcept;
  /// `pieces` need not be copied together with what stands before them: from the first on they may be
  /// offered.
  bool may_take(std::span<const iovec> pieces) noexcept {
    return pieces.front().iov_len >= limits_.run_bytes_min && would_take(pieces);
  }
  /// `piece` may be a run of a list.
  bool is_run(const iovec& piece) const noexcept {
    return piece.iov_len >= limits_.run_bytes_min && piece.iov_len < limits_.bytes_min;
  }
  /// All of `next` are runs that may be offered together with more of their list.
  bool may_go_on(std::span<const iovec> next) noexcept;

  /// True when no bytes are left that must be copied: choose() may be called for bytes behind the next ones
  /// before these are sent.
  bool looks_ahead() const noexcept { return to_copy_ == 0 && left_out_ == 0 && !next_is_declined_; }

  /// Records that `bytes` which were not chosen have been sent.
  void copied(std::size_t bytes) noexcept { to_copy_ -= std::min(to_copy_, bytes); }
  /// Copies the next `bytes` instead of offering them.
  void copy(std::size_t bytes) noexcept {
    to_copy_ = bytes;
    next_is_declined_ = false;
  }
  /// The piece, or the list, that is begun next was declined: it is copied.
  void copy_next() noexcept { next_is_declined_ = true; }
  /// The peer fetched something, or declined it.
  void fetched() noexcept { declines_ = 0; }
  void declined() noexcept;

 private:
  /// Pieces that may be offered together.
  struct Listed {
    std::size_t pieces = 0;
    std::size_t bytes = 0;
  };

  Listed list(std::span<const iovec> next) const noexcept;
  static Listed in_memory(std::span<const iovec> pieces, const Registration& memory) noexcept;
  bool would_take(std::span<const iovec> pieces) noexcept;
  std::shared_ptr<const Registration> readable_by_peers(Bytes bytes) noexcept;

  Registrations::View& registrations_;
  const Limits limits_;
  /// Number of bytes at the front that are copied instead of offered.
  std::size_t to_copy_ = 0;
  bool next_is_declined_ = false;
  /// Number of declines in a row.
  unsigned declines_ = 0;
  /// Number of following attachments that are not offered.
  unsigned left_out_ = 0;
};

}  // namespace weft::detail::verbs_carrier
