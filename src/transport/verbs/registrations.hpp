// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/verbs/memory.hpp"

namespace weft::detail::verbs_carrier {

/// Memory that a device reads and writes in place, without a copy. Registered for the lifetime of this
/// object: a caller that passes a part of it to the device keeps the object until the device is done. Thread:
/// any.
class Registration {
 public:
  Registration(verbs::MemoryRegion region, bool peers_may_read) noexcept
      : region_(std::move(region)), peers_may_read_(peers_may_read) {}
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  bool peers_may_read() const noexcept { return peers_may_read_; }
  MutableBytes bytes() const noexcept { return region_.bytes(); }
  /// All of `part` lies in it.
  bool has(Bytes part) const noexcept {
    const Bytes all = bytes();
    return part.data() >= all.data() && part.size() <= all.size() &&
           static_cast<std::size_t>(part.data() - all.data()) <= all.size() - part.size();
  }
  const ibv_mr* handle() const noexcept { return region_.memory().block()->registration(); }
  std::uint32_t lkey() const noexcept { return handle()->lkey; }
  std::uint32_t rkey() const noexcept { return handle()->rkey; }

 private:
  const verbs::MemoryRegion region_;
  const bool peers_may_read_;
};

/// Finds memory that is registered with a device by its address. Thread: any.
class Registrations {
  struct Range;
  using Ranges = std::vector<Range>;
  static bool begins_behind(std::uintptr_t at, const Range& range) noexcept;

 public:
  explicit Registrations(std::shared_ptr<verbs::ProtectionDomain> domain) noexcept;
  ~Registrations();
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;

  /// `on_released` is called when the device may not touch `bytes` any more, by the thread that let go of
  /// them last, and destroyed then; it is only destroyed when this fails. Errors: those of
  /// MemoryRegion::register_memory(). Throws std::bad_alloc.
  Result<std::shared_ptr<const Registration>> add(MutableBytes bytes, verbs::Access access,
                                                  UniqueFunction<void()> on_released = {});

  /// One loop's look at it, which takes no lock while nothing was added. Thread: its loop's.
  class View {
   public:
    explicit View(const Registrations& all) noexcept : all_(all) {}
    /// One in which all of `bytes` lie, or null.
    std::shared_ptr<const Registration> find(Bytes bytes) noexcept;

   private:
    const Registrations& all_;
    std::uint64_t version_ = 0;
    std::shared_ptr<const Ranges> ranges_;
  };

 private:
  const std::shared_ptr<verbs::ProtectionDomain> domain_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Ranges> ranges_;
  /// Changes with them.
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace weft::detail::verbs_carrier
