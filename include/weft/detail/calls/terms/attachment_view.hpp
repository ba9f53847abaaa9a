// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/memory_runs.hpp"

namespace weft {

/// Memory to be sent behind a request without being serialised or copied: one run, or several gathered in
/// order. It is a view, trivially copyable: the bytes, and the array of runs, belong to the caller until the
/// call has ended. Blocks that cannot be make a view without runs, whose call is refused with
/// kInvalidArgument.
class AttachmentView : public detail::MemoryRuns<const std::byte> {
 public:
  AttachmentView() = default;
  AttachmentView(Bytes bytes) : MemoryRuns(bytes) {}                    // NOLINT: a view converts
  AttachmentView(MutableBytes bytes) : AttachmentView(Bytes{bytes}) {}  // NOLINT: a view converts
  AttachmentView(std::span<const Bytes> runs) : MemoryRuns(runs) {}     // NOLINT: a view converts
  /// Takes containers, and lists, that have a name: a temporary would be gone before the call has ended.
  template <typename Memory>
    requires std::convertible_to<Memory&, Bytes>
  AttachmentView(Memory& memory)  // NOLINT: a view converts
      : AttachmentView(Bytes(memory)) {}
  template <typename List>
    requires std::convertible_to<const List&, std::span<const Bytes>>
  AttachmentView(const List& runs)  // NOLINT: a view converts
      : AttachmentView(std::span<const Bytes>{runs}) {}
  template <detail::EndingMemory<Bytes> Given>
  AttachmentView(Given&& a_temporary_ends_before_the_call_name_it) = delete;  // NOLINT: a view converts
  /// Makes the compiler's message state the requirements.
  template <typename Given>
    requires(!std::convertible_to<Given, AttachmentView> && !detail::EndingMemory<Given, Bytes>)
  AttachmentView& operator=(Given&& needs_bytes_as_of_std_as_bytes_or_a_list_of_weft_bytes) = delete;

  /// `count` blocks of `bytes`, the first at `first` and each `stride` behind the one before. They may lie
  /// upon each other: with a stride of 0 the same block is sent `count` times.
  static AttachmentView strided(const std::byte* first, std::size_t count, std::size_t bytes,
                                std::size_t stride) {
    return AttachmentView{MemoryRuns{first, count, bytes, stride, true}};
  }
  /// The same from the beginning of `memory` on, and not beyond it.
  static AttachmentView strided(Bytes memory, std::size_t count, std::size_t bytes, std::size_t stride) {
    return AttachmentView{MemoryRuns{memory, count, bytes, stride, true}};
  }

  /// Returns the same for memory that others may write to while it is sent. A connection with checksums
  /// copies it, a piece at a time, so that the checksum is that of the bytes that leave; without it such a
  /// write ends the connection ("wrong checksum").
  AttachmentView shared() const {
    AttachmentView same = *this;
    same.set_shared();
    return same;
  }

 private:
  explicit AttachmentView(const MemoryRuns& runs) : MemoryRuns(runs) {}
};

}  // namespace weft
