// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "weft/detail/verbs/address_info.hpp"
#include "weft/detail/verbs/completion_queue.hpp"
#include "weft/detail/verbs/device_queue_pair.hpp"
#include "weft/detail/verbs/posted.hpp"
#include "weft/detail/verbs/shared_receive_queue.hpp"
#include "weft/detail/verbs/way.hpp"

namespace weft::verbs {

namespace detail {

struct Send {
  using Value = void;
  static constexpr std::string_view kWhat = "a send";
};
struct Write {
  using Value = void;
  static constexpr std::string_view kWhat = "a remote write";
};
struct Read {
  using Value = void;
  static constexpr std::string_view kWhat = "a remote read";
};
struct Atomic {
  using Value = std::uint64_t;
  static constexpr std::string_view kWhat = "a remote atomic";
  static std::uint64_t result(const Outcome& outcome) noexcept { return outcome.old_value; }
};

}  // namespace detail

struct QueuePairOptions {
  std::uint8_t port = 1;
  /// The place of our GID in the port's table; best_gid() chooses when there is none.
  std::optional<std::uint8_t> gid_index{};
  /// Work requests under way at a time; more wait for room.
  std::size_t sends_max = 32;
  std::size_t receives_max = 32;
  /// Pieces of memory in one work request.
  std::size_t segments_max = 4;
  /// Number of bytes up to which data is copied into the work request, which saves the device a read. The
  /// device may grant less; inline_bytes_max() says how much.
  std::size_t inline_bytes = 256;
  /// Taken from instead of receives of its own. Of the same completion queue; outlives the queue pair.
  SharedReceiveQueue* shared_receives = nullptr;
  /// Access of peers to our memory through this queue pair, where the regions allow it too.
  Access access{.remote_read = true, .remote_write = true, .remote_atomic = true};
};

/// Packet options. Each side chooses its own, except the MTU: the smaller of both is used.
struct ConnectOptions {
  std::uint8_t hop_limit = 64;
  std::uint8_t traffic_class = 0;
  std::uint8_t service_level = 0;
  std::uint16_t partition_index = 0;
  /// Timeout and retry count for an unanswered packet: it is sent again after 4.096 us * 2^ack_timeout, up to
  /// the retry count. 14 and 6 give up after half a second.
  std::uint8_t ack_timeout = 14;
  std::uint8_t retries = 6;
  /// Number of retries of a message for which the peer has no receive, and the delay that peers should use
  /// for us (the InfiniBand code; 12 is 0.64 ms). 7, which means without limit, is refused.
  std::uint8_t receiver_not_ready_retries = 6;
  std::uint8_t receiver_not_ready_timer = 12;
  /// Reads and atomics under way at a time, each way; the device may have less.
  std::uint8_t reads_max = 16;
};

/// Transition of a queue pair to its next state, as computed by its caller.
struct Transition {
  ibv_qp_attr attributes{};
  int mask = 0;
};

/// A reliable connection (RC) to one other queue pair.
///
///   made (receives can be posted) --connect()--> connected --an operation failed, fail()--> failed
///
/// In the failed state every operation ends with kUnavailable; create a new queue pair. The destructor ends
/// all operations that the device has not completed with kUnavailable or as cancelled, and returns all
/// memory, because a destroyed queue pair accesses no memory. Destroy it before its completion queue, and not
/// inside a CompletionHandler. Thread: the loop's.
class QueuePair final {
  struct Private {
    explicit Private() = default;
  };
  struct SendQueue;
  struct ReceiveQueue;

 public:
  /// Errors: kResourceExhausted when the completion queue has no room for as many work requests,
  /// kUnavailable when the port is not active, kInvalidArgument for what the device does not grant.
  static Result<std::unique_ptr<QueuePair>> create(std::shared_ptr<ProtectionDomain> domain,
                                                   CompletionQueue& completions,
                                                   const QueuePairOptions& options = {});
  QueuePair(Private, std::shared_ptr<ProtectionDomain> domain, CompletionQueue& completions,
            const QueuePairOptions& options);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  ibv_qp* handle() const noexcept { return device_.handle(); }
  std::uint32_t number() const noexcept { return handle()->qp_num; }
  std::uint8_t port() const noexcept { return device_.port(); }
  CompletionQueue& completions() const noexcept { return completions_; }
  std::size_t inline_bytes_max() const noexcept { return device_.inline_bytes_max(); }
  /// Sends, writes, reads and atomics that the device has.
  std::size_t sends_posted() const noexcept;
  std::size_t receives_posted() const noexcept;

