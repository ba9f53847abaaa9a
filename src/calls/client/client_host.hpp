// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "calls/calls_host.hpp"
#include "calls/method_table.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/limits.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

/// State behind the sessions of a client: the methods that it serves, if any, and the calls of them that run.
///
///   registering --prepare(), before the first connection--> serving --end(), no call runs--> (gone)
///                                                             |
///                                                             '--end()--> held by a Reply --> (gone)
///
/// At its client's end the coroutines of its handlers are destroyed, so that nothing of the user's is used
/// afterwards; a Reply that somebody keeps may still be used, and dropped, before the loop ends. Thread: the
/// loop's, but add(), which comes before it has anything to do.
class ClientHost final {
 public:
  struct End {
    void operator()(ClientHost* host) const noexcept { host->end(); }
  };

  /// `call_timeout` is that of calls to the server as a peer. `misuse` is what is wrong with the client's
  /// options. Throws std::bad_alloc.
  static std::unique_ptr<ClientHost, End> make(Loop& loop, const RpcLimits& limits, Duration call_timeout,
                                               Status misuse);
  ClientHost(const ClientHost&) = delete;
  ClientHost& operator=(const ClientHost&) = delete;

  /// Called before prepare().
  void add(const MethodEntry& entry, std::shared_ptr<void> owner);
  /// Makes the table of methods, once. Gives the mistake in the options or in what was registered, if there
  /// is one.
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
