// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/result.hpp"

namespace weft::detail {

/// One line of a file of rules or tokens that says something.
struct Line {
  std::size_t number = 0;
  /// One word or more; each is a part of the text, without its quotes.
  std::vector<std::string_view> words{};
};

/// Failure of line `number`.
Status wrong_line(std::size_t number, const std::string& why);

/// Cuts a text into the words of its lines, without comments, quoting with double quotes. Errors:
/// kInvalidArgument for a quote that does not end, or control characters. Throws std::bad_alloc.
Result<std::vector<Line>> lines_of(std::string_view text);

/// Refuses a file's text whose last line is not ended: it may be a part of the file, and a part of a rule or
/// a token may mean more than the whole. Errors: kInvalidArgument, with the line's number.
Result<void> check_ended(std::string_view text);

}  // namespace weft::detail