  /// Returns the address that the peer's connect() takes.
  const AddressInfo& address() const noexcept { return device_.address(); }
  /// Connects to the queue pair at `peer`, which must connect to this one. On Ethernet this blocks for up to
  /// a second while the kernel resolves the route; a loop with other work resolves way_to() on another thread
  /// first. Errors: kInvalidArgument for impossible options or a peer on another kind of network,
  /// kFailedPrecondition when already connected or failed, kUnavailable when the peer's address does not
  /// answer.
  Status connect(const AddressInfo& peer, const ConnectOptions& options = {}) {
    return device_.connect(peer, options);
  }
  /// Returns the way that connect() with the same arguments needs.
  Way way_to(const AddressInfo& peer, const ConnectOptions& options = {}) const {
    return device_.way_to(peer, options);
  }

  /// Replaces connect(), together with the next function, when the connection manager (rdma_cm) provides each
  /// state. This is the first step, before it connects: the port and the partition of the route. Errors:
  /// kInvalidArgument when the device does not have them.
  Status prepare(const Transition& initialised) { return device_.prepare(initialised); }
  /// Enters both other states, after prepare(). Number and interval of retransmissions come from `options`,
  /// all other parameters from the manager. Blocks and errors as for connect().
  Status connect(const Transition& to_receive, const Transition& to_send,
                 const ConnectOptions& options = {}) {
    return device_.connect(to_receive, to_send, options);
  }
  Way way_by(const Transition& to_receive) const { return device_.way_by(to_receive); }

  /// An operation of it failed, or fail() was called.
  bool failed() const noexcept { return failed_; }
  /// The MTU that both sides use. After connect().
  ibv_mtu mtu() const noexcept { return device_.mtu(); }

  /// Sends one message, which uses one receive of the peer's. Returns Result<void> when the peer's device has
  /// received all of it. Cancel: the coroutine goes on, the message is still sent. Errors: kUnavailable when
  /// the peer is gone, kResourceExhausted when it has no receive.
  [[nodiscard]] detail::Posted<detail::Send> send(const Memory& memory) { return send({&memory, 1}); }
  [[nodiscard]] detail::Posted<detail::Send> send(std::span<const Memory> memory);
  [[nodiscard]] detail::Posted<detail::Send> send_with_immediate(std::span<const Memory> memory,
                                                                 std::uint32_t immediate);

  /// Receives one message; see SharedReceiveQueue::receive(). Not with shared receives.
  [[nodiscard]] detail::Posted<detail::Receive> receive(const Memory& memory) {
    return receive({&memory, 1});
  }
  [[nodiscard]] detail::Posted<detail::Receive> receive(std::span<const Memory> memory);

  /// Writes `memory` to the beginning of `to`. Returns Result<void> when the data has arrived. Cancel: as for
  /// send(). Errors: kPermissionDenied when the peer's region does not allow it, which ends both queue pairs.
  [[nodiscard]] detail::Posted<detail::Write> write(const Memory& memory, const RemoteMemory& to) {
    return write({&memory, 1}, to);
  }
  [[nodiscard]] detail::Posted<detail::Write> write(std::span<const Memory> memory, const RemoteMemory& to);
  /// The same, and then takes a receive of the peer's, which gets `immediate`.
  [[nodiscard]] detail::Posted<detail::Write> write_with_immediate(std::span<const Memory> memory,
                                                                   const RemoteMemory& to,
                                                                   std::uint32_t immediate);
  /// Fills `memory` from the beginning of `from`. Cancel: the coroutine goes on, `memory` is written all the
  /// same. Errors: as write().
  [[nodiscard]] detail::Posted<detail::Read> read(const Memory& memory, const RemoteMemory& from) {
    return read({&memory, 1}, from);
  }
  [[nodiscard]] detail::Posted<detail::Read> read(std::span<const Memory> memory, const RemoteMemory& from);

  /// Adds to the 8-byte word at `word`, which is 8-aligned; or stores `desired` if the word equals
  /// `expected`. Returns Result<std::uint64_t>: the previous value. Cancel: as send(). Errors: as write(),
  /// and kInvalidArgument for an unaligned word.
  [[nodiscard]] detail::Posted<detail::Atomic> fetch_add(const RemoteMemory& word, std::uint64_t add);
  [[nodiscard]] detail::Posted<detail::Atomic> compare_swap(const RemoteMemory& word, std::uint64_t expected,
                                                            std::uint64_t desired);

  /// Ends the connection: operations under way fail with kUnavailable, through their completions.
  Status fail();

 private:
  Status start(const QueuePairOptions& options);
  detail::Posted<detail::Atomic> atomic(const detail::Request& request);

  detail::DeviceQueuePair device_;
  CompletionQueue& completions_;
  const std::size_t segments_max_;
  std::size_t reserved_ = 0;
  /// Nothing is given to the device any more: rxe for one never flushes receives that come later.
  bool failed_ = false;
  std::unique_ptr<SendQueue> sends_;
  std::unique_ptr<ReceiveQueue> receives_;
};

}  // namespace weft::verbs
