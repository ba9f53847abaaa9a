// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "stats/pages.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::stats {

/// Returns the pages as lines and a table for people. Errors: kDataLoss if a page is not as expected.
Result<std::string> table_of(const Pages& pages);
/// Returns one object of JSON with a member for each page.
std::string json_of(const Pages& pages);

}  // namespace weft::stats
