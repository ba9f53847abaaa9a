// SPDX-License-Identifier: Apache-2.0
#include "weft/weft.hpp"

namespace weft {

TransportSet make_transports(TransportOptions options) {
  TransportSet transports;
  transports.add(make_tcp_transport(std::move(options.tcp)));
  return transports;
}

}  // namespace weft
