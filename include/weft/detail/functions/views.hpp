// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>

#include "weft/detail/codec/check.hpp"
#include "weft/detail/coro/owned_argument.hpp"

namespace weft::detail {

using codec_detail::Kind;

/// Returns true if `Question` is true for one of the types.
template <template <typename, typename...> typename Question, typename... Seen>
struct InAny {
  template <typename... Parts>
  static consteval bool of(codec_detail::Types<Parts...>) {
    return (Question<std::remove_cv_t<Parts>, Seen...>::answer() || ...);
  }
};

/// Returns the types inside `T` for the codec; none if there are none, or if they are hidden.
template <typename T>
consteval auto parts_of() {
  constexpr Kind kKind = codec_detail::kind_of<T>;
  if constexpr (kKind == Kind::kAggregate) {
    if constexpr (std::is_union_v<T> || codec_detail::field_fault<T> != codec_detail::FieldFault::kNone) {
      return codec_detail::Types<>{};  // the codec refuses it
    } else {
      return codec_detail::members_of<T>{};
    }
  } else if constexpr (kKind == Kind::kTuple) {
    return codec_detail::members_of<T>{};
  } else if constexpr (kKind == Kind::kArray) {
    return codec_detail::Types<typename codec_detail::ArrayOf<T>::Element>{};
  } else if constexpr (kKind == Kind::kMap) {
    return codec_detail::Types<typename T::key_type, typename T::mapped_type>{};
  } else if constexpr (kKind == Kind::kVariant) {
    return typename codec_detail::AlternativesOf<T>::type{};
  } else if constexpr (kKind == Kind::kUnique) {
    return codec_detail::Types<typename T::element_type>{};
  } else if constexpr (kKind == Kind::kSequence || kKind == Kind::kSet || kKind == Kind::kView ||
                       kKind == Kind::kOptional || kKind == Kind::kResult || kKind == Kind::kExpected ||
                       kKind == Kind::kCompatible) {
    if constexpr (std::is_void_v<typename T::value_type>) {
      return codec_detail::Types<>{};
    } else {
      return codec_detail::Types<typename T::value_type>{};
    }
  } else {
    return codec_detail::Types<>{};
  }
}

/// Tells whether a value of `T` is a view, or holds one somewhere. Recursive types end at one that is `Seen`.
template <typename T, typename... Seen>
struct HoldsView {
  static consteval bool answer() {
    constexpr Kind kKind = codec_detail::kind_of<T>;
    if constexpr ((std::is_same_v<T, Seen> || ...)) {
      return false;
    } else if constexpr (kKind == Kind::kView || (kKind == Kind::kText && std::is_trivially_copyable_v<T>)) {
      return true;
    } else if constexpr (decltype(parts_of<T>())::kCount == 0) {
      return is_view<T>;  // a view of the user's own says so
    } else {
      return InAny<weft::detail::HoldsView, T, Seen...>::of(parts_of<T>());
    }
  }
};

/// True if a view could refer to memory that a value of `T` owns, and that ends with the value. A number owns
/// only itself, and is not viewed. A container of views owns its nodes, which are not visible from outside;
/// the memory of its views belongs to another object.
template <typename T, typename... Seen>
struct OwnsMemory {
  static consteval bool answer() {
    constexpr Kind kKind = codec_detail::kind_of<T>;
    constexpr bool kIsItsParts = kKind == Kind::kAggregate || kKind == Kind::kTuple ||
                                 kKind == Kind::kOptional || kKind == Kind::kVariant;
    if constexpr ((std::is_same_v<T, Seen> || ...) || kKind == Kind::kView) {
      return false;
    } else if constexpr (kIsItsParts || HoldsView<T>::answer()) {
      return InAny<weft::detail::OwnsMemory, T, Seen...>::of(parts_of<T>());
    } else {
      return kKind == Kind::kArray || !std::is_trivially_copyable_v<T>;
    }
  }
};

/// True if memory of a value of `T` may be released by another object during the value's lifetime: it comes
/// from an allocator with state, such as an arena's, or its owner is unknown.
template <typename T, typename... Seen>
struct BorrowsMemory {
  static consteval bool answer() {
    constexpr Kind kKind = codec_detail::kind_of<T>;
    if constexpr ((std::is_same_v<T, Seen> || ...)) {
      return false;
    } else if constexpr (requires { typename T::allocator_type; }) {
      return !std::allocator_traits<typename T::allocator_type>::is_always_equal::value ||
             InAny<weft::detail::BorrowsMemory, T, Seen...>::of(parts_of<T>());
    } else if constexpr (kKind == Kind::kText || kKind == Kind::kSequence || kKind == Kind::kMap ||
                         kKind == Kind::kSet) {
      return true;
    } else if constexpr (kKind == Kind::kUnique) {
      return !std::is_same_v<typename T::deleter_type, std::default_delete<typename T::element_type>> ||
             InAny<weft::detail::BorrowsMemory, T, Seen...>::of(parts_of<T>());
    } else {
      return InAny<weft::detail::BorrowsMemory, T, Seen...>::of(parts_of<T>());
    }
  }
};

template <typename T>
inline constexpr bool holds_view = HoldsView<std::remove_cvref_t<T>>::answer();
template <typename T>
inline constexpr bool owns_memory = OwnsMemory<std::remove_cvref_t<T>>::answer();
template <typename T>
inline constexpr bool borrows_memory = BorrowsMemory<std::remove_cvref_t<T>>::answer();

}  // namespace weft::detail
