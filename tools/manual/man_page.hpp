// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "manual/table.hpp"

namespace weft::manual {

/// "weft-perf-client" for "perf client".
std::string page_name(const CommandRow& command);
/// Returns the page of the manual about `command`, in roff.
std::string man_page(const CommandRow& command, const std::string& version);

}  // namespace weft::manual
