// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "weft/detail/codec/facts.hpp"

namespace weft::detail {
namespace codec_detail {

/// Reason for which a type cannot be encoded or decoded.
enum class Problem : unsigned char {
  kNone,
  kReference,
  kRawPointer,
  kSharedPointer,
  kUnion,
  kBaseClass,
  kTooManyFields,
  kTupleLike,
  kFieldWithoutDefault,
  kUncounted,
  kBitField,
  kForeignContainer,
  kOrderWithState,
  kPolymorphicPointee,
  kNotAggregate,
  kWideVariant,
  kCompatibleInside,
  kViewOfNotPlain,
  kMutableView,
  kFixedSpan,
  kConst,
  kNoDefault,
  kTraitsLackPart,
};

enum class Direction : unsigned char { kEncode, kDecode };

template <typename T, Direction kDirection, bool kInside, typename... Seen>
consteval Problem find_problem();

template <Direction kDirection, bool kInside, typename... Seen>
struct Check {
  template <typename... Ts>
  static consteval Problem all(Types<Ts...>) {
    Problem problem = Problem::kNone;
    static_cast<void>(
        ((problem = find_problem<Ts, kDirection, kInside, Seen...>(), problem == Problem::kNone) && ...));
    return problem;
  }
};

consteval Problem problem_of(FieldFault fault) {
  switch (fault) {
    case FieldFault::kNone:
      return Problem::kNone;
    case FieldFault::kBaseClass:
      return Problem::kBaseClass;
    case FieldFault::kTupleLike:
      return Problem::kTupleLike;
    case FieldFault::kNoDefault:
      return Problem::kFieldWithoutDefault;
    case FieldFault::kReference:
      return Problem::kReference;
    case FieldFault::kUncounted:
      return Problem::kUncounted;
    case FieldFault::kTooMany:
      return Problem::kTooManyFields;
    case FieldFault::kUnion:
      return Problem::kUnion;
    case FieldFault::kBitField:
      return Problem::kBitField;
  }
  return Problem::kUncounted;
}

template <typename T>
consteval Problem unsupported_problem() {
  if constexpr (std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T>) {
    return Problem::kRawPointer;
  } else if constexpr (requires(T& p) { p.use_count(); }) {
    return Problem::kSharedPointer;
  } else if constexpr (ContainerShape<T>) {
    return Problem::kForeignContainer;
  } else {
    return std::is_union_v<T> ? Problem::kUnion : Problem::kNotAggregate;
  }
}

/// Finds types that cannot be created before they are decoded: only types that the codec reads one by one
/// into memory of its own.
template <typename T, Direction kDirection>
consteval Problem creation_problem() {
  if constexpr (kDirection == Direction::kDecode && !std::is_default_constructible_v<T>)
    return Problem::kNoDefault;
  else
    return Problem::kNone;
}

/// Says whether the CodecTraits of `T` with a stand-in have the function for this direction.
template <typename T, Direction kDirection, typename Traits = CodecTraits<T>>
consteval bool converts() {
  if constexpr (kDirection == Direction::kEncode)
    return requires(const T& value) { static_cast<const typename Traits::Wire&>(Traits::to_wire(value)); };
  else
    return requires(typename Traits::Wire& wire, T& out) {
      static_cast<bool>(Traits::from_wire(static_cast<typename Traits::Wire&&>(wire), out));
    };
}

/// A map or set that is decoded compares and hashes its keys by objects that it makes itself.
template <typename T>
consteval bool has_order_with_state() {
  if constexpr (requires { typename T::key_compare; })
    return !std::is_empty_v<typename T::key_compare>;
  else if constexpr (requires {
                       typename T::hasher;
                       typename T::key_equal;
                     })
    return !std::is_empty_v<typename T::hasher> || !std::is_empty_v<typename T::key_equal>;
  else
    return false;
}

template <typename T, Direction kDirection>
consteval Problem view_problem() {
  if constexpr (kDirection == Direction::kEncode) {
    return Problem::kNone;
  } else {
    using Pointee = std::remove_pointer_t<decltype(std::declval<const T&>().data())>;
    if constexpr (!std::is_const_v<Pointee>)
      return Problem::kMutableView;
    else if constexpr (!is_plain_to_decode<std::remove_const_t<Pointee>>)
      return Problem::kViewOfNotPlain;
    else
      return std::is_default_constructible_v<T> ? Problem::kNone : Problem::kFixedSpan;
  }
}

template <typename T>
struct AlternativesOf;
template <typename... Ts>
struct AlternativesOf<std::variant<Ts...>> {
  using type = Types<Ts...>;
  template <Direction kDirection>
  static constexpr bool kCanBeMade = (... && (creation_problem<Ts, kDirection>() == Problem::kNone));
};

/// Recursive types end at a type that is being looked at already (`Seen`).
template <typename T, Direction kDirection, bool kInside, typename... Seen>
consteval Problem find_problem() {
  if constexpr (std::is_reference_v<T>) {
    return Problem::kReference;
  } else if constexpr (std::is_const_v<T>) {
    if constexpr (kDirection == Direction::kDecode)
      return Problem::kConst;
    else
      return find_problem<std::remove_cv_t<T>, kDirection, kInside, Seen...>();
  } else if constexpr (std::is_union_v<T>) {
    return Problem::kUnion;
  } else if constexpr (kInside && facts<T>.compatibles != 0) {
    return Problem::kCompatibleInside;
  } else if constexpr ((std::is_same_v<T, Seen> || ...)) {
    return Problem::kNone;
  } else {
    constexpr Kind kKind = kind_of<T>;
    using Members = Check<kDirection, kInside, T, Seen...>;
    using Elements = Check<kDirection, true, T, Seen...>;
    if constexpr (kKind == Kind::kUnsupported) {
      return unsupported_problem<T>();
    } else if constexpr (kKind == Kind::kAggregate) {
      if constexpr (field_fault<T> != FieldFault::kNone)
        return problem_of(field_fault<T>);
      else
        return Members::all(members_of<T>{});
    } else if constexpr (kKind == Kind::kTuple) {
      return Members::all(members_of<T>{});
    } else if constexpr (kKind == Kind::kArray) {
      return Elements::all(Types<typename ArrayOf<T>::Element>{});
    } else if constexpr (kKind == Kind::kCompatible) {
      constexpr Problem kCreation = creation_problem<typename T::value_type, kDirection>();
      if constexpr (kCreation != Problem::kNone)
        return kCreation;
      else
        return Elements::all(Types<typename T::value_type>{});
    } else if constexpr (kKind == Kind::kUserWire) {
      constexpr Problem kCreation = creation_problem<typename CodecTraits<T>::Wire, kDirection>();
      if constexpr (!converts<T, kDirection>())
        return Problem::kTraitsLackPart;
      else if constexpr (kCreation != Problem::kNone)
        return kCreation;
      else
        return Elements::all(Types<typename CodecTraits<T>::Wire>{});
    } else if constexpr (kKind == Kind::kUser) {
      return requires { CodecTraits<T>::kMinEncodedSize; } ? Problem::kNone : Problem::kTraitsLackPart;
    } else if constexpr (kKind == Kind::kView) {
      constexpr Problem kElements =
          Check<Direction::kEncode, true, T, Seen...>::all(Types<typename T::value_type>{});
      if constexpr (kElements != Problem::kNone)
        return kElements;
      else
        return view_problem<T, kDirection>();
    } else if constexpr (kKind == Kind::kMap) {
      constexpr Problem kCreation =
          creation_problem<std::pair<typename T::key_type, typename T::mapped_type>, kDirection>();
      if constexpr (kCreation != Problem::kNone)
        return kCreation;
      else if constexpr (kDirection == Direction::kDecode && has_order_with_state<T>())
        return Problem::kOrderWithState;
      else
        return Elements::all(Types<typename T::key_type, typename T::mapped_type>{});
    } else if constexpr (kKind == Kind::kSet && kDirection == Direction::kDecode &&
                         has_order_with_state<T>()) {
      return Problem::kOrderWithState;
    } else if constexpr (kKind == Kind::kSequence || kKind == Kind::kSet || kKind == Kind::kOptional) {
      constexpr Problem kCreation = creation_problem<typename T::value_type, kDirection>();
      if constexpr (kCreation != Problem::kNone)
        return kCreation;
      else
        return Elements::all(Types<typename T::value_type>{});
    } else if constexpr (kKind == Kind::kUnique) {
      using Value = std::remove_const_t<typename T::element_type>;
      constexpr Problem kCreation = creation_problem<Value, kDirection>();
      if constexpr (std::is_polymorphic_v<Value> && !std::is_final_v<Value>)
        return Problem::kPolymorphicPointee;
      else if constexpr (kCreation != Problem::kNone)
        return kCreation;
      else
        return Elements::all(Types<Value>{});
    } else if constexpr (kKind == Kind::kVariant) {
      if constexpr (std::variant_size_v<T> > 256)
        return Problem::kWideVariant;
      else if constexpr (!AlternativesOf<T>::template kCanBeMade<kDirection>)
        return Problem::kNoDefault;
      else
        return Elements::all(typename AlternativesOf<T>::type{});
    } else if constexpr (kKind == Kind::kResult || kKind == Kind::kExpected) {
      if constexpr (std::is_void_v<typename T::value_type>)
        return Problem::kNone;
      else if constexpr (creation_problem<typename T::value_type, kDirection>() != Problem::kNone) {
        return Problem::kNoDefault;
      } else
        return Elements::all(Types<typename T::value_type>{});
    } else {
      return Problem::kNone;
    }
  }
}

template <typename T>
inline constexpr Problem encode_problem = find_problem<std::remove_cvref_t<T>, Direction::kEncode, false>();
/// `Out` is the decoded type: by default a fresh object, so const and references of `T` do not matter.
template <typename T, typename Out = std::remove_cvref_t<T>>
inline constexpr Problem decode_problem = find_problem<Out, Direction::kDecode, false>();

/// Fails to compile with the reason in words; true otherwise.
template <Problem kProblem>
consteval bool explain() {
  static_assert(kProblem != Problem::kReference,
                "weft cannot encode this type: it holds a reference; hold a value");
  static_assert(kProblem != Problem::kRawPointer,
                "weft cannot encode this type: it has a raw pointer (const char* too); use std::string, "
                "std::string_view, std::optional or std::unique_ptr");
  static_assert(
      kProblem != Problem::kSharedPointer,
      "weft cannot encode this type: it has a shared pointer; use std::unique_ptr or std::optional");
  static_assert(kProblem != Problem::kUnion,
                "weft cannot encode this type: it has a union; use std::variant");
  static_assert(
      kProblem != Problem::kBaseClass,
      "weft cannot encode this type: it has an aggregate with a base class; make the base a field, or "
      "specialise weft::CodecTraits");
  static_assert(
      kProblem != Problem::kTooManyFields,
      "weft cannot encode this type: it has an aggregate with more than 32 fields; group them in nested "
      "structs, or specialise weft::CodecTraits");
  static_assert(kProblem != Problem::kTupleLike,
                "weft cannot encode this type: it has an aggregate with a std::tuple_size of its own; "
                "specialise weft::CodecTraits for it");
  static_assert(
      kProblem != Problem::kFieldWithoutDefault,
      "weft cannot encode this type: it has an aggregate with a field that has no default constructor; give "
      "the field an initializer or a default constructor, or specialise weft::CodecTraits");
  static_assert(
      kProblem != Problem::kUncounted,
      "weft cannot encode this type: it has an aggregate whose fields cannot be counted, as with a field "
      "that "
      "can be neither copied nor initialised by {}, or an id with an explicit constructor beside arrays of "
      "256 elements; specialise weft::CodecTraits for the aggregate");
  static_assert(kProblem != Problem::kBitField,
                "weft cannot encode this type: it has an aggregate with a bit-field; use an integer, or "
                "specialise weft::CodecTraits");
  static_assert(
      kProblem != Problem::kForeignContainer,
      "weft cannot encode this type: it has a class of a container's shape that is not of namespace std and "
      "may have data of its own; if it has none, specialise weft::is_codec_container as true, else "
      "weft::CodecTraits");
  static_assert(
      kProblem != Problem::kPolymorphicPointee,
      "weft cannot encode this type: it has a unique_ptr to a class with virtual functions, which may "
      "point to a derived class whose members would be lost; make the class final, or send a "
      "std::variant of the derived classes");
  static_assert(kProblem != Problem::kOrderWithState,
                "weft cannot decode this type: it has a map or set whose comparison or hash is a function "
                "pointer or "
                "has data of its own, which does not travel; use a class without data, such as std::less<>");
  static_assert(
      kProblem != Problem::kNotAggregate,
      "weft cannot encode this type: it has a class that is not an aggregate (constructors, private or "
      "virtual members) and is no known container; specialise weft::CodecTraits for it");
  static_assert(kProblem != Problem::kWideVariant,
                "weft cannot encode this type: it has a variant of more than 256 alternatives");
  static_assert(
      kProblem != Problem::kCompatibleInside,
      "weft cannot encode this type: weft::Compatible may stand only among the arguments, the results "
      "and the fields of nested structs, not inside a container, an array, an optional, a pointer, a "
      "variant or another Compatible; a result R of these kinds grows beside itself, into "
      "std::tuple<R, weft::Compatible<T>>");
  static_assert(
      kProblem != Problem::kViewOfNotPlain,
      "weft cannot decode this type: a std::span is decoded as a view of the message, so its elements "
      "must be numbers, enums or structs of these without padding; use std::vector");
  static_assert(
      kProblem != Problem::kMutableView,
      "weft cannot decode this type: a decoded view is read-only; use std::span<const T> or std::vector");
  static_assert(kProblem != Problem::kFixedSpan,
                "weft cannot decode this type: a decoded std::span has a dynamic extent; use std::array");
  static_assert(kProblem != Problem::kConst,
                "weft cannot decode this type: it has a const field, or is const itself");
  static_assert(
      kProblem != Problem::kNoDefault,
      "weft cannot decode this type: what is inside a container, an optional or a pointer must be default "
      "constructible");
  static_assert(
      kProblem != Problem::kTraitsLackPart,
      "weft cannot encode this type: its CodecTraits lacks a public static member; it needs Wire, to_wire() "
      "and from_wire(), or kMinEncodedSize, encoded_size(), encode(), decode() and append_schema()");
  return kProblem == Problem::kNone;
}

}  // namespace codec_detail

/// Types that encode_to() takes: numbers, enums, strings, the standard containers, optional, variant, tuple,
/// unique_ptr, durations, Result, aggregates of up to 32 such fields, and types with a CodecTraits.
template <typename T>
concept Encodable = codec_detail::encode_problem<T> == codec_detail::Problem::kNone;

/// Types that decode_from() fills. Views (std::string_view, std::span<const T>) point into the message.
template <typename T>
concept Decodable = codec_detail::decode_problem<T> == codec_detail::Problem::kNone;

}  // namespace weft::detail
