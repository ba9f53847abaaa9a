// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/requirements.hpp"
// A class that is never destroyed through its base has a protected destructor, which g++ takes for accessible
// if the class has friends.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"

#include <memory>
#include <stop_token>

#include "weft/client.hpp"
#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/functions/blocking.hpp"
#include "weft/detail/functions/function_server.hpp"
#include "weft/detail/runtime/loop_thread.hpp"

namespace weft {

/// A client for programs without a loop. It runs a loop on its own thread, and its calls block the calling
/// threads: `weft::BlockingClient client{{.connect = "tcp://host:port"}}; auto answer = client.call<f>(x);`
///
/// The client connects at the first call. If the system cannot create a loop or a thread, every call fails
/// with that error. weft::blocking(client, stop_token) and weft::on_loop_of(client) accept this client too.
/// Threads: any thread may call, concurrently with others. No thread may be inside a call when the client is
/// destroyed; calls awaited elsewhere, such as a BlockingCall, end with kCancelled. In a child of fork it
/// does nothing.
///
/// Like a Client it can serve: the server may call the functions that were registered before the first call.
/// Register them on any thread except the client's own. Handlers run on the client's thread and block its
/// calls until they return. A Reply that a handler passed on must be used or dropped before the client is
/// destroyed. A handler may destroy the client; the client's thread then ends after its turn.
class BlockingClient final : public detail::BlockingCalls<BlockingClient>,
                             public detail::FunctionServer<BlockingClient> {
 public:
  explicit BlockingClient(ClientOptions options, LoopThreadOptions thread = {});
  /// Uses these transports, which may be shared with other clients and servers.
  BlockingClient(ClientOptions options, Transports transports, LoopThreadOptions thread = {});
  ~BlockingClient();
  BlockingClient(const BlockingClient&) = delete;
  BlockingClient& operator=(const BlockingClient&) = delete;

  /// Does as detail::CallClient::register_method(), from another thread than the client's own. Throws
  /// std::bad_alloc.
  void register_method(const detail::MethodEntry& entry, std::shared_ptr<void> owner = nullptr);

  /// The seam for BlockingCalls.
  const std::shared_ptr<detail::CallDoor>& door() const noexcept { return door_; }
  std::stop_token stop() const noexcept { return {}; }

 private:
  std::unique_ptr<LoopThread> thread_;
  std::unique_ptr<Client> client_;
  std::shared_ptr<detail::CallDoor> door_;
  detail::ForkMark made_in_;
};

}  // namespace weft

#pragma GCC diagnostic pop
