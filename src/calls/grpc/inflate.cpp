// SPDX-License-Identifier: Apache-2.0
#include "calls/grpc/inflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <utility>

#include "calls/terms/call_status.hpp"

namespace weft::detail::grpc {

namespace {

/// Largest window of the format, and the number that asks zlib for gzip.
constexpr int kGzip = 15 + 16;
constexpr std::size_t kFirstBytes = 4096;

constexpr FixedFailure kBadGzip{StatusCode::kInternal, Layer::kRpc, Retry::kNever,
                                "a compressed message is no valid gzip"};
constexpr FixedFailure kNoMemoryToInflate{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "the server's memory (process_memory_max), or this connection's share of "
    "it, has no room for a message without its compression"};

class Inflater {
 public:
  explicit Inflater(Bytes compressed) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(compressed.data()));
    stream_.avail_in = static_cast<uInt>(compressed.size());
    if (inflateInit2(&stream_, kGzip) != Z_OK) throw std::bad_alloc{};
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Fills the rest of `message`, behind the first `there` bytes. Returns the result of zlib.
  int fill(std::vector<std::byte>& message, std::size_t& there) {
    stream_.next_out = reinterpret_cast<Bytef*>(message.data() + there);
    stream_.avail_out = static_cast<uInt>(message.size() - there);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    there = message.size() - stream_.avail_out;
    return result;
  }
  bool has_rest() const noexcept { return stream_.avail_in != 0; }

 private:
  z_stream stream_{};
};

}  // namespace

std::optional<Refusal> InflatedMessage::inflate(Bytes compressed, std::size_t bytes_max) {
  drop();
  std::optional<Refusal> refusal = fill(compressed, bytes_max);
  if (refusal) drop();
  return refusal;
}

// One byte over the limit tells a message that is too long.
std::optional<Refusal> InflatedMessage::fill(Bytes compressed, std::size_t bytes_max) {
  Refusal bad{RefusalReason::kBadArguments, Status::of<kBadGzip>()};
  Inflater inflater{compressed};
  std::size_t there = 0;
  std::size_t size = std::min(kFirstBytes, bytes_max + 1);
  for (;; size = std::min(2 * size, bytes_max + 1)) {
    if (!grow(size)) return Refusal{RefusalReason::kOverProcessMemory, Status::of<kNoMemoryToInflate>()};
    const int result = inflater.fill(bytes_, there);
    if (result == Z_MEM_ERROR) throw std::bad_alloc{};
    if (there > bytes_max) {
      return Refusal{RefusalReason::kOverMethodsBody,
                     over_limit("a message, without its compression,", there, bytes_max, "the server's",
                                "raise ServerOptions::limits.body_bytes_max")};
    }
    if (result == Z_STREAM_END) break;
    if (result != Z_OK || there != bytes_.size()) return bad;
  }
  if (inflater.has_rest()) return bad;
  bytes_.resize(there);
  return std::nullopt;
}

// While the bytes are moved to larger memory, both count.
bool InflatedMessage::grow(std::size_t size) {
  if (!memory_.reserve(size)) return false;
  const std::size_t before = charged_;
  charged_ += size;
  bytes_.resize(size);
  memory_.release(before);
  charged_ = size;
  return true;
}

void InflatedMessage::drop() noexcept {
  std::vector<std::byte>{}.swap(bytes_);
  if (charged_ != 0) memory_.release(std::exchange(charged_, 0));
}

}  // namespace weft::detail::grpc
