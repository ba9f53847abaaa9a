// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/describe/description.hpp"

/// Messages of the codec to JSON and back, by a description of their types. docs/internals/describe.md has
/// the rules for each type.
namespace weft::detail {

/// Limits for JSON texts and messages, and both may come from a peer.
struct JsonBounds {
  /// Values within values, which bounds the stack: at most 221 KB were measured to read, 119 KB to write.
  static constexpr unsigned kDepthMax = 512;
  /// Bytes of text or of a message that are made, unless the caller says otherwise.
  static constexpr std::size_t kOutputBytesMax = std::size_t{64} << 20;
};

/// Replaces `out` by the JSON of `message`, which is a message of `types`. Errors: kInvalidArgument if it is
/// none, kResourceExhausted if the text is longer than `bytes_max`; then `out` holds a part of the text.
Status to_json(const TypeDescription& types, Bytes message, std::string& out,
               std::size_t bytes_max = JsonBounds::kOutputBytesMax);

/// Replaces `out` by the message of `types` that `json` stands for: from what to_json() wrote, the same
/// bytes. Beside `out` it takes up to 20 bytes of memory for each byte of `json`, about 4 for usual text.
/// Errors: kInvalidArgument for text that is no JSON, and with the place ("arguments[0].to.x: ...") for a
/// value that does not fit its type; kResourceExhausted if the message is longer than `bytes_max`.
Status from_json(const TypeDescription& types, std::string_view json, std::vector<std::byte>& out,
                 std::size_t bytes_max = JsonBounds::kOutputBytesMax);

/// Appends `text` to `out` as a string of JSON. Each byte that belongs to no UTF-8 character becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace weft::detail
