// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "transport/ucx/active_message.hpp"
#include "weft/detail/runtime/deferred_log.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/transport/ucx.hpp"
#include "weft/detail/ucx/context.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/worker.hpp"

namespace weft::detail::ucx_carrier {

class UcxCarrier;

/// Address of a carrier's active messages: its slot in the table of its shared worker, and a key that
/// distinguishes it from earlier carriers in the same slot.
struct Place {
  std::uint32_t slot = 0;
  std::uint32_t key = 0;
};

/// The carriers of one loop that share a worker, and with it its failures: all carriers of the loop in
/// UcxErrorMode::kPeer, one in kNone. Destroyed with the last of them. Thread: the loop's.
///
/// UCX memory that is lent to readers keeps this, and so the worker, alive until it is returned.
///
/// Over shared memory all peers send into one queue. A peer that dies in the middle of a message leaves an
/// entry in it that is never filled, and nothing after it can be received: such a worker is abandoned.
class SharedWorker final : private ChunkLender,
                           private Timer,
                           public std::enable_shared_from_this<SharedWorker> {
 public:
  static Result<std::shared_ptr<SharedWorker>> make(Loop& loop, std::shared_ptr<ucx::Context> context,
                                                    const UcxOptions& options);
  SharedWorker(Loop& loop, std::unique_ptr<ucx::Worker> worker, const UcxOptions& options);
  ~SharedWorker();

  Loop& loop() const noexcept { return loop_; }
  /// Returns the worker, while alive().
  ucx::Worker& worker() const noexcept { return *worker_; }
  /// Returns the address by which a peer reaches the worker.
  Bytes address() const noexcept { return address_; }
  bool alive() const noexcept { return worker_ != nullptr; }

  Place enter(UcxCarrier& carrier);
  /// Gives the place back. When the peer may have died, the worker is watched until it is known not to be
  /// stuck.
  void leave(const Place& place, bool peer_may_be_dead) noexcept;
  /// Lets UCX work, outside of the loop's own turn. True when something happened.
  bool progress();
  /// Gives the memory of a message back to UCX.
  void release(std::byte* data) noexcept {
    ucx::detail::library.ucp_am_data_release((worker_ != nullptr ? worker_ : resting_)->handle(), data);
  }
  /// The memory of a message as a chunk. Null when too much is lent already, or the worker may have to end
  /// at any time (UcxErrorMode::kNone).
  ChunkRef lend(MutableBytes memory) noexcept;
  /// Ends the worker, because memory is held by operations that do not end by themselves: every carrier is
  /// lost, and nothing of any of them is touched any more. While a message is lent the worker only rests, and
  /// ends when that is back.
  void give_up();

 private:
  struct Entry {
    UcxCarrier* carrier = nullptr;
    std::uint32_t key = 0;
  };

  static ucs_status_t on_message(void* shared, const void* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, const ucp_am_recv_param_t* param) noexcept;
  void let_copies_end();
  void on_timer() override;
  bool seems_stuck() noexcept;
  UcxCarrier* find(const ActiveMessageHeader& header) const noexcept;
  void note_stray(std::size_t header_bytes) noexcept;

  void on_chunk_returned(MutableBytes memory) noexcept override;

  Loop& loop_;
  /// Written from the loop: inside of UCX the logger could not end the worker.
  DeferredLog log_;
  const std::size_t lent_max_;
  std::size_t lent_ = 0;
  /// Keeps itself while something is lent.
  std::shared_ptr<SharedWorker> self_;
  std::unique_ptr<ucx::Worker> worker_;
  std::unique_ptr<ucx::Worker> resting_;
  std::vector<std::byte> address_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::mt19937 random_;
  /// Number of times in a row that it seemed so.
  unsigned seemed_stuck_ = 0;
  std::uint64_t strays_ = 0;
  TimePoint quiet_until_{};
};

}  // namespace weft::detail::ucx_carrier
