// SPDX-License-Identifier: Apache-2.0
#include "support/rdma_devices.hpp"
#include "support/simulated_rdma.hpp"

namespace weft::testing {

// Time passes at once: as on real devices, what nobody answers fails by itself.
verbs::Driver& rdma_devices() {
  struct Devices {
    Devices() { rdma.expire_retries_at_once(true); }
    SimulatedRdma rdma{{roce_device("simulated0", 1)}};
  };
  static Devices devices;
  return devices.rdma;
}

}  // namespace weft::testing
