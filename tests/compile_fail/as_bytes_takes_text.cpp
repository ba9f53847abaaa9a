// SPDX-License-Identifier: Apache-2.0
// LATER: the function is deleted, and its words follow as a note
// EXPECT: is_no_text_so_use_std_as_bytes_of_a_std_span
#include <span>
#include <vector>

#include "weft/detail/base/bytes.hpp"

weft::Bytes bytes_of(const std::vector<float>& numbers) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  return std::as_bytes(std::span{numbers});
#else
  return weft::as_bytes(numbers);
#endif
}
