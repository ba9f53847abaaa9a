// SPDX-License-Identifier: Apache-2.0
#include "services/protobuf_services.hpp"

namespace weft::services {

std::unique_ptr<ProtobufServices> protobuf_services(Client&) {
  return nullptr;
}

}  // namespace weft::services
