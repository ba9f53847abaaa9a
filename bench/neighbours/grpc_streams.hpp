// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>

#include "load/options.hpp"
#include "neighbours/grpc_shared.hpp"

namespace weft::neighbours {

/// One stream of gRPC's client, whose items count until the measurement is over. It ends by itself, which
/// `Shared::end_one()` says; until then it must not be destroyed.
class ClientStream {
 public:
  virtual ~ClientStream() = default;
  virtual void start() = 0;
};

/// A stream of the way that `options` ask for. `may_wait`: the side that sends items without end may keep
/// them back, to send more at once. `first_tag` makes items that the client writes differ from those of other
/// streams.
std::unique_ptr<ClientStream> make_stream(const std::shared_ptr<grpc::Channel>& channel, Shared& shared,
                                          const load::ClientOptions& options, bool may_wait,
                                          std::uint64_t first_tag);

}  // namespace weft::neighbours
