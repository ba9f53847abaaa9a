// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/memory_runs.hpp"

namespace weft {

/// Memory for an attachment to land in: one run, or several that are filled in order, regardless of the
/// sender's runs. A trivially copyable view: the bytes, and the array of runs, must stay valid until the call
/// has ended. Invalid blocks make a view without runs, and a call with it is refused with kInvalidArgument.
class LandingView : public detail::MemoryRuns<std::byte> {
 public:
  LandingView() = default;
  LandingView(MutableBytes bytes) : MemoryRuns(bytes) {}                 // NOLINT: a view converts
  LandingView(std::span<const MutableBytes> runs) : MemoryRuns(runs) {}  // NOLINT: a view converts
  template <typename Memory>
    requires std::convertible_to<Memory, MutableBytes>
  LandingView(Memory&& memory)  // NOLINT: a view converts
      : LandingView(MutableBytes(std::forward<Memory>(memory))) {}
  template <typename List>
    requires std::convertible_to<const List&, std::span<const MutableBytes>>
  LandingView(const List& runs)  // NOLINT: a view converts
      : LandingView(std::span<const MutableBytes>{runs}) {}
  /// Takes only containers and lists that are lvalues: a temporary would be destroyed before the call has
  /// ended.
  template <detail::EndingMemory<MutableBytes> Given>
  LandingView(Given&& a_temporary_ends_before_the_call_name_it) = delete;  // NOLINT: a view converts
  /// Makes the compiler's message state the requirements.
  template <typename Given>
    requires(!std::convertible_to<Given, LandingView> && !detail::EndingMemory<Given, MutableBytes>)
  LandingView& operator=(Given&& needs_memory_to_write_to_or_a_list_of_weft_mutable_bytes) = delete;

  /// `count` blocks of `bytes`, the first at `first` and each `stride` after the previous one, without
  /// overlap.
  static LandingView strided(std::byte* first, std::size_t count, std::size_t bytes, std::size_t stride) {
    return LandingView{MemoryRuns{first, count, bytes, stride, false}};
  }
  /// The same from the beginning of `memory`, within its bounds.
  static LandingView strided(MutableBytes memory, std::size_t count, std::size_t bytes, std::size_t stride) {
    return LandingView{MemoryRuns{memory, count, bytes, stride, false}};
  }

  /// Returns the same view for memory that others may write to while data lands there. A connection with
  /// checksums then receives elsewhere and copies, so that the checksum covers the received bytes; without
  /// this, such a write ends the connection ("wrong checksum").
  LandingView shared() const {
    LandingView same = *this;
    same.set_shared();
    return same;
  }

 private:
  explicit LandingView(const MemoryRuns& runs) : MemoryRuns(runs) {}
};

}  // namespace weft
