// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Places in a JSON text, for messages: "arguments[0].to.x". Names from peers are made safe for terminals.
namespace weft::detail {

/// Appends a member of that name.
void append_member(std::string& path, std::string_view name);
/// Appends the value of a key of a map: '["key"]'.
void append_key(std::string& path, std::string_view key);
void append_element(std::string& path, std::uint64_t place);

}  // namespace weft::detail
