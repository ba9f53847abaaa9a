// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/service.h>

#include "weft/detail/fleet/fleet_client.hpp"
#include "weft/detail/protobuf/channel.hpp"

namespace weft::protobuf {

/// Channel for protobuf's own stubs over the servers of a fleet. The documentation of Channel applies, and
/// each call goes to one of the servers, to another where a fleet would try again, and to a second one where
/// it would make a backup. A method is idempotent by its idempotency_level in the .proto, or by the
/// CallOptions of its Controller.
class FleetChannel final : public google::protobuf::RpcChannel {
 public:
  /// `fleet` outlives the channel, and its loop the calls. `options` are those of each call, but for
  /// `options.call`, in whose place a Controller's options are when the call has one.
  explicit FleetChannel(FleetClient& fleet, const FleetCallOptions& options = {});

  void CallMethod(const google::protobuf::MethodDescriptor* method,
                  google::protobuf::RpcController* controller, const google::protobuf::Message* request,
                  google::protobuf::Message* response, google::protobuf::Closure* done) override {
    channel_.CallMethod(method, controller, request, response, done);
  }

 private:
  Channel channel_;
};

}  // namespace weft::protobuf
