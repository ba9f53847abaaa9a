// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weft::testing {

/// Is declared here and defined nowhere in the client's program: a declaration is all that a call needs.
std::string only_declared(std::string_view text, int times);

}  // namespace weft::testing
