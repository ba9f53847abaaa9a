// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/lent_runs.hpp"
#include "weft/detail/codec/sizer.hpp"

namespace weft::detail {

/// Writes values into memory that a Sizer has measured; checks nothing and allocates nothing.
class Encoder {
 public:
  /// `message` is the first byte of the message, from which alignment counts.
  explicit Encoder(std::byte* message) : begin_(message), at_(message) {}
  /// The message is written without `runs`, which a Sizer has found, and places them.
  Encoder(std::byte* message, LentRuns& runs) : begin_(message), at_(message), lent_(&runs) {}
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// Writes `values`, one after the other.
  template <typename... Ts>
  void write(const Ts&... values) {
    (codec_detail::Codec<Ts>::encode(*this, values), ...);
  }
  /// Writes raw bytes, without a count.
  void write_bytes(const void* from, std::size_t size) {
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
    store_le(at_, number);
    at_ += sizeof number;
  }
  void write_count(std::size_t elements) { write_number(static_cast<std::uint32_t>(elements)); }
  /// Leaves out `size` bytes, to be written by the caller before the message is used; answers where they are.
  std::byte* reserve(std::size_t size) {
    std::byte* const place = at_;
    at_ += size;
    return place;
  }
  /// Writes zeros up to the next multiple of `alignment` (at most 8).
  void align(std::size_t alignment) {
    while ((offset() & (alignment - 1)) != 0) *at_++ = std::byte{0};
  }

  /// Lent runs, which change no alignment, do not count.
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  std::byte* begin_;
  std::byte* at_;
  /// Null when all is written.
  LentRuns* lent_ = nullptr;
};

}  // namespace weft::detail
