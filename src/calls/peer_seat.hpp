// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "weft/detail/calls/peer_target.hpp"

namespace weft::detail {

/// State that a session keeps for those who know its peer: the user's own object on the connection, and the
/// place where calls to the peer are begun. Thread: the session's loop.
class PeerSeat {
 public:
  std::shared_ptr<void>& tag() { return tag_; }
  std::shared_ptr<PeerTarget>& target() { return target_; }

  /// It is one of the connected peers of its loop.
  bool is_counted() const { return is_counted_; }
  void set_counted(bool counted) { is_counted_ = counted; }

  /// Events of the session, for the target if anybody has asked for it.
  void on_room() {
    if (target_ != nullptr) [[unlikely]] {
      target_->on_room();
    }
  }
  void on_closed() noexcept {
    if (target_ != nullptr) target_->end();
  }

 private:
  std::shared_ptr<void> tag_;
  std::shared_ptr<PeerTarget> target_;
  bool is_counted_ = false;
};

}  // namespace weft::detail
