// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>

#include "weft/detail/codec/named_schema.hpp"
#include "weft/detail/functions/method.hpp"

namespace weft::detail {

/// Describes the types of a method with the names of fields. Only code that serves methods refers to it, so
/// that callers need not compile the names.
template <typename Arguments, typename Result, typename Reads, typename Writes>
struct DescribedMethod;
template <typename... Args, typename Result, typename Reads, typename Writes>
struct DescribedMethod<TypeList<Args...>, Result, Reads, Writes> {
  /// "(i32, {x: f64, y: f64}) -> (string)", with the items of streams as in StreamSchema::text(), for
  /// MethodDescription::parse(). A result is described as it is declared, not by its parts.
  static std::string text() {
    std::string text;
    if constexpr (!std::is_void_v<Reads>) text = "stream of " + text_of<Reads>() + ", ";
    text += text_of<Args...>() + " -> ";
    if constexpr (std::is_void_v<Result>)
      text += "void";
    else
      text += text_of<Result>();
    if constexpr (!std::is_void_v<Writes>) text += ", stream of " + text_of<Writes>();
    return text;
  }

 private:
  /// The reason why a type cannot be encoded is named where the method is registered.
  template <typename... Ts>
  static std::string text_of() {
    if constexpr ((... && (codec_detail::encode_problem<Ts> == codec_detail::Problem::kNone))) {
      return named_schema_text<Ts...>();
    } else {
      return {};
    }
  }
};

template <typename Traits>
using DescriptionOf = DescribedMethod<typename Traits::Arguments, typename Traits::Result,
                                      typename Traits::Reads, typename Traits::Writes>;

}  // namespace weft::detail
