// SPDX-License-Identifier: Apache-2.0
#include "calls/grpc/inflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>

#include "calls/terms/call_status.hpp"

namespace weft::detail::grpc {

namespace {

/// Largest window of the format, and the number that asks zlib for gzip.
constexpr int kGzip = 15 + 16;
constexpr std::size_t kFirstBytes = 4096;

constexpr FixedFailure kBadGzip{StatusCode::kInternal, Layer::kRpc, Retry::kNever,
                                "a compressed message is no valid gzip"};

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

// One byte over the limit tells a message that is too long.
Status inflate_gzip(Bytes compressed, std::vector<std::byte>& message, std::size_t bytes_max) {
  Inflater inflater{compressed};
  std::size_t there = 0;
  message.resize(std::min(kFirstBytes, bytes_max + 1));
  for (;;) {
    const int result = inflater.fill(message, there);
    if (result == Z_MEM_ERROR) throw std::bad_alloc{};
    if (there > bytes_max) {
      return over_limit("a message, without its compression,", there, bytes_max, "the server's",
                        "raise ServerOptions::limits.body_bytes_max");
    }
    if (result == Z_STREAM_END) break;
    if (result != Z_OK || there != message.size()) return Status::of<kBadGzip>();
    message.resize(std::min(2 * message.size(), bytes_max + 1));
  }
  if (inflater.has_rest()) return Status::of<kBadGzip>();
  message.resize(there);
  return {};
}

}  // namespace weft::detail::grpc
