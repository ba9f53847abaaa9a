// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Counts the bytes of pieces in flight to the peer, mostly in socket buffers, and bounds them. A mark is a
/// ping after a piece: its pong confirms that the peer has received everything before it. The window grows
/// while its bytes only fill the path, so that a long network is kept busy, and shrinks when they queue on
/// it:
///
///   window    512 KiB --was full, and a mark took no longer than the quickest--> more, up to 64 MiB
///   window    more --a mark took much longer than the quickest--> less, down to 512 KiB
///   all       --kForget has passed--> the quickest is measured anew, with 512 KiB
///
/// Thread: the connection's loop.
class PieceWindow {
 public:
  /// Id of the first mark; others follow. Other pings have the id of a connection, which is small, or its
  /// bitwise complement.
  static constexpr std::uint64_t kIds = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kBytesMin = 512 * 1024;
  static constexpr std::uint64_t kBytesMax = std::uint64_t{64} << 20;
  /// Permitted delay of a mark by bytes that are queued on the path; or an eighth of the path's own delay, if
  /// that is more.
  static constexpr Duration kQueued = std::chrono::microseconds{50};
  static constexpr Duration kForget = std::chrono::seconds{10};
  /// Time after which an unanswered mark no longer holds pieces back: twice the time that the last mark took,
  /// between these bounds.
  static constexpr Duration kPatience = std::chrono::seconds{1};
  static constexpr Duration kPatienceMax = std::chrono::seconds{10};

  /// Begins before the first piece of a connection.
  explicit PieceWindow(TimePoint now) noexcept : measured_since_(now) {}

  /// A piece of this many bytes was queued.
  void sent(std::uint64_t bytes) noexcept { sent_ += bytes; }
  /// Says whether the next piece may be queued.
  bool has_room(TimePoint now) const noexcept {
    return sent_ - received_ < window_ || (pending() > 0 && now - oldest().at > patience_);
  }
  /// Notes that a piece waits for room, which is what lets the window grow.
  void note_full() noexcept { was_full_ = true; }
  /// Returns true if a mark should follow the last queued piece.
  bool wants_mark() const noexcept {
    if (sent_ == marked_ || pending() == kMarks) return false;
    return sent_ - marked_ >= window_ / 4 || sent_ - received_ >= window_;
  }
  /// Returns the id of the ping that is queued now as a mark. While wants_mark().
  std::uint64_t mark(TimePoint now) noexcept;
  /// Takes a pong that arrived at `arrived` or later. Returns false if it belongs to no mark in flight.
  bool on_pong(std::uint64_t id, TimePoint now, TimePoint arrived) noexcept;

  std::uint64_t bytes() const noexcept { return window_; }

 private:
  struct Mark {
    std::uint64_t sent = 0;
    TimePoint at{};
  };
  static constexpr std::size_t kMarks = 8;

  std::uint64_t pending() const noexcept { return marks_made_ - marks_known_; }
  const Mark& oldest() const noexcept { return marks_[marks_known_ % kMarks]; }
  void measure_anew(TimePoint now) noexcept;
  void adapt(Duration took_at_least) noexcept;

  /// Bytes since the beginning: queued, queued up to the last mark, and received according to the pongs.
  std::uint64_t sent_ = 0;
  std::uint64_t marked_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t window_ = kBytesMin;
  Duration quickest_ = Duration::max();
  Duration patience_ = kPatience;
  TimePoint measured_since_;
  std::uint64_t marks_made_ = 0;
  std::uint64_t marks_known_ = 0;
  /// First mark that counts for the measurement.
  std::uint64_t measured_from_ = 0;
  std::array<Mark, kMarks> marks_{};
  bool was_full_ = false;
};

}  // namespace weft::detail
