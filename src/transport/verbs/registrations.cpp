// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/registrations.hpp"

#include <algorithm>
#include <new>

namespace weft::detail::verbs_carrier {

/// Does not own the registration, which ends when its users release it.
struct Registrations::Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  /// Highest end of all ranges up to this one, in order of their beginnings: no address beyond it is in any
  /// of them.
  std::uintptr_t reach = 0;
  std::weak_ptr<const Registration> registration;
};

bool Registrations::begins_behind(std::uintptr_t at, const Range& range) noexcept {
  return at < range.begin;
}

Registrations::Registrations(std::shared_ptr<verbs::ProtectionDomain> domain) noexcept
    : domain_(std::move(domain)) {}

Registrations::~Registrations() = default;

Result<std::shared_ptr<const Registration>> Registrations::add(MutableBytes bytes, verbs::Access access,
                                                               UniqueFunction<void()> on_released) {
  // Do this before taking the lock, which loops take: pinning takes long. A failure below releases the
  // registration.
  auto region = verbs::MemoryRegion::register_memory(domain_, bytes, std::move(on_released), access);
  if (!region.ok()) return std::move(region).status();
  auto registration = std::make_shared<const Registration>(*std::move(region), access.remote_read);
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::lock_guard lock{mutex_};
  auto ranges = std::make_shared<Ranges>();
  if (ranges_ != nullptr) *ranges = *ranges_;
  std::erase_if(*ranges, [](const Range& range) { return range.registration.expired(); });
  ranges->insert(std::upper_bound(ranges->begin(), ranges->end(), begin, begins_behind),
                 {begin, begin + bytes.size(), 0, registration});
  std::uintptr_t reach = 0;
  for (Range& range : *ranges) range.reach = reach = std::max(reach, range.end);
  ranges_ = std::move(ranges);
  version_.fetch_add(1, std::memory_order_release);
  return registration;
}

std::shared_ptr<const Registration> Registrations::View::find(Bytes bytes) noexcept {
  if (const std::uint64_t newest = all_.version_.load(std::memory_order_acquire); newest != version_) {
    const std::lock_guard lock{all_.mutex_};
    version_ = newest;
    ranges_ = all_.ranges_;
  }
  if (ranges_ == nullptr) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t end = begin + bytes.size();
  auto range = std::upper_bound(ranges_->begin(), ranges_->end(), begin, begins_behind);
  while (range != ranges_->begin()) {
    --range;
    if (range->reach < end) return nullptr;
    if (range->end < end) continue;
    if (auto registration = range->registration.lock()) return registration;
  }
  return nullptr;
}

}  // namespace weft::detail::verbs_carrier
