// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weft/detail/base/time.hpp"

namespace weft::detail::grpc {

/// Returns the time in a `grpc-timeout`: one to eight digits and a unit, H, M, S, m, u or n. Empty for any
/// other text.
std::optional<Duration> parse_timeout(std::string_view text) noexcept;

/// Appends a `grpc-message`: `text` with each byte outside of printable ASCII, and '%', as %XX.
void append_percent_encoded(std::string& to, std::string_view text);

/// Returns true for a content type of gRPC, with messages of Protocol Buffers or of a format that is not
/// named.
bool is_grpc_content(std::string_view content_type) noexcept;

/// Returns true if `key` may be a field of metadata: lower-case letters, digits, '-', '_' and '.', and no
/// name that gRPC or HTTP/2 reserves.
bool is_metadata_key(std::string_view key) noexcept;
/// Returns true if `value` may be sent as it is: printable ASCII without a space at its ends.
bool is_plain_value(std::string_view value) noexcept;
/// Returns true if the values of `key` are any bytes, which travel as base64.
constexpr bool is_binary_key(std::string_view key) noexcept {
  return key.ends_with("-bin");
}

/// Decodes base64 with or without padding to `to`. Returns false if `text` is no base64.
bool decode_binary_value(std::string_view text, std::string& to);

}  // namespace weft::detail::grpc
