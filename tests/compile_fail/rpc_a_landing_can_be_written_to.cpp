// SPDX-License-Identifier: Apache-2.0
// LATER: no conversion fits, and notes name the reason
// EXPECT: needs_memory_to_write_to_or_a_list_of_weft_mutable_bytes
#include <cstddef>
#include <vector>

#include "weft/client.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
void name(weft::CallOptions& options, std::vector<std::byte>& memory) {
#else
void name(weft::CallOptions& options, const std::vector<std::byte>& memory) {
#endif
  options.landing = memory;
}
