// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "calls/gate/method_table.hpp"
#include "calls/serve/calls_host.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/terms/limits.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

/// State behind the sessions of a client: the methods that it serves, if any, and their running calls.
///
///   registering --prepare(), before the first connection--> serving --end(), no call runs--> (gone)
///                                                             |
///                                                             '--end()--> held by a Reply --> (gone)
///
/// At its client's end the coroutines of its handlers are destroyed, so that no object of the user's is
/// accessed afterwards; a Reply that is kept elsewhere may still be used, and dropped, before the loop ends.
/// Thread: the loop's, except for add(), which must be called before any call is served.
class ClientHost final {
 public:
  struct End {
    void operator()(ClientHost* host) const noexcept { host->end(); }
  };

  /// `call_timeout` is the default of calls to the server as a peer. `misuse` is the error in the client's
  /// options, if any. Throws std::bad_alloc.
  static std::unique_ptr<ClientHost, End> make(Loop& loop, const RpcLimits& limits, Duration call_timeout,
                                               Status misuse);
  ClientHost(const ClientHost&) = delete;
  ClientHost& operator=(const ClientHost&) = delete;

  /// Called before prepare().
  void add(const MethodEntry& entry, std::shared_ptr<void> owner);
  /// Makes the table of methods, once. Returns the error in the options or in the registered methods, if
  /// there is one.
  const Status& prepare();

  CallsHost& calls() noexcept { return calls_; }
  const CallsHost& calls() const noexcept { return calls_; }

 private:
  ClientHost(Loop& loop, Status misuse) : loop_(loop), misuse_(std::move(misuse)) {}
  ~ClientHost() = default;

  void end() noexcept;
  Status build();

  Loop& loop_;
  std::vector<MethodEntry> entries_;
  std::vector<std::shared_ptr<void>> owned_handlers_;
  MethodTable methods_;
  CallsHost calls_;
  Status misuse_;
  const Status no_memory_ = Status::of<kOutOfMemory>();
  bool prepared_ = false;
};

using OwnedClientHost = std::unique_ptr<ClientHost, ClientHost::End>;

}  // namespace weft::detail
