// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
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
  return {payload.size(), tag, load::answer_intact(payload, payload.size(), tag, payload.size())};
}

/// The same of a pattern that has no tag of its own in it.
inline SeenPayload look_at_pattern(Bytes pattern) {
  const std::uint64_t tag = load::truncated_tag(load::pattern_word(0), pattern.size());
  return {pattern.size(), tag, load::answer_intact(pattern, pattern.size(), tag, pattern.size())};
}

}  // namespace weft::perf

template <>
struct weft::CodecTraits<weft::perf::TaggedPattern> {
  static constexpr std::size_t kMinEncodedSize = 4;
  static constexpr bool kShowsRuns = true;  // the pattern is there as long as the calls
  static void encoded_size(detail::Sizer& size, const perf::TaggedPattern& value) {
    size.count(value.pattern.size());
    const std::size_t tag_bytes = tag_bytes_of(value);
    size.skip(tag_bytes);
    size.add_run(value.pattern.data() + tag_bytes, value.pattern.size() - tag_bytes);
  }
  static void encode(detail::Encoder& to, const perf::TaggedPattern& value) {
    to.write_count(value.pattern.size());
    const std::size_t tag_bytes = tag_bytes_of(value);
    load::write_tag({to.reserve(tag_bytes), tag_bytes}, value.tag);
    to.write_run(value.pattern.data() + tag_bytes, value.pattern.size() - tag_bytes);
  }
  static std::size_t tag_bytes_of(const perf::TaggedPattern& value) {
    return std::min(value.pattern.size(), load::kTagBytes);
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
