// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "transport/verbs/shared_device.hpp"
#include "transport/verbs/slot_pool.hpp"
#include "transport/verbs/way_finder.hpp"
#include "weft/base/intrusive_list.hpp"
#include "weft/memory/chunk_pool.hpp"
#include "weft/runtime/loop.hpp"
#include "weft/runtime/timer.hpp"
#include "weft/transport/verbs.hpp"
#include "weft/verbs/verbs.hpp"

namespace weft::verbs_carrier {

class VerbsCarrier;
struct StarvedTag;
struct SpareTag;

/// Shares a device among the carriers of one loop: the completion queue, the receives, and registered memory.
/// Ends with the last of them. Thread: the loop's.
///
/// Every credit that a peer was given stands for a receive that is posted, and no receive stands for two:
///
///   posted receives >= what all peers may still send
///
/// Each carrier always has credits_min; what else there is goes to those whose peers use theirs up, and is
/// asked back from those whose peers do not (`spare`).
class LoopDevice final : private verbs::CompletionHandler,
                         private ChunkLender,
                         private Timer,
                         public std::enable_shared_from_this<LoopDevice> {
 public:
  /// Errors: what the device does not give.
  static Result<std::shared_ptr<LoopDevice>> make(Loop& loop, std::shared_ptr<SharedDevice> device,
                                                  const VerbsOptions& options,
                                                  std::shared_ptr<WayFinder> ways);
  LoopDevice(Loop& loop, std::shared_ptr<SharedDevice> device, const VerbsOptions& options,
             std::shared_ptr<WayFinder> ways);
  ~LoopDevice();

  Loop& loop() const noexcept { return loop_; }
  const std::shared_ptr<verbs::ProtectionDomain>& protection() const noexcept {
    return device_->protection();
  }
  SharedDevice& device() const noexcept { return *device_; }
  verbs::CompletionQueue& completions() const noexcept { return *completions_; }
  verbs::SharedReceiveQueue& receives() const noexcept { return *receives_; }
  /// Where what is sent lies, and what holds no bytes.
  SlotPool& sends() noexcept { return sends_; }
  SlotPool& controls() noexcept { return controls_; }
  WayFinder& ways() const noexcept { return *ways_; }
  std::uint8_t port() const noexcept { return port_; }
  const VerbsOptions& options() const noexcept { return options_; }

  /// Room for a carrier with `credits` receives. Errors: kResourceExhausted.
  Status enter(std::size_t credits);
  /// From now on what comes to the queue pair of that number is `carrier`'s.
  void join(std::uint32_t queue_pair, VerbsCarrier& carrier);
  void leave(std::uint32_t queue_pair) noexcept;
  /// A queue pair in error whose carrier has ended, and what the device may use until it is destroyed.
  struct Retired {
    std::unique_ptr<verbs::QueuePair> pair;
    std::vector<std::uint32_t> sends{};
    std::vector<std::uint32_t> controls{};
    /// A receive that it may have taken, which is promised as long.
    std::size_t credits = 0;
    TimePoint until{};
  };
  /// Destroys it when the device has given back what it took of the shared receives, or kRetirement passed:
  /// a receive of a message that came in half would be lost to all others.
  void retire(Retired retired) noexcept;
  /// The device failed, or a queue of all carriers did: there is no use in a new one.
  bool broken() const noexcept { return broken_ || completions_->failed() != 0; }
  /// One receive more that `carrier`'s peer may be promised, or none; then somebody is asked for what it does
  /// not need.
  bool promise_one(VerbsCarrier& carrier) noexcept;
  /// Takes `credits` promises back that are not needed any more.
  void unpromise(std::size_t credits) noexcept;
  /// A number that no other carrier of this loop over the device has had.
  std::uint64_t next_serial() noexcept { return ++serials_; }
  /// `carrier` has more than its due, and has used it just now; or has no more than that.
  void note_spare(VerbsCarrier& carrier, bool has) noexcept;

  /// The memory of a message, which goes back into the queue of receives.
  const std::byte* at(std::uint32_t slot) const noexcept { return pool_.at(slot).data; }
  void give_back(std::uint32_t slot) noexcept { post(slot); }
  /// All of a message's bytes as a chunk, that gives the slot back, and tells the carrier if it is there
  /// still. Null when memory is out.
  ChunkRef lend(std::uint32_t slot, MutableBytes bytes, VerbsCarrier& carrier) noexcept;

  /// `carrier` hears when there is memory to send from.
  void wait_for_send_slot(VerbsCarrier& carrier) noexcept;
  void release_send_slot(std::uint32_t slot) noexcept;
  void release_control_slot(std::uint32_t slot) noexcept;
  /// The next one in line hears of free memory, if there is any: whoever heard last may have had no use for
  /// it.
  void serve_starved() noexcept;

  /// Returns the registration by which the device can use all of `bytes` in place; null when it does not
  /// know them all.
  std::shared_ptr<const Registration> registration_of(Bytes bytes) noexcept {
    return registrations_.find(bytes);
  }
  Buffer landing_memory(std::size_t bytes) noexcept;

  void on_device_event(const verbs::DeviceEvent& event);

  /// Fetches what has completed.
  bool progress() { return completions_->poll() > 0; }

 private:
  /// Looks now and then for memory that nobody uses any more: of attachments, and of receives.
  struct Trimming final : Timer {
    explicit Trimming(LoopDevice& its) noexcept : loop_device(its) {}
    void on_timer() override;
    LoopDevice& loop_device;
  };

  Status start();
  void report(const verbs::DeviceEvent& event);
  void log(std::string_view what);
  void on_queue_pair_event(const verbs::DeviceEvent& event);
  static Status provide(SlotPool& pool);
  void on_completion(std::uint32_t slot, const ibv_wc& completion) noexcept override;
  void on_chunk_returned(MutableBytes memory) noexcept override;
  void on_timer() override;
  void bury(Retired retired) noexcept;
  void bury_oldest() noexcept;
  void on_last_receive(std::uint32_t queue_pair) noexcept;
  bool add_receive() noexcept;
  bool trim_receives() noexcept;
  void watch_memory() noexcept;
  std::size_t kept_for_others() const noexcept;
  bool post(std::uint32_t slot) noexcept;
  VerbsCarrier* find(std::uint32_t queue_pair) const noexcept;
  void fail_all(const Status& why) noexcept;

  Loop& loop_;
  const VerbsOptions options_;
  const std::shared_ptr<SharedDevice> device_;
  const std::shared_ptr<WayFinder> ways_;
  Registrations::View registrations_;
  SlotPool pool_;
  SlotPool sends_;
  SlotPool controls_;
  std::unique_ptr<verbs::CompletionQueue> completions_;
  std::unique_ptr<verbs::SharedReceiveQueue> receives_;
  std::unique_ptr<verbs::DeviceEvents> events_;
  std::uint8_t port_ = 0;
  std::uint32_t place_ = 0;
  std::size_t receives_max_ = 0;
  /// Receives that there are, and of these how many are promised.
  std::size_t slots_ = 0;
  std::size_t promised_ = 0;
  /// How many were when trim_receives() looked last; and of which blocks it leaves the slots posted.
  std::size_t promised_lately_ = 0;
  std::size_t kept_slots_ = SIZE_MAX;
  std::unordered_map<std::uint32_t, VerbsCarrier*> carriers_;
  /// Oldest first.
  std::deque<Retired> retired_;
  bool broken_ = false;
  /// The last attempt to get more memory to receive into failed, and no carrier came since.
  bool memory_is_out_ = false;
  std::size_t lent_ = 0;
  std::uint64_t serials_ = 0;
  /// Paths that wait for memory to send from.
  IntrusiveList<VerbsCarrier, StarvedTag> starved_;
  /// Paths that have more receives than their due, the one that used them longest ago first.
  IntrusiveList<VerbsCarrier, SpareTag> spare_;
  /// While something is lent.
  std::shared_ptr<LoopDevice> self_;
  Trimming trimming_{*this};
  TimePoint quiet_until_{};
};

}  // namespace weft::verbs_carrier
