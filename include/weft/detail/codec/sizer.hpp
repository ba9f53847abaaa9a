// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/codec/facts.hpp"

namespace weft::detail {
namespace codec_detail {
/// Says how values of one kind are sized, written, read and described.
template <typename T, Kind kKind = kind_of<T>>
struct Codec;
}  // namespace codec_detail

/// Counts the bytes that an Encoder will write. Padding depends on the place in the message, so it follows
/// the same way from value to value.
class Sizer {
 public:
  /// Counts `values`, one after the other.
  template <typename... Ts>
  void add(const Ts&... values) {
    (add_one(values), ...);
  }
  /// Counts `bytes` raw bytes.
  void skip(std::size_t bytes) { size_ += bytes; }
  void align(std::size_t alignment) { size_ = (size_ + alignment - 1) & ~(alignment - 1); }
  /// Counts the number that stands before `elements` elements.
  void count(std::size_t elements) {
    if (elements > CodecLimits::kElementsMax) refuse();
    size_ += 4;
  }

  /// Goes one level into containers and pointers; false beyond the limit, then leave() must not be called.
  bool enter() {
    if (depth_ == CodecLimits::kDepthMax) {
      refuse();
      return false;
    }
    ++depth_;
    return true;
  }
  void leave() { --depth_; }
  /// The value must not be sent: the size becomes kUnencodable.
  void refuse() { refused_ = true; }

  std::size_t size() const { return size_; }
  std::size_t result() const { return refused_ ? kUnencodable : size_; }

 private:
  template <typename T>
  void add_one(const T& value) {
    if constexpr (codec_detail::facts<T>.fixed_size != codec_detail::kNotFixed) {
      size_ += codec_detail::facts<T>.fixed_size;
    } else {
      codec_detail::Codec<T>::encoded_size(*this, value);
    }
  }

  std::size_t size_ = 0;
  unsigned depth_ = 0;
  bool refused_ = false;
};

}  // namespace weft::detail
