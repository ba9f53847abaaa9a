// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "weft/detail/calls/terms/attachment_view.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft {

namespace detail {

/// Moving an Owner moves its memory, at least where that is short.
template <typename Owner>
inline constexpr bool kMovesItsMemory = false;
template <typename T, std::size_t kCount>
inline constexpr bool kMovesItsMemory<std::array<T, kCount>> = true;
template <typename Char, typename Traits, typename Allocator>
inline constexpr bool kMovesItsMemory<std::basic_string<Char, Traits, Allocator>> = true;

}  // namespace detail

/// Memory handed over to be sent without a copy, with an answer or an item of a stream: a Buffer, or several
/// runs with an owner that keeps all of them alive. The owner is destroyed when the connection no longer
/// needs the memory, no matter how the call ended: on the loop, or where an unsent attachment is dropped.
/// Movable; moving it moves no bytes.
class Attachment {
 public:
  Attachment() noexcept = default;
  Attachment(Buffer&& whole) noexcept : owner_(std::move(whole)) {}  // NOLINT: a buffer is one
  /// Runs of memory that `owner` keeps in place. A list of runs is copied, so its array may be destroyed at
  /// once. An empty Buffer is a valid owner, for memory that is never freed. Invalid runs make an attachment
  /// that is not sent: the call or the stream fails with kInvalidArgument. Throws std::bad_alloc, after
  /// destroying the owner.
  Attachment(AttachmentView runs, Buffer owner);
  /// The same with an owner of any movable type, such as a std::shared_ptr or a struct of several owners.
  /// Moving the owner must not move the memory: the elements of a std::array or of a short std::string do
  /// move, so these types do not compile. A struct that contains one of them is not a valid owner either.
  template <std::move_constructible Owner>
    requires(!std::convertible_to<Owner, Buffer>)
  Attachment(AttachmentView runs, Owner owner) : Attachment(runs, buffer_that_keeps(std::move(owner))) {
    static_assert(!std::is_pointer_v<Owner>,
                  "a pointer keeps no memory: give a std::shared_ptr, a Buffer, or the object itself");
    static_assert(!detail::kMovesItsMemory<Owner>,
                  "the memory of a std::array, and of a short std::string, moves along with it: give a "
                  "std::unique_ptr or a std::shared_ptr to it, a std::vector, or a Buffer");
  }

  AttachmentView view() const noexcept {
    return runs_ == nullptr ? AttachmentView{owner_.bytes()} : runs_->view;
  }
  /// Returns the sum of the sizes of all runs; SIZE_MAX when the runs are invalid.
  std::size_t size() const noexcept { return runs_ == nullptr ? owner_.size() : runs_->bytes; }
  bool empty() const noexcept { return size() == 0; }
  /// Returns true if the attachment is all of its owner's memory, rather than a view of other memory.
  bool is_buffer() const noexcept { return runs_ == nullptr; }
  /// Returns the reason why the runs cannot be sent.
  detail::RunsFault fault() const noexcept {
    return runs_ == nullptr ? detail::RunsFault::kNone : runs_->fault;
  }
  /// The Buffer that the attachment was constructed from: either all of its memory, or its owner.
  Buffer& owner() noexcept { return owner_; }

 private:
  struct Runs {
    /// View of the runs, if it is a list.
    AttachmentView view;
    std::size_t bytes = 0;
    detail::RunsFault fault = detail::RunsFault::kNone;
    std::unique_ptr<Bytes[]> list{};
  };
  struct DropRuns {
    void operator()(Runs* runs) const noexcept;
  };

  template <typename Owner>
  static Buffer buffer_that_keeps(Owner owner) {
    return Buffer::adopt({}, new Owner(std::move(owner)),
                         [](void* kept) noexcept { delete static_cast<Owner*>(kept); });
  }

  Buffer owner_;
  /// Null when the attachment is all of its owner's memory.
  std::unique_ptr<Runs, DropRuns> runs_;
};

}  // namespace weft
