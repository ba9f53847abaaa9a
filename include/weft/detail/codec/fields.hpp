// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "weft/detail/codec/limits.hpp"

/// Reflection of aggregates: the number of their fields, and a visit of all of them at once.
///
/// The number is found by initialising the aggregate with more and more values. visit_fields() takes the
/// fields apart with a structured binding of that many names, which compiles for the right number only. So a
/// wrong number above zero does not compile, and zero is believed of an empty class only: see FieldFault.
namespace weft::detail::codec_detail {

template <typename... Ts>
struct Types {
  static constexpr std::size_t kCount = sizeof...(Ts);
};

struct TypesOf {
  template <typename... Fs>
  constexpr Types<Fs...> operator()(Fs&...) const {
    return {};
  }
};

/// Bodies of conversions that only unevaluated expressions name. They need one: clang++ 19 counts a use of
/// them inside a constructor of the standard library, and warns.
[[noreturn]] inline void never_called() {
  __builtin_unreachable();
}

/// Converts to any type of a field of `T`, also to one without a default constructor or with an explicit one.
template <typename T>
struct AnyField {
  template <typename U>
    requires(!std::is_base_of_v<U, T>)
  operator U() const {
    never_called();
  }
};

/// Converts to references only.
struct AnyReference {
  template <typename U>
  operator U&() const {
    never_called();
  }
};

/// Converts to unions only, also to one without a name.
struct AnyUnion {
  template <typename U>
    requires(std::is_union_v<U>)
  operator U() const {
    never_called();
  }
};

/// Converts to the base classes of `T` only, so that it can initialise the first element of `T` only where
/// that element is a base class.
template <typename T>
struct AnyBaseOf {
  template <typename U>
    requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>)
  operator U() const {
    never_called();
  }
};

/// Initialises a field that is made from anything, and no base class.
struct Nothing {};

template <typename T>
inline constexpr bool has_base_class = requires { T{AnyBaseOf<T>{}}; } && !requires { T{Nothing{}}; };

/// `kInitialise<T, Last...>` says whether `T` can be initialised with `kCount` times `{}`, then a value of
/// each of `Last`. An empty pair of braces never spreads over the elements of an array field.
template <std::size_t kCount>
struct Braces;

// clang-format off
#define WEFT_BRACES(count, ...)                                             \
  template <>                                                               \
  struct Braces<count> {                                                    \
    template <typename T, typename... Last>                                 \
    static constexpr bool kInitialise = requires { T{__VA_ARGS__ Last{}...}; }; \
  };
