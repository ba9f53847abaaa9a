// SPDX-License-Identifier: Apache-2.0
// The list of carriers. A new one is a file of its own and a line here, before the last: that one is what a
// connection is compared with when the command line asks for none.
#include "info/carrier_facts.hpp"
#include "info/rdma/carrier.hpp"
#include "info/stream_carrier.hpp"
#include "info/ucx/carrier.hpp"

namespace weft::info {

Carriers all_carriers() {
  Carriers carriers;
  carriers.push_back(stream_carrier());
  carriers.push_back(rdma_carrier());
  carriers.push_back(ucx_carrier());
  return carriers;
}

}  // namespace weft::info
