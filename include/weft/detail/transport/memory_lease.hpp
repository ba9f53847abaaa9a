// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace weft {

/// Memory that attachments are sent from, or land in, again and again: while this lives, transports whose
/// device can do so move them there without a copy. For other transports it does nothing, so that who makes
/// one need not ask which transport he has.
///
/// The memory stays its owner's. It must stay where it is until this has ended, and until every call that
/// was given a part of it has. A call that is under way when this ends is not disturbed. Thread: any.
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
