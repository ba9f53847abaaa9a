// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "weft/detail/base/time.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft {

/// Faults of one direction of a connection in memory. Counts are in bytes since the connection was made.
struct MemoryFaults {
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  /// One receive brings at most this much; 0 = no bound.
  std::size_t receive_bytes_max = 0;
  /// Time by which sent bytes arrive later, by the receiving loop's clock.
  Duration delay{};
  /// The connection breaks, for both sides, once this much was sent; the receiver still gets it.
  std::uint64_t cut_after = kNever;
  /// The receiver sees the end of the byte stream after this much; the rest is swallowed.
  std::uint64_t half_close_after = kNever;
  /// Everything after this much is swallowed, the end too: the sender falls silent without knowing it.
  std::uint64_t drop_after = kNever;
};

struct MemoryOptions {
  /// Bytes that may be on their way in one direction.
  std::size_t pipe_bytes = 64 * 1024;
  /// Value for Capabilities: a simulated network has peers that vanish, and needs the pings against that.
  bool peer_may_vanish = false;
  MemoryFaults to_server{};
  MemoryFaults to_client{};
};

/// The transport of memory://name, inside one process: the same frames over two pipes, with faults at will.
/// Listeners are known by their names within one MemoryNetwork. The ends of a connection may belong to
/// different loops. Connections may outlive the network; listeners must not.
class MemoryNetwork final : public detail::Transport {
 public:
  explicit MemoryNetwork(const MemoryOptions& options = {});
  ~MemoryNetwork() override;

  /// Makes a transport of the network that each process has: its listeners are reached from all others that
  /// this made.
  static std::unique_ptr<MemoryNetwork> of_process();

  /// Sets those for connections that are made from now on. Thread: any.
  void set_options(const MemoryOptions& options);

  bool handles(std::string_view scheme) const override { return scheme == "memory"; }
  /// Errors: kAlreadyExists if a listener has that name.
  Result<std::unique_ptr<detail::Listener>> listen(Loop& loop, const detail::Url& url) override;
  /// Completes at once. Errors: kUnavailable (ECONNREFUSED) if no listener has that name.
  Task<Result<std::unique_ptr<detail::Connection>>> connect(Loop& loop, detail::Url url,
                                                            detail::ConnectOptions options) override;

  class Impl;

 private:
  explicit MemoryNetwork(std::shared_ptr<Impl> impl);

  std::shared_ptr<Impl> impl_;
};

}  // namespace weft
