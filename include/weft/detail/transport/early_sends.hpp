// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// `bytes`, or as many as the smaller type can say.
constexpr std::uint32_t saturated(std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>(std::min<std::size_t>(bytes, ~std::uint32_t{0}));
}

/// Decides when enough bytes are queued to send before the end of the turn, so that the peer can begin.
class EarlySends {
 public:
  /// Bytes after which a turn sends for the first time; each later send of the turn needs more, because a
  /// peer that has begun is busy for a while. Measured: larger pieces leave one side idle while the other
  /// works, smaller ones cost more system calls.
  static constexpr std::uint32_t kFirstBytes = 4 * 1024;
  static constexpr std::uint32_t kBytes = 16 * 1024;
  /// Thousands of small frames, such as the items of a stream, keep the peer busy for longer: each frame that
  /// the turn has sent raises the threshold by this many bytes, up to kBytesMax.
  static constexpr std::uint32_t kBytesOfFrame = 32;
  static constexpr std::uint32_t kBytesMax = 128 * 1024;
  /// Fewer frames than this are few.
  static constexpr int kFewFrames = 16;
  /// Average frame size above which frames keep the peer busy for as long as a send and its wake-up take.
  static constexpr std::size_t kBytesOfLargeFrame = 4 * 1024;

  /// Few frames are much when they have `few_frames_bytes`, in whole KiB and fewer than 64 MiB; more of them,
  /// if they are large, with half of that.
  explicit EarlySends(std::size_t few_frames_bytes) noexcept
      : few_frames_kib_(static_cast<std::uint16_t>(few_frames_bytes / 1024)) {}

  /// Returns the number of queued bytes at which the next decision is due.
  std::uint32_t bytes() const noexcept {
    return sent_frames_ == 0 ? kFirstBytes : std::clamp(sent_frames_ * kBytesOfFrame, kBytes, kBytesMax);
  }
  bool are_due(std::size_t queued, int frames) const noexcept {
    if (queued < bytes()) return false;
    const std::size_t few_frames_bytes = few_frames_kib_ * std::size_t{1024};
    if (frames < kFewFrames) return queued >= few_frames_bytes;
    return queued / kBytesOfLargeFrame < static_cast<std::size_t>(frames) || queued >= few_frames_bytes / 2;
  }
  /// A turn is over.
  void expect_little() noexcept { sent_frames_ = 0; }
  /// `frames`, one or more, are sent early.
  void expect_more(int frames) noexcept {
    sent_frames_ = static_cast<std::uint16_t>(std::min(sent_frames_ + frames, 0xFFFF));
  }

 private:
  std::uint16_t few_frames_kib_;
  /// Number of frames that were sent early in this turn.
  std::uint16_t sent_frames_ = 0;
};

}  // namespace weft::detail
