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

/// A client for programs without a loop: it runs one on a thread of its own, and its calls block the threads
/// that make them. `weft::BlockingClient client{{.connect = "tcp://host:port"}}; auto answer =
/// client.call<f>(x);`
///
/// It connects at the first call. Where the system gives no loop or thread, every call fails with the reason.
/// It serves weft::blocking(client, stop_token) and weft::on_loop_of(client) too. Threads: any for its calls,
/// any number at a time; none of them may still be making one when it is destroyed, while those that wait
/// elsewhere for a call, such as a BlockingCall, get kCancelled. In a child of fork it does nothing.
///
/// It serves as a Client does: what is registered before the first call, on any thread but its own, the
/// server calls. Handlers run on the client's own thread, and hold up its calls as long as they do not
/// return. A Reply that one passed on is used or dropped before the client ends.
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
