// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/verbs/counted_bytes.hpp"
#include "transport/verbs/registrations.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft::detail::verbs_carrier {

/// Registered memory that attachments land in, so that the device can put them there itself. Of a device;
/// pieces come back from whatever thread drops the attachment last, even after the pool's other users ended.
/// Peers cannot read it: it holds one peer's bytes now and another's later. Thread: any.
class LandingPool : public std::enable_shared_from_this<LandingPool> {
 public:
  struct Limits {
    /// Registered at a time, in use or not.
    std::size_t bytes_max = 0;
    verbs::Access access{};
    CountedBytes::Total counted_in{};
  };
  LandingPool(std::shared_ptr<Registrations> registrations, const Limits& limits) noexcept;
  ~LandingPool();
  LandingPool(const LandingPool&) = delete;
  LandingPool& operator=(const LandingPool&) = delete;

  /// `size` bytes, not zeroed. Empty when the budget is used up or the system gives no more: other memory
  /// does as well then, only slower.
  Buffer acquire(std::size_t size, TimePoint now) noexcept;
  /// Gives back to the system what nobody has used for a while. True while there is more, used or not.
  bool trim(TimePoint now) noexcept;
  /// Says whether somebody will call trim(): without it, nothing that is unused is kept.
  void attend(bool attended) noexcept;

  std::size_t registered_bytes() const;

 private:
  struct Block;
  using Blocks = std::vector<std::unique_ptr<Block>>;

  std::unique_ptr<Block> take(std::size_t size, Blocks& unwanted);
  bool fill(Block& block, std::size_t size) noexcept;
  void give_back(std::unique_ptr<Block> block) noexcept;
  bool make_room(std::size_t size, Blocks& unwanted);
  void release_idle_since(TimePoint then, Blocks& unwanted) noexcept;

  const std::shared_ptr<Registrations> registrations_;
  const Limits limits_;
  mutable std::mutex mutex_;
  CountedBytes registered_{limits_.counted_in};
  std::size_t idle_bytes_ = 0;
  bool attended_ = true;
  /// Unused ones by their size, each with the one that was used longest ago first.
  std::map<std::size_t, Blocks> idle_;
  /// The latest time that anybody told.
  TimePoint now_{};
  /// Time until which nothing is asked of the system, which has refused memory.
  TimePoint refused_until_{};
};

}  // namespace weft::detail::verbs_carrier
