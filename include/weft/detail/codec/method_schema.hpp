// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// MethodKey::schema, from the hashes of the types of a method: schema_hash().
namespace weft::detail {

/// Hash of the items of a direction without a stream.
inline constexpr std::uint64_t kNoItemsHash = 1;

/// `results` is the hash of the types that result_types() returns.
constexpr std::uint32_t method_schema(std::uint64_t arguments, std::uint64_t results) {
  const std::uint64_t mixed = (arguments ^ (results * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
  return static_cast<std::uint32_t>(mixed >> 32);
}

/// The same for a method with a stream: `items_in` follow the request, `items_out` come before the answer.
constexpr std::uint32_t stream_schema(std::uint32_t method, std::uint64_t items_in, std::uint64_t items_out) {
  const std::uint64_t mixed = (items_in * 0x9e3779b97f4a7c15u) ^ (items_out * 0xbf58476d1ce4e5b9u);
  return method ^ static_cast<std::uint32_t>(mixed >> 32) ^ 0x73747265u;
}

}  // namespace weft::detail
