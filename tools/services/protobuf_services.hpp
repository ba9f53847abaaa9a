// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/ask.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/coro/task.hpp"

namespace weft {
class Client;
}

namespace weft::services {

/// Services of Protocol Buffers on a server; an interface, because a build may lack protobuf. Errors of all
/// functions: kUnimplemented if the server does not describe services. Thread: the client's loop.
class ProtobufServices {
 public:
  struct Service {
    std::string name;
    /// Its methods that stream, as its .proto declares them.
    std::vector<std::string> streams;
  };

  virtual ~ProtobufServices() = default;
  virtual Task<Result<std::vector<std::string>>> names() = 0;
  virtual Task<Result<std::vector<Service>>> list() = 0;
  virtual Task<Result<std::string>> describe(std::string name) = 0;
  /// Calls `method`, "package.Service/Method", and returns the answer in JSON.
  virtual Task<Result<std::string>> call(std::string method, const Options* options,
                                         CallOptions call_options) = 0;

 protected:
  ProtobufServices() = default;
  ProtobufServices(const ProtobufServices&) = default;
  ProtobufServices& operator=(const ProtobufServices&) = default;
};

/// Returns null in a build without protobuf. `client` outlives the result.
std::unique_ptr<ProtobufServices> protobuf_services(Client& client);

}  // namespace weft::services
