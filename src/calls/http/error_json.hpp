// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "weft/detail/base/status.hpp"

namespace weft::detail::http {

/// Appends `text` as a JSON string, with its quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// Returns the JSON that tells a caller about `failure`: its code and message, whether to try again and when,
/// and whether the call has certainly not run.
std::string error_json(const Status& failure);

}  // namespace weft::detail::http
