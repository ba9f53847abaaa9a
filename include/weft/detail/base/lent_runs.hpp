// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/detail/base/bytes.hpp"

namespace weft::detail {

/// Long runs of bytes in a message that are sent from their own memory: the message is written without them,
/// and they are inserted afterwards. The writer of the message first offers all runs in order, and then
/// places the accepted ones while it writes. If the length of a run is not a multiple of 8, its last bytes
/// are written into the message, so that the bytes that follow keep their alignment.
class LentRuns {
 public:
  static constexpr std::size_t kRunsMax = 8;
  /// Copying fewer costs no more than sending them apart.
  static constexpr std::size_t kRunBytesMin = std::size_t{64} * 1024;

  struct Run {
    Bytes bytes;
    /// Place in the message that was written, before which the bytes come.
    std::byte* at = nullptr;
  };

  /// Takes all runs.
  LentRuns() noexcept = default;
  /// Takes runs inside of `lasting`, the only bytes that outlive the writing.
  explicit LentRuns(Bytes lasting) noexcept : begin_(address(lasting)), size_(lasting.size()) {}

  void offer(Bytes run) noexcept {
    if (run.size() < kRunBytesMin || count_ == kRunsMax || !lasts(run)) return;
    runs_[count_++] = {whole_words(run)};
    bytes_ += whole_words(run).size();
  }
  /// `run` is being written, and its bytes come before `at`; answers how many of them, from the first on, are
  /// not to be written: none when it was not taken.
  std::size_t place(Bytes run, std::byte* at) noexcept {
    if (placed_ == count_) return 0;
    Run& next = runs_[placed_];
    if (next.bytes.data() != run.data() || next.bytes.size() != whole_words(run).size()) return 0;
    next.at = at;
    ++placed_;
    return next.bytes.size();
  }

  bool empty() const noexcept { return count_ == 0; }
  /// True when every accepted run has its place.
  bool is_placed() const noexcept { return placed_ == count_; }
  /// Bytes that are not written.
  std::size_t bytes() const noexcept { return bytes_; }
  std::span<const Run> runs() const noexcept { return {runs_.data(), count_}; }

 private:
  static std::uintptr_t address(Bytes bytes) noexcept {
    return reinterpret_cast<std::uintptr_t>(bytes.data());
  }
  static Bytes whole_words(Bytes run) noexcept { return run.first(run.size() & ~std::size_t{7}); }
  bool lasts(Bytes run) const noexcept {
    return address(run) >= begin_ && run.size() <= size_ && address(run) - begin_ <= size_ - run.size();
  }

  std::uintptr_t begin_ = 0;
  std::size_t size_ = SIZE_MAX;
  std::array<Run, kRunsMax> runs_;
  std::size_t bytes_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t placed_ = 0;
};

}  // namespace weft::detail
