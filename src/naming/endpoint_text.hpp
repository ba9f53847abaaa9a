// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/naming/endpoint.hpp"

namespace weft::detail {

/// The failure of a name, an answer or an option that means nothing.
Status bad_name(std::string_view message);
/// Reads `URL [weight=N] [zone=Z]`. Errors: kInvalidArgument says which part is wrong.
Result<Endpoint> parse_endpoint(std::string_view text);
/// Errors: kInvalidArgument for what parse_endpoint() could not read back.
Result<void> check_endpoint(const Endpoint& endpoint);
std::string to_text(const Endpoint& endpoint);
/// Reads a file's text: an endpoint a line. An unended last line is an error, for the file may be a part.
/// Errors: kInvalidArgument names the line; kResourceExhausted for more than `endpoints_max`.
Result<std::vector<Endpoint>> parse_lines(std::string_view text, std::size_t endpoints_max);

}  // namespace weft::detail
