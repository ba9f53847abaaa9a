// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weft/detail/base/status.hpp"

namespace weft::detail::http {

/// Reason phrase of an HTTP status, such as "Not Found"; empty for a number that this build does not use.
std::string_view reason_phrase(int status) noexcept;

/// HTTP status of a code, by the mapping that google.rpc.Code publishes: kOk is 200, kNotFound is 404.
int http_status_of(StatusCode code) noexcept;

/// Code for an HTTP status that came without one. http_status_of() of the result is the given status again if
/// that mapping has it. Other successes become kOk, other failures of the client kFailedPrecondition, and the
/// rest kUnknown.
StatusCode status_code_of(int http_status) noexcept;

}  // namespace weft::detail::http
