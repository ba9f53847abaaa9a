// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace weft {

/// Registers memory that attachments are sent from, or land in, repeatedly: during its lifetime, transports
/// whose device supports it move the bytes there without a copy. For other transports it has no effect, so
/// that code need not know which transport it uses.
///
/// The memory stays its owner's. It must stay in place until this object has ended, and until every call that
/// uses a part of it has ended. A call under way when this object ends is not disturbed. Thread: any.
class MemoryLease {
 public:
  MemoryLease() = default;
  MemoryLease(MemoryLease&&) = default;
  MemoryLease& operator=(MemoryLease&&) = default;

  /// No transport has use for it.
  bool empty() const noexcept { return registrations_.empty(); }
  /// Ends it before its time.
  void end() noexcept { registrations_.clear(); }

  // For transports.

  void add(std::shared_ptr<const void> registration) { registrations_.push_back(std::move(registration)); }
  void add(MemoryLease other) {
    for (auto& registration : other.registrations_) registrations_.push_back(std::move(registration));
  }

 private:
  std::vector<std::shared_ptr<const void>> registrations_;
};

}  // namespace weft
