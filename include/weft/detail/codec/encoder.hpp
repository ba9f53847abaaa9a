// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/lent_runs.hpp"
#include "weft/detail/codec/sizer.hpp"

namespace weft::detail {

/// Throws std::logic_error: a value is longer or shorter than it was when it was measured.
[[noreturn]] void throw_size_changed();

/// Writes values into memory that a Sizer has measured; allocates nothing. With `kChecked` it throws instead
/// of writing past that memory: hooks may count one number of bytes and write another. Without, it checks
/// nothing, which is for values whose encoding runs no hooks.
template <bool kChecked>
class BasicEncoder {
 public:
  /// `message` is the first byte of the message, from which alignment counts; `size` is the number of bytes
  /// that are written there. They are written without `runs`, which a Sizer has found, and which get their
  /// places; null: all is written.
  explicit BasicEncoder(std::byte* message, std::size_t size, LentRuns* runs = nullptr)
      : begin_(message), at_(message), lent_(runs) {
    if constexpr (kChecked) size_ = size;
  }
  BasicEncoder(const BasicEncoder&) = delete;
  BasicEncoder& operator=(const BasicEncoder&) = delete;

  /// Writes `values`, one after the other.
  template <typename... Ts>
  void write(const Ts&... values) {
    (codec_detail::Codec<Ts>::encode(*this, values), ...);
  }
  /// Writes raw bytes, without a count.
  void write_bytes(const void* from, std::size_t size) {
    check_room(size);
    if (size != 0) std::memcpy(at_, from, size);
    at_ += size;
  }
  /// Writes bytes that the Sizer was shown by its add_run(), unless they are lent.
  void write_run(const void* from, std::size_t size) {
    std::size_t lent = 0;
    if (size >= LentRuns::kRunBytesMin && lent_ != nullptr) [[unlikely]] {
      lent = lent_->place({static_cast<const std::byte*>(from), size}, at_);
    }
    write_bytes(static_cast<const std::byte*>(from) + lent, size - lent);
  }
  template <typename T>
  void write_number(T number) {
    check_room(sizeof number);
    store_le(at_, number);
    at_ += sizeof number;
  }
  void write_count(std::size_t elements) { write_number(static_cast<std::uint32_t>(elements)); }
  /// Leaves out `size` bytes, to be written by the caller before the message is used; answers where they are.
  std::byte* reserve(std::size_t size) {
    check_room(size);
    std::byte* const place = at_;
    at_ += size;
    return place;
  }
  /// Writes zeros up to the next multiple of `alignment` (at most 8).
  void align(std::size_t alignment) {
    while ((offset() & (alignment - 1)) != 0) {
      check_room(1);
      *at_++ = std::byte{0};
    }
  }
  /// Ends the message. Throws if it is checked and not all of it was written.
  void end() const {
    if constexpr (kChecked) {
      if (offset() != size_ || (lent_ != nullptr && !lent_->is_placed())) throw_size_changed();
    }
  }

  /// Lent runs, which change no alignment, do not count.
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  struct NotChecked {};

  void check_room([[maybe_unused]] std::size_t size) const {
    if constexpr (kChecked) {
      if (size > size_ - offset()) [[unlikely]] {
        throw_size_changed();
      }
    }
  }

  std::byte* begin_;
  std::byte* at_;
  /// Null when all is written.
  LentRuns* lent_;
  /// Bytes that are written, lent runs not counted.
  [[no_unique_address]] std::conditional_t<kChecked, std::size_t, NotChecked> size_;
};

/// The encoder that hooks see.
using Encoder = BasicEncoder<true>;

}  // namespace weft::detail
