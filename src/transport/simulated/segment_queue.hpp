// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail::simulated {

/// Bytes that one send took, or the end of them.
struct Segment {
  enum class Kind : std::uint8_t { kBytes, kEnd, kReset };

  Kind kind = Kind::kBytes;
  std::uint32_t size = 0;
  std::uint32_t taken = 0;  // by the receiver
  TimePoint arrives{};      // once it is on its way
  std::unique_ptr<std::byte[]> bytes;
  Segment* next = nullptr;

  /// Copies `size` bytes from the beginning of `from`, which has as many.
  static std::unique_ptr<Segment> of(std::span<const iovec> from, std::size_t size);
  static std::unique_ptr<Segment> of(Kind kind);
  Bytes left() const { return {bytes.get() + taken, size - taken}; }
  /// Returns how many positions of the byte stream it takes: an end takes one, as in TCP.
  std::uint64_t positions() const { return kind == Kind::kBytes ? size : 1; }
};

/// Segments in their order. Owns them; empty it is two pointers.
class SegmentQueue {
 public:
  SegmentQueue() = default;
  SegmentQueue(const SegmentQueue&) = delete;
  SegmentQueue& operator=(const SegmentQueue&) = delete;
  ~SegmentQueue() { clear(); }

  bool empty() const { return first_ == nullptr; }
  Segment& front() { return *first_; }
  const Segment& front() const { return *first_; }
  void push_back(std::unique_ptr<Segment> segment);
  std::unique_ptr<Segment> pop_front();
  /// Puts all of `other` before the first.
  void splice_front(SegmentQueue& other);
  void clear();

 private:
  Segment* first_ = nullptr;
  Segment* last_ = nullptr;
};

}  // namespace weft::detail::simulated
