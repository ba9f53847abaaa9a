// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <type_traits>

#include "weft/detail/codec/fields.hpp"
#include "weft/detail/codec/kinds.hpp"

namespace weft::detail::codec_detail {

/// The types of the members of an aggregate, a tuple or a pair, as they are declared (a const stays).
template <typename T, Kind kKind = kind_of<T>>
struct MembersOf {
  using type = decltype(visit_fields(std::declval<T&>(), TypesOf{}));
};
template <typename... Ts>
struct MembersOf<std::tuple<Ts...>, Kind::kTuple> {
  using type = Types<Ts...>;
};
template <typename A, typename B>
struct MembersOf<std::pair<A, B>, Kind::kTuple> {
  using type = Types<A, B>;
};
template <typename T>
using members_of = typename MembersOf<T>::type;

/// Calls `visit(member...)` for an aggregate, a tuple or a pair.
template <typename T, typename F>
constexpr decltype(auto) visit_members(T& value, F&& visit) {
  if constexpr (kind_of<std::remove_const_t<T>> == Kind::kTuple)
    return std::apply(visit, value);
  else
    return visit_fields(value, visit);
}

template <typename A>
struct ArrayOf;
template <typename E, std::size_t N>
struct ArrayOf<E[N]> {
  using Element = E;
  static constexpr std::size_t kCount = N;
};
template <typename E, std::size_t N>
struct ArrayOf<std::array<E, N>> : ArrayOf<E[N]> {};
template <typename E>
struct ArrayOf<std::array<E, 0>> {
  using Element = E;
  static constexpr std::size_t kCount = 0;
};

inline constexpr std::size_t kNotFixed = std::numeric_limits<std::size_t>::max();
inline constexpr std::size_t kAlignmentMax = 8;

/// Facts of a type's encoding that are known at compile time. All but the last two follow from the
/// structure alone and are part of the format; the last two say whether this machine's memory happens to
/// look like the wire.
struct Facts {
  std::size_t fixed_size = kNotFixed;  // bytes on the wire, where they do not depend on the value
  std::size_t alignment = 1;           // of the widest number inside, at most 8
  std::size_t size_min = 0;            // fewest bytes on the wire
  unsigned compatibles = 0;            // Compatible fields outside containers
  bool bytewise = false;               // memory equals wire
  bool any_bytes = false;              // every pattern of bytes is a value
};

template <typename T>
consteval Facts find_facts();

/// Looks at `T` without going through containers and pointers, so that recursive types end.
template <typename T>
inline constexpr Facts facts = find_facts<std::remove_cv_t<T>>();

constexpr Facts number_facts(std::size_t size, bool bytewise, bool any_bytes) {
  return {size, size < kAlignmentMax ? size : kAlignmentMax, size, 0, bytewise, any_bytes};
}

constexpr void append_member(Facts& all, const Facts& member) {
  const bool fixed = all.fixed_size != kNotFixed && member.fixed_size != kNotFixed;
  all.fixed_size = fixed ? all.fixed_size + member.fixed_size : kNotFixed;
  all.alignment = all.alignment < member.alignment ? member.alignment : all.alignment;
  all.size_min += member.size_min;
  all.compatibles += member.compatibles;
  all.bytewise = all.bytewise && member.bytewise;
  all.any_bytes = all.any_bytes && member.any_bytes;
}

template <typename... Ms>
consteval Facts members_facts(Types<Ms...>) {
  Facts all{0, 1, 0, 0, true, true};
  (append_member(all, facts<Ms>), ...);
  return all;
}

template <typename T>
consteval Facts array_facts() {
  constexpr Facts kElement = facts<typename ArrayOf<T>::Element>;
  constexpr std::size_t kCount = ArrayOf<T>::kCount;
  Facts all = kElement;
  if (kElement.fixed_size != kNotFixed) all.fixed_size = kElement.fixed_size * kCount;
  all.size_min = kElement.size_min * kCount;
  return all;
}

template <typename T>
consteval Facts find_facts() {
  constexpr Kind kKind = kind_of<T>;
  if constexpr (kKind == Kind::kBool) {
    return number_facts(1, true, false);
  } else if constexpr (kKind == Kind::kNumber) {
    return number_facts(sizeof(T), true, true);
  } else if constexpr (kKind == Kind::kLongDouble) {
    return number_facts(16, false, false);
  } else if constexpr (kKind == Kind::kEnum) {
    return facts<std::underlying_type_t<T>>;
  } else if constexpr (kKind == Kind::kDuration) {
    return facts<typename T::rep>;
  } else if constexpr (kKind == Kind::kTimePoint) {
    return facts<typename T::duration>;
  } else if constexpr (kKind == Kind::kEmpty) {
    return {0, 1, 0, 0, false, false};
  } else if constexpr (kKind == Kind::kCompatible) {
    return {kNotFixed, 1, 0, 1, false, false};
  } else if constexpr (kKind == Kind::kArray) {
    Facts all = array_facts<T>();
    all.bytewise = all.bytewise && sizeof(T) == all.fixed_size;
    return all;
  } else if constexpr (kKind == Kind::kTuple) {
    Facts all = members_facts(members_of<T>{});
    all.bytewise = false;
    return all;
  } else if constexpr (kKind == Kind::kAggregate) {
    if constexpr (std::is_union_v<T> || field_fault<T> != FieldFault::kNone) {
      return {};
    } else {
      // Fields lie in the order of their declaration, so equal sizes mean that there are no holes.
      Facts all = members_facts(members_of<T>{});
      all.bytewise = all.bytewise && sizeof(T) == all.fixed_size && std::is_trivially_copyable_v<T>;
      return all;
    }
  } else if constexpr (kKind == Kind::kUserWire) {
    Facts all = facts<typename CodecTraits<T>::Wire>;
    all.bytewise = false;
    return all;
  } else if constexpr (kKind == Kind::kUser) {
    if constexpr (requires { CodecTraits<T>::kMinEncodedSize; })
      return {kNotFixed, 1, CodecTraits<T>::kMinEncodedSize, 0, false, false};
    else
      return {};
  } else if constexpr (kKind == Kind::kOptional || kKind == Kind::kUnique || kKind == Kind::kVariant ||
                       kKind == Kind::kResult || kKind == Kind::kExpected) {
    return {kNotFixed, 1, 1, 0, false, false};
  } else {
    return {kNotFixed, 1, 4, 0, false, false};  // a count
  }
}

/// Alignment of arrays of `E` within the message. Part of the format.
template <typename E>
inline constexpr std::size_t wire_alignment =
    facts<E>.fixed_size != kNotFixed && facts<E>.fixed_size != 0 ? facts<E>.alignment : 1;
/// One copy writes it.
template <typename T>
inline constexpr bool is_plain_to_encode = facts<T>.bytewise;
/// One copy reads it: no byte needs a check.
template <typename T>
inline constexpr bool is_plain_to_decode = facts<T>.bytewise && facts<T>.any_bytes && !std::is_const_v<T>;

}  // namespace weft::detail::codec_detail
