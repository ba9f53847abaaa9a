// SPDX-License-Identifier: Apache-2.0
#include "raw/frame_sender.hpp"

#include <cstring>

#include "load/payload.hpp"
#include "raw/protocol.hpp"

namespace weft::raw {

FrameSender::FrameSender(Bytes pattern)
    : pattern_(pattern), is_large_(pattern.size() >= kLargeBytes), large_(pattern) {}

bool FrameSender::add(Wire& wire, Scratch& scratch, std::uint64_t tag) {
  if (is_large_) {
    large_.add(tag);
    return true;
  }
  const std::size_t frame_bytes = kLengthBytes + pattern_.size();
  if (gathered_ + frame_bytes > scratch.out.size() && !finish(wire, scratch)) return false;
  std::byte* const frame = scratch.out.data() + gathered_;
  weft::detail::store_le(frame, static_cast<std::uint32_t>(pattern_.size()));
  if (!pattern_.empty()) std::memcpy(frame + kLengthBytes, pattern_.data(), pattern_.size());
  load::write_tag({frame + kLengthBytes, pattern_.size()}, tag);
  gathered_ += frame_bytes;
  return true;
}

bool FrameSender::finish(Wire& wire, Scratch& scratch) {
  if (is_large_) return large_.flush(wire);
  if (gathered_ == 0) return true;
  const Bytes gathered{scratch.out.data(), gathered_};
  gathered_ = 0;
  return small_.send(wire, gathered);
}

bool FrameSender::flush(Wire& wire) {
  return is_large_ ? large_.flush(wire) : small_.flush(wire);
}

}  // namespace weft::raw
