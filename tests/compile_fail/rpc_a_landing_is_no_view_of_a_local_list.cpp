// SPDX-License-Identifier: Apache-2.0
// LATER: no conversion fits, and notes name the reason
// EXPECT: a_temporary_ends_before_the_call_name_it
#include <vector>

#include "weft/client.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
weft::LandingView landing(const std::vector<weft::MutableBytes>& places) {
#else
weft::LandingView landing(std::vector<weft::MutableBytes> places) {
#endif
  return places;
}
