// SPDX-License-Identifier: Apache-2.0
#include "weft/rpc/transports.hpp"

#include <string>

namespace weft {

Result<Transport*> TransportSet::find(const Url& url) const {
  for (const auto& transport : transports_) {
    if (transport->handles(url.scheme)) return transport.get();
  }
  return Status{
      StatusCode::kInvalidArgument, Layer::kRpc,
      "no transport for '" + url.to_string() + "': this program has none for '" + url.scheme + "://'"};
}

}  // namespace weft
