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

/// Registered memory for incoming attachments, so that the device can write them in place. One pool per
/// device. Any thread may drop the last reference to a piece, even after the other users of the pool ended.
/// Peers cannot read the memory remotely, because it holds the bytes of different peers over time. Thread:
/// any.
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
  /// Returns memory to the system that was unused for a while. True while the pool still has memory, used or
  /// unused.
  bool trim(TimePoint now) noexcept;
  /// Sets whether a caller will call trim(). Without trim() the pool keeps no unused memory.
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
  /// Unused blocks by size; in each list the one that was used longest ago comes first.
  std::map<std::size_t, Blocks> idle_;
  /// The latest time passed in by any caller.
  TimePoint now_{};
  /// Time until which no memory is requested from the system, because it has refused some.
  TimePoint refused_until_{};
};

}  // namespace weft::detail::verbs_carrier
