// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/detail/base/bytes.hpp"

namespace weft::load {

/// Payloads of a measurement hold a tag that names the call, then a fixed pattern of words.
///
///     offset   0        8         16                     size
///              | tag    | word 1  | word 2  | ...        |
///
/// An echo brings the tag back, and so does a generated answer; a payload shorter than a tag holds its first
/// bytes. The check costs the same whoever calls it, so that two programs that use it can be compared.
inline constexpr std::size_t kTagBytes = 8;

/// The word at `index * 8`. An odd multiplier makes all of them different.
constexpr std::uint64_t pattern_word(std::uint64_t index) {
  return (index + 1) * 0x9E3779B97F4A7C15ULL;
}

/// Writes the pattern over all of `payload`, the tag's place included.
void fill_pattern(MutableBytes payload);

/// Writes as much of `tag` as `payload` has room for.
inline void write_tag(MutableBytes payload, std::uint64_t tag) {
  if (payload.size() >= kTagBytes) {
    weft::detail::store_le(payload.data(), tag);
  } else if (!payload.empty()) {
    std::memcpy(payload.data(), &tag, payload.size());
  }
}

/// The tag of `payload`; what a short payload does not hold is zero.
inline std::uint64_t read_tag(Bytes payload) {
  std::uint64_t tag = 0;
  if (payload.size() >= kTagBytes) return weft::detail::load_le<std::uint64_t>(payload.data());
  if (!payload.empty()) std::memcpy(&tag, payload.data(), payload.size());
  return tag;
}

/// Returns only the bytes of `tag` that a payload of `bytes` can carry.
constexpr std::uint64_t truncated_tag(std::uint64_t tag, std::uint64_t bytes) {
  return bytes >= kTagBytes ? tag : tag & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

/// True when `answer` answers the call `tag` of `request_bytes` with `answer_bytes` of the right content: its
/// length, its tag, a word in the middle, the last whole word, and one word in every 64 KiB.
inline bool answer_intact(Bytes answer, std::uint64_t answer_bytes, std::uint64_t tag,
                          std::uint64_t request_bytes) {
  if (answer.size() != answer_bytes) return false;
  if (read_tag(answer) != truncated_tag(tag, std::min(request_bytes, answer_bytes))) return false;
  const std::uint64_t words = answer.size() / 8;
  if (words < 2) return true;
  const auto holds = [&](std::uint64_t index) {
    return weft::detail::load_le<std::uint64_t>(answer.data() + index * 8) == pattern_word(index);
  };
  if (!holds(words - 1) || !holds(std::max<std::uint64_t>(words / 2, 1))) return false;
  constexpr std::uint64_t kStride = 64 * 1024 / 8;
  for (std::uint64_t index = kStride; index < words; index += kStride) {
    if (!holds(index)) return false;
  }
  return true;
}

}  // namespace weft::load
