// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/landing_pool.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <new>

namespace weft::detail::verbs_carrier {

namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kStepBytesMin = 16 * 1024;
constexpr Duration kKeptIdle = std::chrono::seconds{10};
constexpr Duration kAfterRefusal = std::chrono::seconds{1};

/// Four sizes for each power of two, so that at most a fifth of a piece is unused.
std::size_t size_class(std::size_t size) {
  const std::size_t step = std::max(kStepBytesMin, std::bit_floor(size) / 4);
  return (size + step - 1) / step * step;
}

struct FreeMemory {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};
using OwnMemory = std::unique_ptr<std::byte, FreeMemory>;

}  // namespace

/// A piece of memory with its registration. Keeps the pool alive only while it is in use.
struct LandingPool::Block {
  std::shared_ptr<const Registration> registration;
  std::shared_ptr<LandingPool> pool;
  TimePoint idle_since{};

  std::size_t size() const { return registration->bytes().size(); }
};

LandingPool::LandingPool(std::shared_ptr<Registrations> registrations, const Limits& limits) noexcept
    : registrations_(std::move(registrations)), limits_(limits) {}

LandingPool::~LandingPool() = default;

// Unneeded blocks are released outside the lock: deregistration is slow.
Buffer LandingPool::acquire(std::size_t size, TimePoint now) noexcept {
  const std::size_t rounded = size_class(size);
  if (rounded < size || rounded > limits_.bytes_max) return {};
  std::unique_ptr<Block> block;
  try {
    Blocks unwanted;  // ends after the lock
    const std::lock_guard lock{mutex_};
    now_ = std::max(now_, now);
    block = take(rounded, unwanted);
  } catch (const std::bad_alloc&) {
    return {};
  }
  if (block == nullptr) return {};
  if (block->registration == nullptr && !fill(*block, rounded)) return {};
  block->pool = shared_from_this();
  const MutableBytes memory = block->registration->bytes().first(size);
  return Buffer::adopt(memory, block.release(), [](void* owner) noexcept {
    std::unique_ptr<Block> back{static_cast<Block*>(owner)};
    const std::shared_ptr<LandingPool> pool = std::move(back->pool);
    pool->give_back(std::move(back));
  });
}

// Under the lock. An unused one, or an empty one that room was kept for; null when there is no room.
std::unique_ptr<LandingPool::Block> LandingPool::take(std::size_t size, Blocks& unwanted) {
  if (const auto found = idle_.find(size); found != idle_.end() && !found->second.empty()) {
    auto block = std::move(found->second.back());
    found->second.pop_back();
    idle_bytes_ -= size;
    return block;
  }
  if (now_ < refused_until_ || !make_room(size, unwanted)) return nullptr;
  auto block = std::make_unique<Block>();
  registered_ += size;
  return block;
}

// Under the lock. Unused pieces of other sizes make way, if that helps.
bool LandingPool::make_room(std::size_t size, Blocks& unwanted) {
  if (registered_ - idle_bytes_ + size > limits_.bytes_max) return false;
  for (auto& [bytes, blocks] : idle_) {
    while (registered_ + size > limits_.bytes_max && !blocks.empty()) {
      unwanted.push_back(std::move(blocks.front()));
      blocks.erase(blocks.begin());
      registered_ -= bytes;
      idle_bytes_ -= bytes;
    }
  }
  return true;
}

// Room was kept for it.
bool LandingPool::fill(Block& block, std::size_t size) noexcept {
  try {
    OwnMemory memory{static_cast<std::byte*>(std::aligned_alloc(kPageBytes, size))};
    const MutableBytes bytes{memory.get(), size};
    if (memory != nullptr) {
      auto added = registrations_->add(bytes, limits_.access, [kept = std::move(memory)] {});
      if (added.ok()) {
        block.registration = *std::move(added);
        return true;
      }
    }
  } catch (const std::bad_alloc&) {
    // As if the system had refused it.
  }
  const std::lock_guard lock{mutex_};
  registered_ -= size;
  refused_until_ = now_ + kAfterRefusal;
  return false;
}

void LandingPool::give_back(std::unique_ptr<Block> block) noexcept {
  const std::size_t size = block->size();
  const std::lock_guard lock{mutex_};
  block->idle_since = now_;
  if (attended_) {
    try {
      idle_[size].push_back(std::move(block));
      idle_bytes_ += size;
      return;
    } catch (const std::bad_alloc&) {
      // Not kept then.
    }
  }
  registered_ -= size;
}

void LandingPool::attend(bool attended) noexcept {
  Blocks unwanted;  // ends after the lock
  const std::lock_guard lock{mutex_};
  attended_ = attended;
  if (!attended) release_idle_since(TimePoint::max(), unwanted);
}

bool LandingPool::trim(TimePoint now) noexcept {
  Blocks unwanted;  // ends after the lock
  const std::lock_guard lock{mutex_};
  now_ = std::max(now_, now);
  release_idle_since(now_ - kKeptIdle, unwanted);
  return registered_ > 0;
}

// Requires the lock. Moves blocks that have been unused since `then` or longer into `unwanted`.
void LandingPool::release_idle_since(TimePoint then, Blocks& unwanted) noexcept {
  for (auto& [bytes, blocks] : idle_) {
    auto end = blocks.begin();
    while (end != blocks.end() && (*end)->idle_since <= then) ++end;
    try {
      unwanted.insert(unwanted.end(), std::move_iterator{blocks.begin()}, std::move_iterator{end});
    } catch (const std::bad_alloc&) {
      return;  // another time, then
    }
    const std::size_t released = bytes * static_cast<std::size_t>(end - blocks.begin());
    registered_ -= released;
    idle_bytes_ -= released;
    blocks.erase(blocks.begin(), end);
  }
}

std::size_t LandingPool::registered_bytes() const {
  const std::lock_guard lock{mutex_};
  return registered_;
}

}  // namespace weft::detail::verbs_carrier