WEFT_BRACES(0, )
WEFT_BRACES(1, {}, )
WEFT_BRACES(2, {},{}, )
WEFT_BRACES(3, {},{},{}, )
WEFT_BRACES(4, {},{},{},{}, )
WEFT_BRACES(5, {},{},{},{},{}, )
WEFT_BRACES(6, {},{},{},{},{},{}, )
WEFT_BRACES(7, {},{},{},{},{},{},{}, )
WEFT_BRACES(8, {},{},{},{},{},{},{},{}, )
WEFT_BRACES(9, {},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(10, {},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(11, {},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(12, {},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(13, {},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(14, {},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(15, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(16, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(17, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(18, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(19, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(20, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(21, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(22, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(23, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(24, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(25, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(26, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(27, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(28, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(29, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(30, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}, )
WEFT_BRACES(31, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
            {},{}, )
WEFT_BRACES(32, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
            {},{},{}, )
WEFT_BRACES(33, {},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
            {},{},{},{}, )
#undef WEFT_BRACES
// clang-format on

/// The most `{}` that `T` can be initialised with, at least `kLow` and less than `kHigh`.
template <typename T, std::size_t kLow = 0, std::size_t kHigh = CodecLimits::kFieldsMax + 2>
consteval std::size_t count_braces() {
  constexpr std::size_t kMiddle = (kLow + kHigh) / 2;
  if constexpr (kHigh - kLow == 1)
    return kLow;
  else if constexpr (Braces<kMiddle>::template kInitialise<T>)
    return count_braces<T, kMiddle, kHigh>();
  else
    return count_braces<T, kLow, kMiddle>();
}

/// Counts the fields of an aggregate with a field that `{}` cannot initialise: one whose default constructor
/// is explicit. AnyField can, but AnyFields without braces spread over the elements of an array field, a slot
/// each.
template <typename T>
class SlotCount {
 public:
  /// Zero when the fields cannot be counted.
  static consteval std::size_t fields() { return walk<0>(); }
  /// Says whether a reference with an initializer follows the slots.
  static consteval bool has_reference() { return has_reference(std::make_index_sequence<kSlots>{}); }
  /// Says whether one of the slots is a union.
  static consteval bool has_union() { return has_union(std::make_index_sequence<kSlots>{}); }

 private:
  /// Slots are searched up to this number, and up to the one that an object of this size can have.
  static constexpr std::size_t kSlotsMax =
      sizeof(T) < CodecLimits::kSlotsMax ? sizeof(T) + 1 : CodecLimits::kSlotsMax;

  template <std::size_t>
  using Any = AnyField<T>;
  template <std::size_t... kBefore>
  static consteval bool flat(std::index_sequence<kBefore...>) {
    return requires { T{Any<kBefore>{}...}; };
  }
  template <std::size_t... kBefore, std::size_t... kInside, std::size_t... kAfter>
  static consteval bool nested(std::index_sequence<kBefore...>, std::index_sequence<kInside...>,
                               std::index_sequence<kAfter...>) {
    return requires { T{Any<kBefore>{}..., {Any<kInside>{}...}, Any<kAfter>{}...}; };
  }
  template <std::size_t kBefore, std::size_t kInside, std::size_t kAfter>
  static constexpr bool kNested =
      nested(std::make_index_sequence<kBefore>{}, std::make_index_sequence<kInside>{},
             std::make_index_sequence<kAfter>{});

  /// The most slots. Those up to the last one that needs a value are too few, so the search has two parts.
  template <std::size_t kCount, bool kEnough>
  static consteval std::size_t count_slots() {
    constexpr bool kFits = flat(std::make_index_sequence<kCount>{});
    if constexpr (kEnough && !kFits)
      return kCount - 1;
    else if constexpr (kCount == kSlotsMax)
      return 0;
    else
      return count_slots<kCount + 1, kFits>();
  }
  static constexpr std::size_t kSlots = count_slots<0, false>();

  template <std::size_t... kBefore>
  static consteval bool has_reference(std::index_sequence<kBefore...>) {
    return kSlots != 0 && requires { T{Any<kBefore>{}..., AnyReference{}}; };
  }
  template <std::size_t... kBefore, std::size_t... kAfter>
  static consteval bool is_union(std::index_sequence<kBefore...>, std::index_sequence<kAfter...>) {
    return requires { T{Any<kBefore>{}..., AnyUnion{}, Any<kAfter>{}...}; } &&
           !requires { T{Any<kBefore>{}..., Nothing{}, Any<kAfter>{}...}; };
  }
  template <std::size_t... kPlaces>
  static consteval bool has_union(std::index_sequence<kPlaces...>) {
    return (... ||
            is_union(std::make_index_sequence<kPlaces>{}, std::make_index_sequence<kSlots - kPlaces - 1>{}));
  }

  /// The number of slots of the field whose first slot is `kSlot`: as many as one pair of braces replaces.
  template <std::size_t kSlot, std::size_t kWidth = 1>
  static consteval std::size_t width() {
    constexpr std::size_t kAfter = kSlots - kSlot - kWidth;
    if constexpr (kNested<kSlot, 0, kAfter>)
      return kWidth;
    else if constexpr (kNested<kSlot, kWidth, kAfter> && !kNested<kSlot, kWidth, kAfter + 1>)
      return kWidth;
    else if constexpr (kAfter == 0)
      return 1;
    else
      return width<kSlot, kWidth + 1>();
  }
  template <std::size_t kSlot>
  static consteval std::size_t walk() {
    if constexpr (kSlot >= kSlots)
      return 0;
    else
      return 1 + walk<kSlot + width<kSlot>()>();
  }
};

/// Says whether a field cannot be initialised by `{}`: one without an initializer, or the first with one.
template <typename T>
consteval bool needs_slots() {
  if constexpr (!requires { T{}; }) {
    return true;
  } else {
    constexpr std::size_t kCount = count_braces<T>();
    return kCount <= CodecLimits::kFieldsMax && Braces<kCount>::template kInitialise<T, AnyField<T>>;
  }
}

template <typename T>
consteval std::size_t count_fields() {
  if constexpr (needs_slots<T>())
    return SlotCount<T>::fields();
  else
    return count_braces<T>();
}

/// The number of fields of the aggregate `T`; means something where field_fault<T> is kNone only.
template <typename T>
inline constexpr std::size_t field_count = count_fields<std::remove_cv_t<T>>();

/// Given instead of the fields where a reference cannot be bound to them: a bit-field.
struct NotBound {};

/// Calls `visit(field...)` with all fields of `value` and returns its result. TypesOf gets NotBound for
/// bit-fields.
template <typename T, typename F>
constexpr decltype(auto) visit_fields(T& value, F&& visit) {
  constexpr std::size_t kCount = field_count<T>;
  constexpr bool kAsksForTypes = std::is_same_v<std::remove_cvref_t<F>, TypesOf>;
  static_assert(kCount <= CodecLimits::kFieldsMax);
  // clang-format off
#define WEFT_VISIT(count, ...)                                              \
  else if constexpr (kCount == count) {                                     \
    auto& [__VA_ARGS__] = value;                                            \
    if constexpr (!kAsksForTypes) return visit(__VA_ARGS__);                \
    else if constexpr (requires { visit(__VA_ARGS__); }) return visit(__VA_ARGS__); \
    else return NotBound{};                                                 \
  }
  if constexpr (kCount == 0) return visit();
  WEFT_VISIT(1, a)
  WEFT_VISIT(2, a, b)
  WEFT_VISIT(3, a, b, c)
  WEFT_VISIT(4, a, b, c, d)
  WEFT_VISIT(5, a, b, c, d, e)
  WEFT_VISIT(6, a, b, c, d, e, f)
  WEFT_VISIT(7, a, b, c, d, e, f, g)
  WEFT_VISIT(8, a, b, c, d, e, f, g, h)
  WEFT_VISIT(9, a, b, c, d, e, f, g, h, i)
  WEFT_VISIT(10, a, b, c, d, e, f, g, h, i, j)
  WEFT_VISIT(11, a, b, c, d, e, f, g, h, i, j, k)
  WEFT_VISIT(12, a, b, c, d, e, f, g, h, i, j, k, l)
  WEFT_VISIT(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  WEFT_VISIT(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  WEFT_VISIT(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  WEFT_VISIT(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  WEFT_VISIT(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  WEFT_VISIT(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  WEFT_VISIT(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  WEFT_VISIT(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  WEFT_VISIT(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
  WEFT_VISIT(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
  WEFT_VISIT(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
  WEFT_VISIT(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
  WEFT_VISIT(25, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y)
  WEFT_VISIT(26, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z)
  WEFT_VISIT(27, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa)
  WEFT_VISIT(28, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb)
  WEFT_VISIT(29, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc)
  WEFT_VISIT(30, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb,
              cc, dd)
  WEFT_VISIT(31, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb,
              cc, dd, ee)
  WEFT_VISIT(32, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb,
              cc, dd, ee, ff)
#undef WEFT_VISIT
  // clang-format on
}

/// Reason for which an aggregate's fields are not known.
enum class FieldFault : unsigned char {
  kNone,
  kBaseClass,
  kTupleLike,
  kNoDefault,
  kReference,
  kUncounted,
  kTooMany,
  kUnion,
  kBitField,
};

/// Looks for a union, which a structured binding refuses where it has no name.
template <typename T, std::size_t... kBefore>
consteval bool has_union(std::index_sequence<kBefore...>) {
  if constexpr (needs_slots<T>())
    return SlotCount<T>::has_union();
  else
    return (... || (Braces<kBefore>::template kInitialise<T, AnyUnion> &&
                    !Braces<kBefore>::template kInitialise<T, Nothing>));
}

/// Looks for a reference behind the `kCount` fields that were counted.
template <typename T, std::size_t kCount>
consteval bool has_reference() {
  if constexpr (needs_slots<T>())
    return SlotCount<T>::has_reference();
  else
    return Braces<kCount>::template kInitialise<T, AnyReference>;
}

template <typename T>
consteval FieldFault find_field_fault() {
  if constexpr (requires { std::tuple_size<T>::value; }) {
    return FieldFault::kTupleLike;
  } else if constexpr (has_base_class<T>) {
    return FieldFault::kBaseClass;
  } else if constexpr (!requires { T{}; } && !std::is_default_constructible_v<T>) {
    return FieldFault::kNoDefault;
  } else {
    constexpr std::size_t kCount = field_count<T>;
    if constexpr (kCount > CodecLimits::kFieldsMax)
      return FieldFault::kTooMany;
    else if constexpr (has_reference<T, kCount>())
      return FieldFault::kReference;
    else if constexpr (kCount == 0)
      return std::is_empty_v<T> ? FieldFault::kNone : FieldFault::kUncounted;
    else if constexpr (has_union<T>(std::make_index_sequence<kCount>{}))
      return FieldFault::kUnion;
    else if constexpr (std::is_same_v<decltype(visit_fields(std::declval<T&>(), TypesOf{})), NotBound>)
      return FieldFault::kBitField;
    else
      return FieldFault::kNone;
  }
}
/// Fault of the aggregate `T`. Its fields may be counted and visited only where this is kNone.
template <typename T>
inline constexpr FieldFault field_fault = find_field_fault<std::remove_cv_t<T>>();

}  // namespace weft::detail::codec_detail
