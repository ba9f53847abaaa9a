// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/run_cursor.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft::detail {

/// Place of the rest of an attachment that is being received: run by run where its sink said, or nowhere.
class AttachmentPlace {
 public:
  /// Runs that a carrier may be shown at a time, see Capabilities::landing_runs_max.
  static constexpr std::size_t kRunsMax = 256;
  /// Maximum number of useful places for one receive: all runs, and a chunk behind them.
  static constexpr std::size_t kPlacesMax = kRunsMax + 1;

  void begin(const Landing& landing) noexcept {
    lands_ = landing.kind == Landing::Kind::kInto;
    if (lands_) runs_ = landing.place;
  }
  /// It lands somewhere; otherwise it is dropped.
  bool lands() const noexcept { return lands_; }
  /// True if other threads or processes may write there, so that no checksum of the landed bytes is possible.
  bool is_shared() const noexcept { return runs_.is_shared(); }
  /// Nothing lands from now on. Returns whether something did.
  bool end() noexcept { return std::exchange(lands_, false); }

  /// Lists the destinations of the next `left` bytes, as far as `places` has room, and subtracts the listed
  /// bytes from `left`. Returns the number of entries used.
  std::size_t list(std::span<iovec> places, std::size_t& left) const noexcept {
    return runs_.list(places, left);
  }
  /// Copies `from` to the next bytes of the place.
  void put(Bytes from) noexcept;
  /// `bytes` were put there by others: passes them, and goes on with `checksum` over them if it is not null.
  void pass(std::size_t bytes, std::uint32_t* checksum) noexcept;

 private:
  RunCursor<std::byte> runs_;
  bool lands_ = false;
};

}  // namespace weft::detail
