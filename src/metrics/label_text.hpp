// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weft::detail {

/// Appends `value` as both formats write it between the quotation marks of a label: valid UTF-8, with
/// backslashes before backslashes, quotation marks and line ends. Each byte that is not UTF-8 becomes U+FFFD.
void add_label_text(std::string& text, std::string_view value);

}  // namespace weft::detail
