// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/call/caller.hpp"
#include "weft/detail/calls/client/client_options.hpp"
#include "weft/detail/calls/terms/transports.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/connection.hpp"

namespace weft::detail {

class ClientCore;
struct MethodEntry;

/// Calls methods of one server over one connection, which is created at the first call, and again after it
/// was lost. Any number of calls may be in flight; they are answered in any order, and none waits for
/// another. Thread: the loop's, destructor included; elsewhere the process aborts with a message. It may be
/// created on any thread, and destroyed on any while no thread runs the loop. Destroying it ends its calls
/// with kCancelled. It may be closed and destroyed inside any callback, including a handler that its own
/// connection serves.
class CallClient : public Caller {
 public:
  /// `loop` must outlive the client.
  CallClient(Loop& loop, ClientOptions options, Transports transports);
  ~CallClient();
  CallClient(const CallClient&) = delete;
  CallClient& operator=(const CallClient&) = delete;

  /// The seam for layers above this one, as CallServer::register_method(): lets the server call methods of
  /// this client, over the connection that the client made. Handlers run on the client's loop. Call it before
  /// the first call or connect(); a mistake in a registration fails every call, as an option does. `owner` is
  /// kept as long as the handler may run.
  void register_method(const MethodEntry& entry, std::shared_ptr<void> owner = nullptr);

  /// Connects without calling anything. Errors: as a first call's.
  Task<Result<void>> connect();
  /// Ends the client's calls with kCancelled and closes the connection. Later calls fail.
  void close();

  /// Lets attachments of this client's calls be sent from `memory`, and attachments of answers land in it
  /// (CallOptions::landing), without a copy, if its transport supports that; returns an empty lease
  /// otherwise. See MemoryLease for the rules. Errors: kResourceExhausted when the system does not allow so
  /// large an area to be pinned (the text has advice).
  Result<MemoryLease> register_memory(MutableBytes memory) const;

  bool connected() const;
  /// Endpoints of the present connection, empty without one.
  std::string local_endpoint() const;
  std::string remote_endpoint() const;
  /// Name of the carrier of the present connection: "tcp", "unix", "memory", "ucx" or "verbs"; empty
  /// without one.
  std::string_view carried_by() const;
  /// Describes the carrier in use, or the reason why it is the base carrier although both sides offered
  /// another; the client's logger gets the latter as a warning too, at most once a second. Empty without a
  /// connection.
  CarrierReport carrier_report() const;
  /// Allocates nothing.
  ClientStats stats() const noexcept;

 private:
  struct CoreEnd {
    void operator()(ClientCore* core) const noexcept;
  };
  std::unique_ptr<ClientCore, CoreEnd> core_;
};

}  // namespace weft::detail
