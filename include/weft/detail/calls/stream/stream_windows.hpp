// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::detail {

/// Counts the items of a stream that one side may send. All numbers are sums of wire::item_cost() since the
/// stream's beginning. An item of any cost may be sent while the sum sent is below the sum granted: so an
/// item larger than the window passes, and the receiver holds at most a window and one item. Thread: one.
class SendWindow {
 public:
  explicit SendWindow(std::uint64_t granted = 0) noexcept : granted_(granted) {}

  bool is_open() const noexcept { return sent_ < granted_; }
  /// An item is sent. Only while the window is open.
  void send(std::uint64_t cost) noexcept { sent_ += cost; }
  /// The item that was sent last is taken back.
  void take_back(std::uint64_t cost) noexcept { sent_ -= cost; }
  /// Applies a credit of the peer's, which carries the sum granted so far. Returns false when that does not
  /// exceed the previous one: no honest peer sends that.
  bool grant(std::uint64_t granted) noexcept {
    if (granted <= granted_) return false;
    granted_ = granted;
    return true;
  }

 private:
  std::uint64_t sent_ = 0;
  std::uint64_t granted_;
};

/// Counts the items of a stream that the peer may send, and decides when to grant more: when half of the
/// window is used up, not for each item. A peer with all its items taken may always send. Thread: one.
class ReceiveWindow {
 public:
  /// The peer may send `window` bytes from the beginning; not zero.
  explicit ReceiveWindow(std::uint32_t window) noexcept : granted_(window), window_(window) {}

  /// An item has arrived. Returns false when it exceeds the grant.
  bool arrive(std::uint64_t cost) noexcept {
    if (arrived_ >= granted_) return false;
    arrived_ += cost;
    return true;
  }
  /// Returns true if an item may arrive.
  bool is_open() const noexcept { return arrived_ < granted_; }
  /// An arrived item was taken. Returns the sum to grant to the peer now; 0: no grant is due.
  std::uint64_t take(std::uint64_t cost) noexcept {
    taken_ += cost;
    if (taken_ + window_ / 2 < granted_) return 0;
    granted_ = taken_ + window_;
    return granted_;
  }
  /// Cost of the items that arrived and were not taken.
  std::uint64_t held() const noexcept { return arrived_ - taken_; }
  std::uint32_t window() const noexcept { return window_; }

 private:
  std::uint64_t granted_;
  std::uint64_t arrived_ = 0;
  std::uint64_t taken_ = 0;
  std::uint32_t window_;
};

}  // namespace weft::detail
