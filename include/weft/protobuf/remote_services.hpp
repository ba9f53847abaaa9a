// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/base/result.hpp"
#include "weft/calls/call_client.hpp"
#include "weft/calls/call_options.hpp"
#include "weft/coro/task.hpp"

namespace weft::protobuf {

/// The services of a server that this program was not compiled for, as the server's reflection describes
/// them; what it was told is kept. Errors of all: a call's; kUnimplemented when the server has no reflection.
/// Thread: the client's loop.
class RemoteServices {
 public:
  /// `client` outlives it.
  explicit RemoteServices(Caller& client);
  ~RemoteServices();
  RemoteServices(const RemoteServices&) = delete;
  RemoteServices& operator=(const RemoteServices&) = delete;

  /// The full names of all services, sorted.
  Task<Result<std::vector<std::string>>> list();
  /// The definition of a service with its messages, of a message or of an enum, as it would stand in a
  /// .proto; of a method (package.Service/Method) with its messages. Errors: kNotFound.
  Task<Result<std::string>> describe(std::string name);
  /// Calls `method`, "package.Service/Method", with a request in JSON; gives the answer in JSON.
  /// Errors: kNotFound for the method, with the names of those there are; kInvalidArgument for JSON that is
  /// none or no such request, with the place.
  Task<Result<std::string>> call(std::string method, std::string json, CallOptions options = {});

 private:
  class Known;

  Task<Result<std::string>> describe_method(std::string service, std::string method);
  Task<Result<void>> learn(const std::string* name, const CallOptions* options);

  Caller& client_;
  std::unique_ptr<Known> known_;
};

}  // namespace weft::protobuf
