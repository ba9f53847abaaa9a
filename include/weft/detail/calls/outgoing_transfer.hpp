// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/outgoing_attachment.hpp"
#include "weft/detail/calls/pace.hpp"

namespace weft::detail {

struct OutgoingTransferTag;

/// Attachment that goes in pieces, as an entry of OutgoingTransfers: linked while pieces of it are to come.
/// Leaves the list when it is destroyed.
///
///   idle --OutgoingTransfers::add()--> waiting --its last piece is queued--> leaving --all left--> returned
///   waiting --its rate is used up--> resting --it is due--> waiting
///   held --the peer asks, add()-------^ waiting --unlink()--> as idle; the peer is told by its owner
class OutgoingTransfer : public OutgoingAttachment, public ListHook<OutgoingTransferTag> {
 public:
  using OutgoingAttachment::OutgoingAttachment;

  /// Returns the id of the call that it belongs to.
  std::uint64_t id() const noexcept { return id_; }
  bool of_answer() const noexcept { return of_answer_; }
  bool of_item() const noexcept { return of_item_; }
  /// It has left the list because its connection is gone. May destroy it.
  virtual void on_dropped() noexcept {}
  /// Its last piece is queued. Only one of an item hears of that, and it is there until then.
  virtual void on_queued() noexcept {}
  /// It goes, or went, in pieces, of which few are lent at a time.
  bool in_pieces() const noexcept { return whole_ != 0; }
  /// Bytes of it that were queued.
  std::uint64_t offset() const noexcept { return whole_ - bytes_left(); }
  /// Says whether the receiver has to ask for it before any of it is sent; belongs to what it begins with.
  void set_held(bool held) noexcept { wait_ = held ? Wait::kHeld : Wait::kNone; }
  bool is_held() const noexcept { return wait_ == Wait::kHeld; }
  /// The receiver asks for it. False when it does not wait for that.
  bool let_go() noexcept {
    if (!is_held() || bytes_left() == 0) return false;
    wait_ = Wait::kAskedFor;
    return true;
  }
  /// The handler that chooses its place runs before it is whole.
  bool is_taken_early() const noexcept { return wait_ != Wait::kNone; }
  /// It is the attachment of the request, or of the answer, with this id from now on, and goes at no more
  /// than `rate` bytes a second, if that is not zero.
  void belong_to(std::uint64_t id, bool of_answer, std::uint64_t rate = 0) noexcept {
    id_ = id;
    pace_ = Pace{rate};
    whole_ = bytes_left();
    of_answer_ = of_answer;
  }
  Pace& pace() noexcept { return pace_; }

 protected:
  ~OutgoingTransfer() = default;

  /// It belongs to an item of the call's stream.
  void set_of_item() noexcept { of_item_ = true; }

 private:
  std::uint64_t id_ = 0;
  std::uint64_t whole_ = 0;
  Pace pace_;
  enum class Wait : std::uint8_t { kNone, kHeld, kAskedFor };

  bool of_answer_ = false;
  bool of_item_ = false;
  Wait wait_ = Wait::kNone;
};

}  // namespace weft::detail
