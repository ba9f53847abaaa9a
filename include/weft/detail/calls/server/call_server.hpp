// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/server/loop_state_kind.hpp"
#include "weft/detail/calls/server/peer_board.hpp"
#include "weft/detail/calls/server/server_options.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/calls/terms/transports.hpp"
#include "weft/detail/runtime/loop_state.hpp"

namespace weft::detail {

/// Serves registered methods to any number of connections. Lifetime: construct, register, start(), then
/// wait() or stop(). All functions are called from one thread, except where stated.
class CallServer {
 public:
  CallServer(ServerOptions options, Transports transports);
  /// Stops at once if it still runs, and then waits as wait() does. Joins the server's threads, so a handler
  /// must not destroy the server.
  ~CallServer();
  CallServer(const CallServer&) = delete;
  CallServer& operator=(const CallServer&) = delete;

  /// The seam for layers above this one, which make entries of their own: everything a handler has, without
  /// the types. `owner` is kept as long as the handler may run. Call it before start(), which refuses a name
  /// that was registered twice.
  void register_method(const MethodEntry& entry, std::shared_ptr<void> owner = nullptr);
  /// The same for a method of the library itself. It is registered after the methods of the user, so that it
  /// does not change the order of their counters.
  void register_last(const MethodEntry& entry, std::shared_ptr<void> owner);
  /// The registered methods, without the methods of register_last(). The list does not change after start(),
  /// so handlers may read it.
  const std::vector<MethodEntry>& methods() const;
  /// Returns ServerOptions::describe_functions.
  bool describes_functions() const;

  /// Keeps a `T` for each loop: a client of other servers, a cache, a queue of a device. On that loop's
  /// thread, inside a turn, it is created before the server serves, and destroyed after the last handler has
  /// ended there, also when start() fails or the server is destroyed without a stop(). Code of the loop, such
  /// as a handler, finds it by loop_state<T>().
  ///
  /// `factory(Loop&)` returns a T, which need not be movable, a std::unique_ptr<T>, a Result of either, or a
  /// Task of any of these. It is called for one loop after the other, never concurrently, and belongs to the
  /// server. Its exception or failure is the failure of start(). The states of a loop are created in the
  /// order of these calls, and may use loop_state() for earlier ones; they end in the opposite order.
  ///
  /// A `T` that is a Poller is polled in its loop's turns from its creation until its end, and does not add
  /// itself. A `T` with `Task<void> close()`, which must not throw, is closed before it is destroyed: there
  /// it joins its spawned tasks. A close() that does not end delays the server's end. A loop has one state of
  /// a type: start() fails with kAlreadyExists otherwise. Call it before start().
  template <typename T, typename Factory>
  void per_loop(Factory factory) {
    static_assert(LoopStateFactory<Factory, T>,
                  "weft cannot keep this for each loop: the factory takes a weft::Loop&, and returns a T, a "
                  "std::unique_ptr<T>, a Result of one of these, or a Task of any of them");
    if constexpr (LoopStateFactory<Factory, T>) {
      add_loop_state(std::make_unique<LoopStateKindOf<T, Factory>>(std::move(factory)));
    }
  }
  /// The same with `T(Loop&)` for a factory.
  template <typename T>
  void per_loop() {
    per_loop<T>([](Loop& loop) { return std::make_unique<T>(loop); });
  }

  /// Object that a layer above keeps once for a server, found by the layer's own type; null until the layer
  /// puts something there, and kept as long as the server. Thread: the one that makes the server.
  std::shared_ptr<void>& layer_state(const std::type_info& layer);

  /// The seam for layers above this one: hooks for peers, see Server::on_peers(), before start(); and the
  /// connected peers, see Server::peers().
  void set_peer_hooks(PeerVisit connected, PeerVisit gone);
  const std::shared_ptr<PeerBoard>& peer_board() const;

  /// Binds, listens and serves in the background; returns when connections are accepted. Errors: a failure to
  /// listen, or a mistake in a registration; nothing runs then, and start() may be tried again.
  /// kFailedPrecondition, without an effect, when the server was started before, or is being started.
  Result<void> start();
  /// Blocks until the server has stopped; returns at once before start(), during it and after the end. While
  /// the server runs, a handler and other code on the server's threads must not call it.
  void wait();
  /// Ends gracefully: stops listening, sends a goaway to the clients, lets every running call end and its
  /// answer leave, for at most `grace`; connections that are still open then are closed by force. A client
  /// whose loop does not turn does not react, so its connection stays open for all of that time. Returns at
  /// once; wait() waits. A second stop() may shorten the grace of the first; after the end it has no effect.
  /// A stop() before or during start() is kept: start() then returns ok and the server ends right away, with
  /// the shortest grace that was given. The log names a handler that is still running 1 s after the grace,
  /// and wait() names the method that a loop took last when that loop has not turned for 1 s. Thread: any,
  /// also inside a handler.
  void stop(Duration grace = std::chrono::seconds{10});
  /// Everything has ended: nothing of the server runs any more. Thread: any.
  bool stopped() const;
  /// start() and wait().
  Result<void> run();

  /// Lets attachments of answers be sent from `memory` without a copy, by the server's transports that
  /// support it; empty if none does. Received data lands in memory of the transports. See MemoryLease for the
  /// rules. Thread: any. Errors: as for Client::register_memory().
  Result<MemoryLease> register_memory(MutableBytes memory) const;

  /// Returns where it really listens, in the order of the options; valid after start().
  std::vector<std::string> urls() const;
  /// Sums the counters of all loops and connections, so its cost grows with the number of connections.
  /// Thread: any, once start() has returned. Throws std::bad_alloc when there is no memory for the list of
  /// methods.
  ServerStats stats() const;

 private:
  void add_loop_state(std::unique_ptr<LoopStateKind> kind);

  class State;
  const std::shared_ptr<PeerBoard> peers_;
  std::unique_ptr<State> state_;
  ForkMark made_in_;
};

}  // namespace weft::detail
