// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/status.hpp"

namespace weft::detail {

enum class JsonKind : std::uint8_t {
  kNull,
  kFalse,
  kTrue,
  kUnsigned,  ///< an integer that is not negative
  kNegative,  ///< an integer with a minus; -0 too
  kNumber,    ///< any other number
  kString,
  kArray,
  kObject,
};

/// A value of a JSON text, or the name of a member.
struct JsonToken {
  JsonKind kind;
  /// Bytes of a string or a number; elements of an array; members of an object.
  std::uint32_t size;
  /// An integer; where a string or a number begins in the texts; the token behind an array or object.
  std::uint64_t value;
};
static_assert(sizeof(JsonToken) == 16);

/// A JSON text as a list of its tokens: the tokens inside an array or object follow its own token, which
/// has the place of their end. So members can be read in any order and skipped in one step.
class JsonTokens {
 public:
  static constexpr std::size_t kTextBytesMax = 0xFFFF'FFFF;

  /// Reads `text`, which is strict JSON in UTF-8. Errors: kInvalidArgument; the message begins with the
  /// place, for which `title` is the name of the whole.
  Status parse(std::string_view text, std::string_view title);

  const JsonToken& operator[](std::uint32_t at) const { return tokens_[at]; }
  /// The text of a string, unescaped, or of a kNumber.
  std::string_view text(const JsonToken& token) const {
    return std::string_view{texts_}.substr(token.value, token.size);
  }
  /// The token behind the value at `at`.
  std::uint32_t after(std::uint32_t at) const {
    const JsonToken& token = tokens_[at];
    return token.kind < JsonKind::kArray ? at + 1 : static_cast<std::uint32_t>(token.value);
  }

 private:
  friend class JsonTokenizer;

  std::vector<JsonToken> tokens_;
  std::string texts_;
};

}  // namespace weft::detail
