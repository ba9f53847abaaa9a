// SPDX-License-Identifier: Apache-2.0
#include "weft/transport/carrier.hpp"

namespace weft {

Status connection_lost(std::string_view what, int error) {
  Status status = errno_status(Layer::kTransport, what, error);
  if (status.code() == StatusCode::kUnavailable) return status;
  return {StatusCode::kUnavailable, Layer::kTransport, std::string{status.message()}, error};
}

}  // namespace weft
