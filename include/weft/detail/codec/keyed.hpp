// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "weft/detail/codec/sequences.hpp"

/// Sets and maps, ordered or not: on the wire as sequences of their keys, or of key and value.
namespace weft::detail::codec_detail {

template <typename T>
concept UniqueKeys = requires(T& c, typename T::value_type&& v) { c.insert(std::move(v)).second; };
template <typename T>
concept Hashed = requires(T& c) { c.bucket_count(); };

/// Detects keys that were chosen to collide in one bucket. Examining a bucket costs as much as the insertion
/// did, so it examines one insertion in eight, chosen unpredictably for a peer. Multi-containers are not
/// guarded, because equal keys are legitimate there.
template <typename T>
class CollisionGuard {
 public:
  explicit CollisionGuard(const void* salt) : state_(reinterpret_cast<std::uintptr_t>(salt)) {}

  /// False when the bucket that `key` went to has become too long.
  template <typename K>
  bool admits(const T& table, const K& key) {
    if (table.size() <= CodecLimits::kBucketElementsMax) return true;
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    if ((state_ >> 61) != 0) return true;
    return table.bucket_size(table.bucket(key)) <= CodecLimits::kBucketElementsMax;
  }

 private:
  std::uint64_t state_;
};

/// Makes room for `count` elements and pays for them.
template <typename T>
bool prepare_table(Decoder& from, T& out, std::uint32_t count) {
  constexpr std::size_t kBytes = sizeof(typename T::value_type) + CodecLimits::kNodeOverheadBytes;
  out.clear();
  if (!from.charge(kBytes * count)) return false;
  if constexpr (Hashed<T>) out.reserve(from.reservation(count, kBytes));
  return true;
}

/// Inserts at the end, which for an ordered container that was sent in order takes constant time.
template <typename T, typename... Parts>
bool insert_decoded(Decoder& from, CollisionGuard<T>& guard, T& out, Parts&&... parts) {
  const std::size_t before = out.size();
  const auto place = out.emplace_hint(out.end(), std::forward<Parts>(parts)...);
  if constexpr (UniqueKeys<T>) {
    if (out.size() == before) return from.fail(DecodeFault::kDuplicateKey);
    if constexpr (Hashed<T> && requires { place->first; }) {
      if (!guard.admits(out, place->first)) return from.fail(DecodeFault::kCollisions);
    } else if constexpr (Hashed<T>) {
      if (!guard.admits(out, *place)) return from.fail(DecodeFault::kCollisions);
    }
  }
  return true;
}

template <typename T>
struct Codec<T, Kind::kSet> {
  using Key = typename T::key_type;

  static void encoded_size(Sizer& size, const T& keys) { size_elements<Key>(size, keys); }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& keys) {
    encode_elements<Key>(to, keys);
  }
  static bool decode(Decoder& from, T& out) {
    std::uint32_t count;
    if (!from.read_count(count, facts<Key>.size_min, wire_alignment<Key>)) return false;
    if (!prepare_table(from, out, count)) return false;
    if (kNests<Key> && !from.enter()) return false;
    CollisionGuard<T> guard{&out};
    for (std::uint32_t i = 0; i < count; ++i) {
      Key key = Key();
      if (!from.read(key) || !insert_decoded(from, guard, out, std::move(key))) return false;
    }
    return !kNests<Key> || from.leave();
  }
  static constexpr void append_schema(auto& to) {
    to.put(UniqueKeys<T> ? "set[" : "multiset[");
    to.template type<Key>();
    to.put("]");
  }
};

template <typename T>
struct Codec<T, Kind::kMap> {
  using Key = typename T::key_type;
  using Value = typename T::mapped_type;
  using Entry = std::pair<Key, Value>;
  static constexpr Facts kEntry = facts<Entry>;
  static constexpr std::size_t kAlignment = wire_alignment<Entry>;

  static void encoded_size(Sizer& size, const T& entries) {
    size.count(entries.size());
    size.align(kAlignment);
    if constexpr (kEntry.fixed_size != kNotFixed) {
      size.skip(entries.size() * kEntry.fixed_size);
    } else if (!size.passes_over(entries.size()) && size.enter()) {
      for (const auto& [key, value] : entries) size.add(key, value);
      size.leave();
    }
  }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& entries) {
    to.write_count(entries.size());
    to.align(kAlignment);
    for (const auto& [key, value] : entries) to.write(key, value);
  }
  static bool decode(Decoder& from, T& out) {
    std::uint32_t count;
    if (!from.read_count(count, kEntry.size_min, kAlignment)) return false;
    if (!prepare_table(from, out, count)) return false;
    if (kNests<Entry> && !from.enter()) return false;
    CollisionGuard<T> guard{&out};
    for (std::uint32_t i = 0; i < count; ++i) {
      Key key = Key();
      Value value = Value();
      if (!from.read(key, value)) return false;
      if (!insert_decoded(from, guard, out, std::move(key), std::move(value))) return false;
    }
    return !kNests<Entry> || from.leave();
  }
  static constexpr void append_schema(auto& to) {
    to.put(UniqueKeys<T> ? "map[" : "multimap[");
    to.template type<Key>();
    to.put(": ");
    to.template type<Value>();
    to.put("]");
  }
};

}  // namespace weft::detail::codec_detail
