// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/requirements.hpp"

namespace weft::detail {

#ifdef _GLIBCXX_DEBUG
const char compiled_with_GLIBCXX_DEBUG_as_the_weft_library_was_not = 0;
#else
const char compiled_without_GLIBCXX_DEBUG_as_the_weft_library_was_not = 0;
#endif

}  // namespace weft::detail
