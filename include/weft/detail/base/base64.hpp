// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "weft/detail/base/bytes.hpp"

/// Base64 as RFC 4648 section 4 has it: the alphabet with '+' and '/', with padding.
namespace weft::detail {

/// Appends `bytes` as base64 to `text`.
void append_base64(std::string& text, Bytes bytes);

/// The number of bytes that `text` encodes; empty if no base64 has its length.
std::optional<std::size_t> base64_decoded_size(std::string_view text);

/// Decodes `text` to `out`, which has base64_decoded_size() bytes. Returns false for a character outside the
/// alphabet and for unused bits that are not zero; then `out` holds anything.
bool decode_base64(std::string_view text, std::byte* out);

}  // namespace weft::detail
