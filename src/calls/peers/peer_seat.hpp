// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "weft/detail/calls/peers/peer_target.hpp"

namespace weft::detail {

/// State of a session for users of its peer: the user's object on the connection, and the target for calls to
/// the peer. Thread: the session's loop.
class PeerSeat {
 public:
  std::shared_ptr<void>& tag() { return tag_; }
  std::shared_ptr<PeerTarget>& target() { return target_; }

  /// It is one of the connected peers of its loop.
  bool is_counted() const { return is_counted_; }
  void set_counted(bool counted) { is_counted_ = counted; }

  /// A call of a broadcast timed out when the peer had ended `ended` of our calls.
  void fell_silent(std::uint64_t ended) { silent_at_ = ended; }
  /// Returns whether the peer has ended no call since then; `ended` is the number now.
  bool is_silent(std::uint64_t ended) const { return silent_at_ == ended; }

  /// Events of the session, passed to the target if there is one.
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
  static constexpr std::uint64_t kNotSilent = ~std::uint64_t{0};
  std::uint64_t silent_at_ = kNotSilent;
};

}  // namespace weft::detail
