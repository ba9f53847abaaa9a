// SPDX-License-Identifier: Apache-2.0
#include "weft/protobuf/service.hpp"

namespace weft::protobuf {

class Services::Reflected {};

Services::Services(RpcServer& server, const ServicesOptions&) : server_(server) {}

Services::~Services() = default;

void Services::add(Service& service, const HandlerOptions& options) {
  MethodList methods{server_, options};
  service.add_methods(methods);
}

}  // namespace weft::protobuf
