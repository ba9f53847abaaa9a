// SPDX-License-Identifier: Apache-2.0
// LATER: no conversion fits, and notes name the reason
// EXPECT: needs_bytes_as_of_std_as_bytes_or_a_list_of_weft_bytes
#include <span>
#include <vector>

#include "weft/client.hpp"

void name(weft::CallOptions& options, const std::vector<int>& numbers) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  options.attachment = std::as_bytes(std::span{numbers});
#else
  options.attachment = numbers;
#endif
}
