// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

#include <cstdint>
#include <memory>

namespace weft {

namespace detail {
class Protocol;
}  // namespace detail

/// Options for gRPC. Options that make no sense are refused by Server::start() with kInvalidArgument, which
/// names the option.
struct GrpcOptions {
  /// Calls that a client may have in flight on one connection; further ones wait in the client, or are
  /// refused before they run. Above zero; more than 8192 have the effect of 8192.
  std::uint32_t calls_in_flight_max = 1024;
  /// Largest headers of a request in bytes, with 32 for each field; a request with larger ones is refused
  /// with kResourceExhausted. Above zero.
  std::uint32_t header_bytes_max = 16 * 1024;
};

/// Returns gRPC over HTTP/2 for ServerOptions::protocols: methods of services of Protocol Buffers are called
/// in the clear, by clients that know that the server speaks HTTP/2, and over TLS (`h2` by ALPN). See
/// docs/guide/grpc.md.
std::shared_ptr<const detail::Protocol> grpc(GrpcOptions options = {});

}  // namespace weft

#pragma GCC diagnostic pop
