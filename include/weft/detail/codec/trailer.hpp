// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "weft/detail/codec/composites.hpp"

/// The later additions of a message (Compatible): after all values, by version and then in the order in which
/// they stand in the arguments. Those after the last one that is present are left out.
///
///     +------------+---------------+------------------------+--
///     | u32 length | length bytes  | u32 0xFFFFFFFF: absent | ...
///     +------------+---------------+------------------------+--
namespace weft::detail::codec_detail {

/// Calls `visit(addition)` for each addition in `value`, in the order of their declaration.
template <typename T, typename F>
void visit_additions(T& value, F& visit) {
  using Value = std::remove_const_t<T>;
  if constexpr (kind_of<Value> == Kind::kCompatible) {
    visit(value);
  } else if constexpr (facts<Value>.compatibles != 0) {
    visit_members(value, [&visit](auto&... members) { (visit_additions(members, visit), ...); });
  }
}

template <typename T>
constexpr void list_versions(unsigned*& to);
template <typename... Ms>
constexpr void list_members_versions(unsigned*& to, Types<Ms...>) {
  (list_versions<std::remove_const_t<Ms>>(to), ...);
}
template <typename T>
constexpr void list_versions(unsigned*& to) {
  if constexpr (kind_of<T> == Kind::kCompatible)
    *to++ = T::kSince;
  else if constexpr (facts<T>.compatibles != 0)
    list_members_versions(to, members_of<T>{});
}

template <typename... Ts>
inline constexpr std::size_t additions_count = (std::size_t{0} + ... + facts<Ts>.compatibles);

/// The version of each addition in `Ts`, lowest first.
template <typename... Ts>
consteval auto sorted_versions() {
  std::array<unsigned, additions_count<Ts...>> versions{};
  unsigned* to = versions.data();
  (list_versions<Ts>(to), ...);
  std::sort(versions.begin(), versions.end());
  return versions;
}

/// Calls `visit(addition)` for each addition in `values`, in the order of the wire.
template <typename F, typename... Ts>
void visit_additions_in_order(F&& visit, Ts&... values) {
  static constexpr auto kVersions = sorted_versions<std::remove_const_t<Ts>...>();
  for (std::size_t i = 0; i < kVersions.size(); ++i) {
    if (i != 0 && kVersions[i] == kVersions[i - 1]) continue;
    auto visit_version = [&visit, version = kVersions[i]](auto& addition) {
      if (addition.kSince == version) visit(addition);
    };
    (visit_additions(values, visit_version), ...);
  }
}

/// Returns how many additions are sent: all up to the last one that is present.
template <typename... Ts>
std::size_t additions_sent(const Ts&... values) {
  std::size_t place = 0;
  std::size_t sent = 0;
  visit_additions_in_order(
      [&](const auto& addition) {
        ++place;
        if (addition.has_value()) sent = place;
      },
      values...);
  return sent;
}

template <typename... Ts>
void size_additions(Sizer& size, const Ts&... values) {
  std::size_t left = additions_sent(values...);
  visit_additions_in_order(
      [&](const auto& addition) {
        if (left == 0) return;
        --left;
        size.skip(4);
        if (!addition.has_value()) return;
        const std::size_t before = size.size();
        size.add(*addition);
        if (size.size() - before >= kAbsent) size.refuse();
      },
      values...);
}

template <bool kChecked, typename... Ts>
void encode_additions(BasicEncoder<kChecked>& to, const Ts&... values) {
  std::size_t left = additions_sent(values...);
  visit_additions_in_order(
      [&](const auto& addition) {
        if (left == 0) return;
        --left;
        if (!addition.has_value()) return to.write_number(kAbsent);
        std::byte* const length = to.reserve(4);
        const std::size_t before = to.offset();
        to.write(*addition);
        store_le(length, static_cast<std::uint32_t>(to.offset() - before));
      },
      values...);
}

template <typename T>
bool decode_addition(Decoder& from, T& out) {
  std::uint32_t size;
  if (!from.read_number(size)) return false;
  if (size == kAbsent) return true;
  if (size > from.remaining()) return from.fail(DecodeFault::kTrailer);
  const std::byte* const end = from.narrow(size);
  if (!from.read(out.emplace())) return false;
  if (from.remaining() != 0) return from.fail(DecodeFault::kTrailer);
  from.widen(end);
  return true;
}

/// Reads the additions that `out...` contain; additions missing in the message become empty.
template <typename... Ts>
bool decode_additions(Decoder& from, Ts&... out) {
  bool good = true;
  visit_additions_in_order(
      [&](auto& addition) {
        addition.reset();
        if (good && from.remaining() != 0) good = decode_addition(from, addition);
      },
      out...);
  return good && (from.remaining() == 0 || is_trailer(from.rest()) || from.fail(DecodeFault::kTrailer));
}

}  // namespace weft::detail::codec_detail
