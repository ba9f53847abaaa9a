// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace weft::ucx::detail {

/// What a value of UCX's setting `name` (without "UCX_") has to be, in UCX's words, when `value` is none;
/// empty when it is one, or nobody knows. UCX 1.13 finds out about transports' settings only when it opens
/// the transport, says so in its log, and goes on with its own value. The transports' modules are loaded.
std::string misfit(const std::string& name, const std::string& value);

/// What UCX has a setting at when nobody says anything; none for a name that is no setting. The transports'
/// modules are loaded.
std::optional<std::string> usual_value(const std::string& name);

}  // namespace weft::ucx::detail
