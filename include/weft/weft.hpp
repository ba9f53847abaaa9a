// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "weft/coro/combine.hpp"
#include "weft/coro/scope.hpp"
#include "weft/functions/client.hpp"
#include "weft/functions/server.hpp"
#include "weft/runtime/loop.hpp"
#include "weft/runtime/loop_thread.hpp"
#include "weft/runtime/sleep.hpp"
#include "weft/runtime/with_deadline.hpp"
#include "weft/transport/tcp.hpp"
#include "weft/transport/ucx.hpp"
#include "weft/transport/verbs.hpp"

namespace weft {

/// The transports of this build, each with its defaults, or with what is given here.
struct TransportOptions {
  TcpOptions tcp{};
  /// Of ucx:// URLs. In a build without UCX those fail, with a status that says so.
  UcxOptions ucx{};
  /// Of verbs:// URLs. In a build without libibverbs those fail, with a status that says so.
  VerbsOptions verbs{};
};
TransportSet make_transports(TransportOptions options = {});

namespace detail {
/// Holds the transports, so that a base which is destroyed after its user keeps them alive.
struct OwnTransports {
  explicit OwnTransports(TransportOptions options) : transports(make_transports(std::move(options))) {}
  TransportSet transports;
};
}  // namespace detail

/// An RpcServer with all transports of this build: the one most programs want.
class Server : private detail::OwnTransports, public RpcServer {
 public:
  explicit Server(ServerOptions options, TransportOptions transport_options = {})
      : OwnTransports(std::move(transport_options)), RpcServer(transports, std::move(options)) {}
};

/// An RpcClient with all transports of this build, which most programs want. Each Client owns its
/// transports. To share them among many clients, create several RpcClients over one make_transports(); over
/// RDMA and UCX they then share their memory too.
class Client : private detail::OwnTransports, public RpcClient {
 public:
  Client(Loop& loop, ClientOptions options, TransportOptions transport_options = {})
      : OwnTransports(std::move(transport_options)), RpcClient(loop, transports, std::move(options)) {}
};

}  // namespace weft
