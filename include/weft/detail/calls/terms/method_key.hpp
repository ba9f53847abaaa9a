// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::detail {

/// Identity of a method on the wire, and its name in errors. One per method: a constant for a function,
/// made at run time for methods that are not known before; it outlives its calls and its server.
struct MethodKey {
  std::uint64_t id;
  std::uint32_t schema;
  std::string_view name;
  /// Given the key itself, for those whose types are not in the function's own type.
  std::string (*schema_text)(const MethodKey& self);
  /// Names of the types of its argument and its result, where these are known by name.
  std::string_view takes{};
  std::string_view gives{};
  /// Its handler chooses where the attachment of a request lands, so a large one waits to be asked for.
  bool chooses_landing = false;
  /// The caller says that running it twice does what running it once does.
  bool idempotent = false;
  /// Its calls are streams: items follow the request, or come before the answer.
  bool streams = false;
};

/// FNV-1a, 64 bits.
constexpr std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace weft::detail
