// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace weft::ucx::detail {

/// Says in UCX's words which values its setting `name` (without "UCX_") takes, when `value` is none of
/// them; empty when it is one, or when nobody knows. UCX 1.13 checks settings of transports only when it
/// opens the transport; then it logs the fault and goes on with its own value. Loads the transports'
/// modules.
std::string misfit(const std::string& name, const std::string& value);

/// Returns the value that UCX uses for a setting that nobody set, as UCX prints it; none for a name that is
/// no setting. Loads the transports' modules.
std::optional<std::string> usual_value(const std::string& name);

}  // namespace weft::ucx::detail
