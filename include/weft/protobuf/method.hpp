// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "weft/detail/calls/method_key.hpp"

namespace weft::protobuf {

namespace detail {

constexpr std::uint32_t schema_of(std::string_view input, std::string_view output) {
  const std::uint64_t mixed = (weft::detail::hash_name(input) * 0x9e3779b97f4a7c15u) ^
                              (weft::detail::hash_name(output) * 0xff51afd7ed558ccdu);
  return static_cast<std::uint32_t>(mixed >> 32);
}
/// "protobuf demo.EchoRequest -> demo.EchoResponse".
std::string schema_text(const weft::detail::MethodKey& self);

}  // namespace detail

/// The key of a service's method: its id is made of the full name, "package.Service/Method", and its schema
/// of the full names of its two messages, so that a call with other messages is refused and says so.
/// `idempotent`: its idempotency_level in the .proto is NO_SIDE_EFFECTS or IDEMPOTENT. The views live as long
/// as the key and its copies: literals in generated code, a Descriptor's own strings elsewhere.
constexpr weft::detail::MethodKey make_method(std::string_view name, std::string_view input,
                                              std::string_view output, bool idempotent = false) {
  return {weft::detail::hash_name(name),
          detail::schema_of(input, output),
          name,
          &detail::schema_text,
          input,
          output,
          false,
          idempotent};
}

}  // namespace weft::protobuf
