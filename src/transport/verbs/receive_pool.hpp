// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/verbs/carriers_by_pair.hpp"
#include "transport/verbs/slot_pool.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/transport/verbs.hpp"
#include "weft/verbs.hpp"

namespace weft::detail::verbs_carrier {

class PromisedReceives;
struct SpareTag;

/// The receives of a loop and a device, which lie in one shared queue, and how many of them are promised to
/// its carriers' peers. Every credit that a peer was given stands for a receive that is posted, and no
/// receive stands for two:
///
///   receives  >=  promised to all carriers  >=  what all peers may still send
///
///   a slot:   none --> posted --a message comes--> a carrier's --give_back()--> posted, or none if trimmed
///
/// Each carrier always has credits_min; what else there is goes to those whose peers use theirs up, and is
/// asked back from those whose peers do not (`spare_`). Thread: its loop's.
class ReceivePool final : private verbs::CompletionHandler {
 public:
  /// `on_unneeded` is called when fewer receives are promised and trim() might find something.
  ReceivePool(const std::shared_ptr<verbs::ProtectionDomain>& domain, const VerbsOptions& options,
              CarriersByPair& carriers, UniqueFunction<void()> on_unneeded);
  ~ReceivePool();
  ReceivePool(const ReceivePool&) = delete;
  ReceivePool& operator=(const ReceivePool&) = delete;

  /// Returns how many receives there may be at most: as many as the options' memory, and the device, have
  /// room for.
  std::size_t receives_max() const noexcept { return receives_max_; }
  /// Makes the queue, which completes into `completions`. Errors: what the device does not give.
  Status start(verbs::CompletionQueue& completions);
  verbs::SharedReceiveQueue& queue() const noexcept { return *queue_; }

  /// The next provide() asks the system for memory, even if it had none lately.
  void ask_again() noexcept { memory_is_out_ = false; }
  /// Ensures that `credits` unpromised receives exist. Returns false if they cannot be provided.
  bool provide(std::size_t credits) noexcept;
  /// Returns the failure of a provide() that was false.
  Status refusal() const;
  /// Promises receives that were provided.
  void promise(std::size_t credits) noexcept { promised_ += credits; }
  /// Promises one more receive to `asks` if possible. Otherwise asks another carrier to return unneeded ones
  /// and returns false.
  bool promise_one(PromisedReceives& asks) noexcept;
  /// Takes `credits` promises back that are not needed any more.
  void unpromise(std::size_t credits) noexcept;
  /// Records whether `holder`, which has just used its credit, holds more than its share.
  void note_spare(PromisedReceives& holder, bool has) noexcept;

  /// The memory of a message.
  const std::byte* at(std::uint32_t slot) const noexcept { return pool_.at(slot).data; }
  /// It goes back into the queue.
  void give_back(std::uint32_t slot) noexcept { post(slot); }

  /// Adjusts the number of receives to the demand. Returns true while another look is needed; after false,
  /// the next look is due when fewer receives are promised, so that an idle loop is not woken.
  bool trim() noexcept;

 private:
  void on_completion(std::uint32_t slot, const ibv_wc& completion) noexcept override;
  bool add() noexcept;
  bool post(std::uint32_t slot) noexcept;
  std::size_t kept_for_others() const noexcept;

  const VerbsOptions& options_;
  CarriersByPair& carriers_;
  UniqueFunction<void()> on_unneeded_;
  SlotPool pool_;
  std::size_t receives_max_;
  verbs::CompletionQueue* completions_ = nullptr;
  std::uint32_t place_ = 0;
  std::unique_ptr<verbs::SharedReceiveQueue> queue_;
  /// Receives that there are, and of these how many are promised.
  std::size_t receives_ = 0;
  std::size_t promised_ = 0;
  /// Number of promised receives at the last trim(), which decides the blocks whose slots stay posted.
  std::size_t promised_lately_ = 0;
  std::size_t kept_slots_ = SIZE_MAX;
  /// The last attempt to get more memory failed, and no carrier came since.
  bool memory_is_out_ = false;
  /// Carriers that have more receives than their due, the one that used them longest ago first.
  IntrusiveList<PromisedReceives, SpareTag> spare_;
};

}  // namespace weft::detail::verbs_carrier
