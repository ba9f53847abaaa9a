// SPDX-License-Identifier: Apache-2.0
#include "unit/verbs/pair.hpp"

namespace weft::verbs::testing {

Driver& driver() {
  return system_driver();
}

}  // namespace weft::verbs::testing
