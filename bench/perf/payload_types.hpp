// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "load/payload.hpp"
#include "weft/detail/codec/codec.hpp"

namespace weft::perf {

/// A payload as its sender knows it: a pattern that many calls share, and the tag of one. On the wire it is a
/// string, so the receiver takes a string_view.
struct TaggedPattern {
  Bytes pattern;
  std::uint64_t tag = 0;
};

/// A payload as its receiver needs it: looked at where it lies in the received bytes, and not kept.
struct SeenPayload {
  std::uint64_t bytes = 0;
  std::uint64_t tag = 0;
  bool pattern_intact = false;
};

inline SeenPayload look_at(Bytes payload) {
  const std::uint64_t tag = load::read_tag(payload);
  return {payload.size(), tag, load::reply_intact(payload, payload.size(), tag, payload.size())};
}

/// The same of a pattern that has no tag of its own in it.
inline SeenPayload look_at_pattern(Bytes pattern) {
  const std::uint64_t tag = load::truncated_tag(load::pattern_word(0), pattern.size());
  return {pattern.size(), tag, load::reply_intact(pattern, pattern.size(), tag, pattern.size())};
}

}  // namespace weft::perf

template <>
struct weft::CodecTraits<weft::perf::TaggedPattern> {
  static constexpr std::size_t kMinEncodedSize = 4;
  static void encoded_size(detail::Sizer& size, const perf::TaggedPattern& value) {
    size.add(as_text(value.pattern));
  }
  static void encode(detail::Encoder& to, const perf::TaggedPattern& value) {
    to.write_count(value.pattern.size());
    std::byte* const payload = to.reserve(value.pattern.size());
    if (!value.pattern.empty()) std::memcpy(payload, value.pattern.data(), value.pattern.size());
    load::write_tag({payload, value.pattern.size()}, value.tag);
  }
  static bool decode(detail::Decoder&, perf::TaggedPattern&) { return false; }
  static constexpr void append_schema(detail::SchemaWriter& to) { to.type<std::string>(); }
};

template <>
struct weft::CodecTraits<weft::perf::SeenPayload> {
  using Wire = std::string_view;
  static Wire to_wire(const perf::SeenPayload&) { return {}; }
  static bool from_wire(Wire wire, perf::SeenPayload& out) {
    out = perf::look_at(as_bytes(wire));
    return true;
  }
};
