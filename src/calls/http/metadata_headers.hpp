// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/terms/metadata.hpp"

namespace weft::detail::http {

/// Adds the pair of a request header to `metadata`: the header "Weft-Meta-<key>" has the pair `<key>`, and
/// Authorization and Traceparent have pairs of their own names. Other headers have none. `name` is in lower
/// case. Errors: kInvalidArgument if Authorization or Traceparent is repeated, or if the value of a key that
/// ends with "-bin" is no base64; and as Metadata::add().
Result<void> add_metadata_header(Metadata& metadata, std::string_view name, std::string_view value);

/// Appends a line "Weft-Meta-<key>: <value>" to `lines` for each of `pairs`; values of keys that end with
/// "-bin" in base64. Fails with kInternal, and `lines` unchanged, for a pair that a header would change: its
/// key is no token, or its value has a control byte or begins or ends with a space. Throws std::bad_alloc.
Status append_metadata_headers(std::string& lines, MetadataView pairs);

}  // namespace weft::detail::http
