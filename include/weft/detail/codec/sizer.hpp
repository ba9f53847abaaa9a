// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/lent_runs.hpp"
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
  Sizer() = default;
  /// Finds the runs that may be lent, too.
  explicit Sizer(LentRuns& runs) : found_(&runs) {}
  /// A hook that took a copy would count for nothing.
  Sizer(const Sizer&) = delete;
  Sizer& operator=(const Sizer&) = delete;

  /// Counts `values`, one after the other.
  template <typename... Ts>
  void add(const Ts&... values) {
    (add_one(values), ...);
  }
  /// Counts `bytes` raw bytes.
  void skip(std::size_t bytes) { size_ += bytes; }
  /// Counts `bytes` raw bytes at `from`, which stay there unchanged as long as the value that is sent: where
  /// they are many they are sent from there.
  void add_run(const void* from, std::size_t bytes) {
    size_ += bytes;
    if (bytes >= LentRuns::kRunBytesMin && found_ != nullptr) [[unlikely]] {
      found_->offer({static_cast<const std::byte*>(from), bytes});
    }
  }
  /// Calls `count` without lending runs: the memory it counts is destroyed before the message is sent, or is
  /// not written as it is counted.
  template <typename F>
  void without_runs(F&& count) {
    if (found_ == nullptr) count();
  }
  /// Returns true if only runs are looked for, and there are too many `elements` to search.
  bool passes_over(std::size_t elements) const { return found_ != nullptr && elements > kSearchedMax; }
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
  /// A list of more elements than this has short ones, or is not worth being looked through twice.
  static constexpr std::size_t kSearchedMax = 64;

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
  /// Null when runs are not looked for.
  LentRuns* found_ = nullptr;
};

}  // namespace weft::detail
