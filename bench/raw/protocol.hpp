// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/detail/base/bytes.hpp"

namespace weft::raw {

/// Protocol of `weft raw`. A connection begins with one hello from the client:
///
///     0        4        8                16               24
///     | magic  | version| request bytes  | answer bytes   |
///
/// Then frames in both directions, answers in the order of the requests:
///
///     0        4                 4 + length
///     | length | payload         |
///
/// or, after a hello whose answer bytes are kPushed, only from the server to the client, without end, each of
/// the announced request length. All numbers are little-endian. Every request has the announced length, every
/// answer the announced length too; an answer of kEcho means that the request itself comes back.
inline constexpr std::uint32_t kMagic = 0x57415257;  // "WRAW"
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint64_t kEcho = ~std::uint64_t{0};
/// No requests: the server sends.
inline constexpr std::uint64_t kPushed = kEcho - 1;
inline constexpr std::size_t kHelloBytes = 24;
inline constexpr std::size_t kLengthBytes = 4;

/// No payload may be larger; checked before anything is allocated for it.
inline constexpr std::uint64_t kPayloadBytesMax = std::uint64_t{1} << 30;
/// Frames from this size on are received straight into a buffer of their own.
inline constexpr std::uint64_t kLargeBytes = 64 * 1024;
/// Bytes that one receive of small frames may bring.
inline constexpr std::size_t kScratchBytes = 256 * 1024;

struct Hello {
  std::uint64_t request_bytes = 0;
  std::uint64_t answer_bytes = kEcho;

  bool echo() const { return answer_bytes == kEcho; }
  bool pushed() const { return answer_bytes == kPushed; }
};

inline std::array<std::byte, kHelloBytes> encode_hello(const Hello& hello) {
  std::array<std::byte, kHelloBytes> bytes;
  weft::detail::store_le(bytes.data(), kMagic);
  weft::detail::store_le(bytes.data() + 4, kVersion);
  weft::detail::store_le(bytes.data() + 8, hello.request_bytes);
  weft::detail::store_le(bytes.data() + 16, hello.answer_bytes);
  return bytes;
}

/// Nothing when `bytes` is not a hello of this version, or announces payloads above the limit.
inline std::optional<Hello> decode_hello(Bytes bytes) {
  if (bytes.size() != kHelloBytes) return std::nullopt;
  if (weft::detail::load_le<std::uint32_t>(bytes.data()) != kMagic) return std::nullopt;
  if (weft::detail::load_le<std::uint32_t>(bytes.data() + 4) != kVersion) return std::nullopt;
  const Hello hello{weft::detail::load_le<std::uint64_t>(bytes.data() + 8),
                    weft::detail::load_le<std::uint64_t>(bytes.data() + 16)};
  if (hello.request_bytes > kPayloadBytesMax) return std::nullopt;
  if (!hello.echo() && !hello.pushed() && hello.answer_bytes > kPayloadBytesMax) return std::nullopt;
  return hello;
}

}  // namespace weft::raw
