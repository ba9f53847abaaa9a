// SPDX-License-Identifier: Apache-2.0
// LATER: no conversion fits, and notes name the reason
// EXPECT: a_temporary_ends_before_the_call_name_it
#include <vector>

#include "weft/client.hpp"

void name(weft::CallOptions& options, weft::Bytes one, weft::Bytes other) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  const std::vector<weft::Bytes> runs{one, other};
  options.attachment = runs;
#else
  options.attachment = std::vector<weft::Bytes>{one, other};
#endif
}
