// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "weft/base/log.hpp"
#include "weft/base/unique_function.hpp"
#include "weft/rpc/handler.hpp"
#include "weft/rpc/limits.hpp"
#include "weft/rpc/rejection.hpp"
#include "weft/rpc/transports.hpp"
#include "weft/runtime/loop.hpp"

namespace weft {

/// Options that make no sense are refused by start() with kInvalidArgument, which names the option.
struct ServerOptions {
  /// Where to listen; port 0 is replaced by one the system chooses, see RpcServer::urls().
  std::vector<std::string> listen{};
  /// Loops, each with a thread of its own, over which connections are spread. Zero: no threads; the server
  /// runs on `loop`, which the user drives, and which is null otherwise.
  unsigned threads = 1;
  Loop* loop = nullptr;
  /// CPUs to pin the loops' threads to, in order; empty: not pinned.
  std::vector<int> cpus{};
  /// How each loop waits.
  LoopOptions loop_options{};
  /// Threads for handlers declared blocking; started with the server if there is such a handler, and then
  /// above zero.
  unsigned worker_threads = 4;
  /// Blocking calls that may wait for a worker; one more is refused with kResourceExhausted. Above zero if
  /// there is a blocking handler.
  std::size_t worker_queue_max = 4096;
  /// Asked for every new peer, by its endpoint's URL, on the first loop; false turns it away. Empty: all
  /// welcome.
  UniqueFunction<bool(std::string_view remote_endpoint)> accept{};
  /// Connections open at the same time; one more is closed at once. Above zero.
  std::size_t connections_max = 100'000;
  /// Require checksums on every frame.
  bool checksums = false;
  RpcLimits limits{};
  Logger* logger = nullptr;
};

/// Counters of a server since it was started, over all its loops.
struct ServerStats {
  std::uint64_t connections_accepted = 0;
  std::uint64_t connections_refused = 0;
  std::size_t connections = 0;        ///< open now
  std::uint64_t calls = 0;            ///< requests taken
  std::size_t calls_running = 0;      ///< handlers that have not ended
  RejectionCounts rejected;           ///< what was rejected, by its reason
  std::uint64_t calls_refused = 0;    ///< of these, calls: unknown method, wrong schema, over a limit ...
  std::uint64_t protocol_errors = 0;  ///< of these, connections closed for what their peer sent
};

/// Serves registered functions to any number of connections.
/// Life: construct, register_handler..., start(), wait() or stop(). All of it from one thread, stop() from
/// any, also from inside a handler.
class RpcServer {
 public:
  /// `transports` must outlive the server.
  RpcServer(const TransportSet& transports, ServerOptions options);
  /// Stops at once if it still runs.
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  /// Registers free functions, each one `f`, `method<f, "key">` or a template's specialisation, all with the
  /// same options: `register_handler<add, multiply>()`. Before start(), which refuses a name that was
  /// registered twice.
  template <auto... M>
    requires(sizeof...(M) > 0 && (Handler<M> && ...))
  void register_handler(const HandlerOptions& options = {}) {
    (register_function<M>(options), ...);
  }
  /// Registers member functions with their object, which must outlive the server:
  /// `register_handler<&Store::get, &Store::put>(&store)`.
  template <auto... M, typename Object>
    requires(sizeof...(M) > 0 && (Handler<M> && ...))
  void register_handler(Object* object, const HandlerOptions& options = {}) {
    (register_member<M>(object, options), ...);
  }

  /// Registers a lambda or another function object under a name, for clients that call
  /// `weft::remote<"name", R(Arguments...)>`. The server owns it, and calls it from the threads of all its
  /// loops. A coroutine may use its captures: it does not outlive the server.
  template <typename F>
  void register_handler(std::string name, F&& function, const HandlerOptions& options = {}) {
    using Function = std::remove_cvref_t<F>;
    static_assert(FunctionObject<F>,
                  "weft cannot serve this handler: it takes a lambda or an object with one function call "
                  "operator, without `auto` among its parameters; for a function write "
                  "register_handler<weft::method<function, \"name\">>()");
    if constexpr (FunctionObject<F>) {
      auto owned =
          std::make_shared<detail::OwnedHandler<Function>>(std::move(name), std::forward<F>(function));
      using Handler = detail::HandlerOf<&Function::operator()>;
      add(Handler::named_entry(owned->name, &owned->function, options), owned);
    }
  }

  /// The seam for layers above this one, which make entries of their own: everything a handler has, without
  /// the codec. `owner` is kept as long as the handler may run. Before start().
  void register_method(const MethodEntry& entry, std::shared_ptr<void> owner = nullptr) {
    add(entry, std::move(owner));
  }

  /// Object that a layer above keeps once for a server, found by the layer's own type; null until the layer
  /// puts something there, and kept as long as the server. Thread: the one that makes the server.
  std::shared_ptr<void>& part_of(const std::type_info& layer);

  /// Binds, listens and serves in the background; returns when connections are accepted.
  /// Errors: what keeps it from listening, or a mistake in what was registered; nothing runs then, and
  /// start() may be tried again.
  Result<void> start();
  /// Blocks until the server has stopped. Not from a handler.
  void wait();
  /// Ends gracefully: listens no more, tells the clients to go away, lets every call that runs end and its
  /// answer leave, for at most `grace`; what is still open then is ended by force. Returns at once; wait()
  /// waits. A second stop() may shorten the grace of the first.
  void stop(Duration grace = std::chrono::seconds{10});
  /// Everything has ended: nothing of the server runs any more. Any thread.
  bool stopped() const;
  /// start() and wait().
  Result<void> run();

  /// Lets answers' attachments be sent from `memory` without a copy, by those of the server's transports that
  /// can do so; empty where none can. What arrives lands in memory of the transports' own. See MemoryLease
  /// for what to keep to. Any thread. Errors: as RpcClient::register_memory().
  Result<MemoryLease> register_memory(MutableBytes memory) const;

  /// Where it really listens, in the order of the options; valid after start().
  std::vector<std::string> urls() const;
  ServerStats stats() const;

 private:
  template <auto M>
  void register_function(const HandlerOptions& options) {
    static_assert(FreeHandler<M>,
                  "weft cannot serve this handler: a member function is registered with its object, as in "
                  "register_handler<&T::function>(&object)");
    if constexpr (FreeHandler<M>) add(detail::HandlerOf<M>::entry(nullptr, options));
  }
  template <auto M, typename Object>
  void register_member(Object* object, const HandlerOptions& options) {
    static_assert(MemberHandlerOf<M, Object>,
                  "weft cannot serve this handler: it is no member function of this object's class, or the "
                  "object is const and the function is not");
    if constexpr (MemberHandlerOf<M, Object>) {
      using Declared = typename detail::MethodTraits<M>::Object;
      add(detail::HandlerOf<M>::entry(
          const_cast<std::remove_const_t<Declared>*>(static_cast<Declared*>(object)), options));
    }
  }

  /// `owner` is kept as long as the handler may run.
  void add(MethodEntry entry, std::shared_ptr<void> owner = nullptr);

  class State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
