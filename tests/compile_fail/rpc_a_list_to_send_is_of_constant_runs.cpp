// SPDX-License-Identifier: Apache-2.0
// LATER: no conversion fits, and notes name the reason
// EXPECT: needs_bytes_as_of_std_as_bytes_or_a_list_of_weft_bytes
#include <vector>

#include "weft/client.hpp"

void name(weft::CallOptions& options, const std::vector<weft::MutableBytes>& places) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  static const std::vector<weft::Bytes> runs{places.begin(), places.end()};
  options.attachment = runs;
#else
  options.attachment = places;
#endif
}
