// SPDX-License-Identifier: Apache-2.0
#include "transport/simulated/segment_queue.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::detail::simulated {

std::unique_ptr<Segment> Segment::of(std::span<const iovec> from, std::size_t size) {
  auto segment = std::make_unique<Segment>();
  segment->bytes = std::make_unique_for_overwrite<std::byte[]>(size);
  segment->size = static_cast<std::uint32_t>(size);
  std::size_t copied = 0;
  for (const iovec& piece : from) {
    const std::size_t part = std::min(piece.iov_len, size - copied);
    if (part > 0) std::memcpy(segment->bytes.get() + copied, piece.iov_base, part);
    copied += part;
  }
  return segment;
}

std::unique_ptr<Segment> Segment::of(Kind kind) {
  auto segment = std::make_unique<Segment>();
  segment->kind = kind;
  return segment;
}

void SegmentQueue::push_back(std::unique_ptr<Segment> segment) {
  Segment* const added = segment.release();
  (first_ == nullptr ? first_ : last_->next) = added;
  last_ = added;
}

std::unique_ptr<Segment> SegmentQueue::pop_front() {
  std::unique_ptr<Segment> segment{first_};
  first_ = std::exchange(segment->next, nullptr);
  if (first_ == nullptr) last_ = nullptr;
  return segment;
}

void SegmentQueue::splice_front(SegmentQueue& other) {
  if (other.empty()) return;
  other.last_->next = first_;
  if (first_ == nullptr) last_ = other.last_;
  first_ = other.first_;
  other.first_ = other.last_ = nullptr;
}

void SegmentQueue::clear() {
  while (!empty()) pop_front();
}

}  // namespace weft::detail::simulated
