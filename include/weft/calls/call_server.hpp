// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "weft/base/result.hpp"
#include "weft/calls/server_options.hpp"
#include "weft/calls/transports.hpp"
#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/calls/method_entry.hpp"

namespace weft {

/// Serves registered methods to any number of connections.
/// Life: construct, register, start(), wait() or stop(). All of it from one thread, but for what says
/// otherwise.
class CallServer {
 public:
  CallServer(ServerOptions options, Transports transports);
  /// Stops at once if it still runs.
  ~CallServer();
  CallServer(const CallServer&) = delete;
  CallServer& operator=(const CallServer&) = delete;

  /// The seam for layers above this one, which make entries of their own: everything a handler has, without
  /// the types. `owner` is kept as long as the handler may run. Before start(), which refuses a name that was
  /// registered twice.
  void register_method(const detail::MethodEntry& entry, std::shared_ptr<void> owner = nullptr);

  /// Object that a layer above keeps once for a server, found by the layer's own type; null until the layer
  /// puts something there, and kept as long as the server. Thread: the one that makes the server.
  std::shared_ptr<void>& layer_state(const std::type_info& layer);

  /// Binds, listens and serves in the background; returns when connections are accepted.
  /// Errors: what keeps it from listening, or a mistake in what was registered; nothing runs then, and
  /// start() may be tried again.
  Result<void> start();
  /// Blocks until the server has stopped. Not from a handler.
  void wait();
  /// Ends gracefully: listens no more, tells the clients to go away, lets every call that runs end and its
  /// answer leave, for at most `grace`; what is still open then is ended by force. Returns at once; wait()
  /// waits. A second stop() may shorten the grace of the first. Any thread, also inside a handler.
  void stop(Duration grace = std::chrono::seconds{10});
  /// Everything has ended: nothing of the server runs any more. Any thread.
  bool stopped() const;
  /// start() and wait().
  Result<void> run();

  /// Lets answers' attachments be sent from `memory` without a copy, by those of the server's transports that
  /// can do so; empty where none can. What arrives lands in memory of the transports' own. See MemoryLease
  /// for what to keep to. Any thread. Errors: as Client::register_memory().
  Result<MemoryLease> register_memory(MutableBytes memory) const;

  /// Where it really listens, in the order of the options; valid after start().
  std::vector<std::string> urls() const;
  /// Adds up what each loop and each connection has counted for itself, so it takes the longer the more
  /// connections there are. Any thread, once start() has returned. Throws std::bad_alloc, and has changed
  /// nothing, when there is no memory for the list of methods.
  ServerStats stats() const;

 private:
  class State;
  std::unique_ptr<State> state_;
  detail::ForkMark made_in_;
};

}  // namespace weft
