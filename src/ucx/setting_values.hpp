// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace weft::ucx::detail {

/// Returns, in UCX's words, the valid values of its setting `name` (without "UCX_") when `value` is invalid;
/// empty when it is valid or this is unknown. UCX 1.13 checks settings of transports only when it opens the
/// transport; then it logs the fault and uses its own value. Loads the transports' modules.
std::string misfit(const std::string& name, const std::string& value);

/// Returns UCX's default value of a setting, as UCX prints it; none for an unknown name. Loads the
/// transports' modules.
std::optional<std::string> usual_value(const std::string& name);

}  // namespace weft::ucx::detail
