// SPDX-License-Identifier: Apache-2.0
#include "raw/frame_reader.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace weft::raw {
namespace {

/// Bytes received, 0 when nothing is there yet, -1 when the peer has gone.
ssize_t receive(int fd, std::byte* to, std::size_t room) {
  const ssize_t got = recv(fd, to, room, 0);
  if (got > 0) return got;
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  return -1;
}

}  // namespace

SmallFrameReader::Batch SmallFrameReader::read(int fd, Scratch& scratch) {
  std::byte* const begin = scratch.in.data();
  std::size_t have = rest_.size();
  if (have > 0) std::memcpy(begin, rest_.data(), have);
  const ssize_t got = receive(fd, begin + have, scratch.in.size() - have);
  if (got < 0) return {ReadOutcome::kClosed, {}};
  have += static_cast<std::size_t>(got);

  std::size_t whole = 0;
  while (have - whole >= kLengthBytes) {
    if (load_le<std::uint32_t>(begin + whole) != payload_bytes_) return {ReadOutcome::kBroken, {}};
    if (have - whole < frame_bytes()) break;
    whole += frame_bytes();
  }
  rest_.assign(begin + whole, begin + have);
  return {ReadOutcome::kOk, {begin, whole}};
}

LargeFrameReader::LargeFrameReader(std::uint64_t payload_bytes)
    : frame_bytes_(kLengthBytes + payload_bytes),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(frame_bytes_)) {}

ReadOutcome LargeFrameReader::read(int fd) {
  const ssize_t got = receive(fd, buffer_.get() + have_, frame_bytes_ - have_);
  if (got < 0) return ReadOutcome::kClosed;
  const std::size_t before = have_;
  have_ += static_cast<std::size_t>(got);
  if (before < kLengthBytes && have_ >= kLengthBytes &&
      load_le<std::uint32_t>(buffer_.get()) != frame_bytes_ - kLengthBytes) {
    return ReadOutcome::kBroken;
  }
  return ReadOutcome::kOk;
}

FrameBuffer LargeFrameReader::exchange(FrameBuffer next) {
  have_ = 0;
  return std::exchange(buffer_, std::move(next));
}

}  // namespace weft::raw
