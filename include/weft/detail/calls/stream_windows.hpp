// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::detail {

/// Counts what one side may send of a stream's items. All numbers are sums of wire::item_cost() from the
/// stream's beginning on. An item may be sent while less was sent than is granted, whatever it costs: so an
/// item larger than the window passes, and the receiver holds a window and one item at most. Thread: one.
class SendWindow {
 public:
  explicit SendWindow(std::uint64_t granted = 0) noexcept : granted_(granted) {}

  bool is_open() const noexcept { return sent_ < granted_; }
  /// An item leaves. Only while it is open.
  void send(std::uint64_t cost) noexcept { sent_ += cost; }
  /// The item that was sent last does not leave.
  void take_back(std::uint64_t cost) noexcept { sent_ -= cost; }
  /// Takes a credit of the peer's, which says how much is granted in all. False when that is no more than
  /// before: no honest peer says so.
  bool grant(std::uint64_t granted) noexcept {
    if (granted <= granted_) return false;
    granted_ = granted;
    return true;
  }

 private:
  std::uint64_t sent_ = 0;
  std::uint64_t granted_;
};

/// Counts what the peer may send of a stream's items, and says when it is to be told of more. It is told
/// when half of the window is used up, not for each item; and whenever all that it sent was taken, it may
/// send. Thread: one.
class ReceiveWindow {
 public:
  /// The peer knows of `window` bytes from the beginning; not zero.
  explicit ReceiveWindow(std::uint32_t window) noexcept : granted_(window), window_(window) {}

  /// An item is here. False when nothing is granted for it.
  bool arrive(std::uint64_t cost) noexcept {
    if (arrived_ >= granted_) return false;
    arrived_ += cost;
    return true;
  }
  /// An item that arrived was taken. Returns the sum to be granted to the peer now; 0: there is nothing to
  /// say yet.
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
