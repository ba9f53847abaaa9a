// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

#include <utility>

#include "weft/detail/calls/client/call_client.hpp"
#include "weft/detail/calls/client/obey_retry_after.hpp"  // IWYU pragma: export
#include "weft/detail/calls/client/with_retry.hpp"        // IWYU pragma: export
#include "weft/detail/calls/terms/transfer_progress.hpp"
#include "weft/detail/functions/function_caller.hpp"
#include "weft/detail/functions/function_server.hpp"
#include "weft/detail/functions/peer.hpp"
#include "weft/transports.hpp"

namespace weft {

/// Calls functions of one server over one connection: a detail::CallClient that encodes arguments and decodes
/// results with the codec: `Result<R> answer = co_await client.call<f>(arguments...);`. Thread and lifetime:
/// as for detail::CallClient; other threads use blocking(client) or on_loop_of(client).
///
/// A client can serve too: the server may call functions registered before the first call or connect(), over
/// the same connection (CallContext::peer()). Handlers run on the client's loop, within the client's limits,
/// and must not be blocking handlers. The client's destructor destroys coroutines of handlers that are still
/// running, so these must not own a Scope at that time. The loop must outlive every Reply that a handler
/// keeps.
class Client final : public detail::CallClient,
                     public detail::FunctionCaller<Client>,
                     public detail::FunctionServer<Client> {
 public:
  /// Makes the transports that its URL can use, its own ones. `loop` must outlive the client.
  Client(Loop& loop, ClientOptions options, TransportOptions transports = {});
  /// Uses these transports, which may be shared with other clients and servers.
  Client(Loop& loop, ClientOptions options, Transports transports)
      : detail::CallClient(loop, std::move(options), std::move(transports)) {}
};

}  // namespace weft

#pragma GCC diagnostic pop
