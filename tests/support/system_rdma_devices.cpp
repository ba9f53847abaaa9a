// SPDX-License-Identifier: Apache-2.0
#include "support/rdma_devices.hpp"

namespace weft::testing {

verbs::Driver& rdma_devices() {
  return verbs::system_driver();
}

}  // namespace weft::testing
