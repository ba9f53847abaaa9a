// SPDX-License-Identifier: Apache-2.0
#include "raw/frame_reader.hpp"

#include <cstring>
#include <utility>

namespace weft::raw {
SmallFrameReader::Batch SmallFrameReader::read(Wire& wire, Scratch& scratch) {
  std::byte* const begin = scratch.in.data();
  std::size_t have = rest_.size();
  if (have > 0) std::memcpy(begin, rest_.data(), have);
  const ssize_t got = wire.receive(begin + have, scratch.in.size() - have);
  if (got < 0) return {ReadOutcome::kClosed, {}};
  have += static_cast<std::size_t>(got);

  std::size_t whole = 0;
  while (have - whole >= kLengthBytes) {
    if (weft::detail::load_le<std::uint32_t>(begin + whole) != payload_bytes_)
      return {ReadOutcome::kBroken, {}};
    if (have - whole < frame_bytes()) break;
    whole += frame_bytes();
  }
  rest_.assign(begin + whole, begin + have);
  return {ReadOutcome::kOk, {begin, whole}};
}

LargeFrameReader::LargeFrameReader(std::uint64_t payload_bytes, unsigned buffers)
    : frame_bytes_(kLengthBytes + payload_bytes),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(frame_bytes_)) {
  while (others_.size() + 1 < buffers) {
    others_.push_back(std::make_unique_for_overwrite<std::byte[]>(frame_bytes_));
  }
}

ReadOutcome LargeFrameReader::read(Wire& wire) {
  const ssize_t got = wire.receive(buffer_.get() + have_, frame_bytes_ - have_);
  if (got < 0) return ReadOutcome::kClosed;
  const std::size_t before = have_;
  have_ += static_cast<std::size_t>(got);
  if (before < kLengthBytes && have_ >= kLengthBytes &&
      weft::detail::load_le<std::uint32_t>(buffer_.get()) != frame_bytes_ - kLengthBytes) {
    return ReadOutcome::kBroken;
  }
  return ReadOutcome::kOk;
}

void LargeFrameReader::reuse() {
  have_ = 0;
  if (others_.empty()) return;
  std::swap(buffer_, others_[next_]);
  next_ = (next_ + 1) % others_.size();
}

FrameBuffer LargeFrameReader::exchange(FrameBuffer next) {
  have_ = 0;
  return std::exchange(buffer_, std::move(next));
}

}  // namespace weft::raw
