// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/grpcpp.h>

#include "payload.grpc.pb.h"

namespace weft::neighbours {

/// The streams of gRPC's server. Each reactor owns itself until its stream is done.

/// Sends numbered items until the client cancels.
grpc::ServerWriteReactor<Payload>* send_items(const ItemsWanted& wanted);

/// Counts the intact items until the client has written all. `taken` is gRPC's, and lives as long as the
/// stream.
grpc::ServerReadReactor<Payload>* take_items(Taken& taken);

/// Sends each item back before it reads the next.
grpc::ServerBidiReactor<Payload, Payload>* echo_items();

}  // namespace weft::neighbours
