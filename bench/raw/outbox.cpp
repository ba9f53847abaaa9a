// SPDX-License-Identifier: Apache-2.0
#include "raw/outbox.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "load/payload.hpp"
#include "raw/protocol.hpp"

namespace weft::raw {
bool ByteOutbox::send(Wire& wire, Bytes bytes) {
  std::size_t taken = 0;
  if (!blocked()) {
    const ssize_t sent = wire.send(bytes);
    if (sent < 0) return false;
    taken = static_cast<std::size_t>(sent);
  }
  if (taken < bytes.size())
    left_.insert(left_.end(), bytes.begin() + static_cast<std::ptrdiff_t>(taken), bytes.end());
  return true;
}

bool ByteOutbox::flush(Wire& wire) {
  while (blocked()) {
    const ssize_t sent = wire.send(Bytes{left_}.subspan(done_));
    if (sent < 0) return false;
    done_ += static_cast<std::size_t>(sent);
    if (done_ < left_.size()) return true;
    left_.clear();
    done_ = 0;
  }
  return true;
}

bool PatternOutbox::flush(Wire& wire) {
  const std::size_t tag_bytes = std::min(load::kTagBytes, pattern_.size());
  const std::size_t frame_bytes = kLengthBytes + pattern_.size();
  std::array<std::byte, kLengthBytes + load::kTagBytes> head;
  weft::detail::store_le(head.data(), static_cast<std::uint32_t>(pattern_.size()));
  while (blocked()) {
    weft::detail::store_le(head.data() + kLengthBytes, tags_.front());
    const std::size_t head_bytes = kLengthBytes + tag_bytes;
    const std::size_t head_done = std::min(done_, head_bytes);
    const std::size_t tail_done = done_ - head_done;
    const Bytes tail = pattern_.subspan(tag_bytes + tail_done);
    std::array<iovec, 2> pieces{iovec{head.data() + head_done, head_bytes - head_done},
                                iovec{const_cast<std::byte*>(tail.data()), tail.size()}};
    const ssize_t sent = wire.send(std::span{pieces});
    if (sent < 0) return false;
    done_ += static_cast<std::size_t>(sent);
    if (done_ < frame_bytes) return true;
    tags_.pop_front();
    done_ = 0;
  }
  return true;
}

bool EchoOutbox::flush(Wire& wire) {
  while (blocked()) {
    const std::byte* frame = queue_.front().get();
    const ssize_t sent = wire.send(Bytes{frame + done_, frame_bytes_ - done_});
    if (sent < 0) return false;
    done_ += static_cast<std::size_t>(sent);
    if (done_ < frame_bytes_) return true;
    free_.push_back(std::move(queue_.front()));
    queue_.pop_front();
    done_ = 0;
  }
  return true;
}

FrameBuffer EchoOutbox::take_buffer() {
  if (free_.empty()) return std::make_unique_for_overwrite<std::byte[]>(frame_bytes_);
  FrameBuffer buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

}  // namespace weft::raw
