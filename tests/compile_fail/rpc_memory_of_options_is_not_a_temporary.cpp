// SPDX-License-Identifier: Apache-2.0
// LATER: no conversion fits, and notes name the reason
// EXPECT: a_temporary_ends_before_the_call_name_it
#include <cstddef>
#include <vector>

#include "weft/client.hpp"

weft::CallOptions sending(const std::vector<std::byte>& named) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  return {.attachment = named};
#else
  return {.attachment = std::vector<std::byte>(named)};
#endif
}
