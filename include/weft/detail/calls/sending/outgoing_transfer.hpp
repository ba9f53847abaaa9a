// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/sending/outgoing_attachment.hpp"
#include "weft/detail/calls/terms/pace.hpp"

namespace weft::detail {

struct OutgoingTransferTag;

/// Attachment that is sent in pieces, as an entry of OutgoingTransfers: linked while more pieces are due.
/// Leaves the list when it is destroyed.
///
///   idle --OutgoingTransfers::add()--> waiting --its last piece is queued--> leaving --all left--> returned
///   waiting --its rate is used up--> resting --its next piece is due--> waiting
///   held --the peer asks, add()-------^ waiting --unlink()--> idle; its owner notifies the peer
class OutgoingTransfer : public OutgoingAttachment, public ListHook<OutgoingTransferTag> {
 public:
  using OutgoingAttachment::OutgoingAttachment;

  /// Returns the id of its call.
  std::uint64_t id() const noexcept { return id_; }
  bool of_answer() const noexcept { return of_answer_; }
  bool of_item() const noexcept { return of_item_; }
  /// Called after it has left the list because its connection is gone. May destroy it.
  virtual void on_dropped() noexcept {}
  /// Called when its last piece is queued. Only for attachments of items, which stay alive until then.
  virtual void on_queued() noexcept {}
  /// It is, or was, sent in pieces; only a few of them are lent at a time.
  bool in_pieces() const noexcept { return whole_ != 0; }
  /// Number of bytes queued so far.
  std::uint64_t offset() const noexcept { return whole_ - bytes_left(); }
  /// Sets whether the receiver must ask for it before any of it is sent. Call before it begins.
  void set_held(bool held) noexcept { wait_ = held ? Wait::kHeld : Wait::kNone; }
  bool is_held() const noexcept { return wait_ == Wait::kHeld; }
  /// The receiver asks for it. Returns false when it does not wait for that.
  bool let_go() noexcept {
    if (!is_held() || bytes_left() == 0) return false;
    wait_ = Wait::kAskedFor;
    return true;
  }
  /// Its receiving handler runs, and chooses the memory, before it has arrived completely.
  bool is_taken_early() const noexcept { return wait_ != Wait::kNone; }
  /// Assigns it to the request, or the answer, with this id, and limits it to `rate` bytes per second; zero:
  /// no limit.
  void belong_to(std::uint64_t id, bool of_answer, std::uint64_t rate = 0) noexcept {
    id_ = id;
    pace_ = Pace{rate};
    whole_ = bytes_left();
    of_answer_ = of_answer;
  }
  Pace& pace() noexcept { return pace_; }

 protected:
  ~OutgoingTransfer() = default;

  /// Marks it as the attachment of an item of the call's stream.
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
