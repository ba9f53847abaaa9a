// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "weft/detail/calls/attachment_view.hpp"
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

/// Memory that is given away to be sent without a copy, with an answer or an item of a stream: a Buffer, or
/// runs in many places with an owner that keeps all of them. The owner ends when the connection no longer
/// needs the memory, whatever became of the call: on the loop, or where the attachment is dropped before.
/// Movable; moving it moves no bytes.
class Attachment {
 public:
  Attachment() noexcept = default;
  Attachment(Buffer&& whole) noexcept : owner_(std::move(whole)) {}  // NOLINT: a buffer is one
  /// `runs` of memory that `owner` keeps where it is. A list of runs is copied, so its array may go at once.
  /// An empty Buffer is an owner too: of memory that stays for good. Runs that cannot be make an attachment
  /// that is not sent: the call, or the stream, fails with kInvalidArgument. Throws std::bad_alloc; the owner
  /// is gone then.
  Attachment(AttachmentView runs, Buffer owner);
  /// The same with an owner of any movable type, such as a std::shared_ptr, or a struct of several. Moving it
  /// must leave the memory where it is: that of a std::array, or of a short std::string, moves along, so
  /// these do not compile, and a struct that has one within is no owner either.
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
  /// Bytes of all runs; SIZE_MAX when these cannot be.
  std::size_t size() const noexcept { return runs_ == nullptr ? owner_.size() : runs_->bytes; }
  bool empty() const noexcept { return size() == 0; }
  /// It is the owner's memory, all of it, and no view of other memory.
  bool is_buffer() const noexcept { return runs_ == nullptr; }
  /// The reason for which the runs cannot be sent.
  detail::RunsFault fault() const noexcept {
    return runs_ == nullptr ? detail::RunsFault::kNone : runs_->fault;
  }
  /// The Buffer that it was made of: all of its memory, or its owner.
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
  /// Null when the owner's memory is all.
  std::unique_ptr<Runs, DropRuns> runs_;
};

}  // namespace weft
