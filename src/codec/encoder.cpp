// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/codec/encoder.hpp"

#include <stdexcept>

namespace weft::detail {

void throw_size_changed() {
  throw std::logic_error{
      "the size of a value changed between measuring and writing: its CodecTraits count another number of "
      "bytes than they write, or other code changed it meanwhile"};
}

}  // namespace weft::detail
