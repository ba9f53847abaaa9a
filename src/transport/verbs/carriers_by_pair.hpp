// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "weft/detail/base/status.hpp"

namespace weft::detail::verbs_carrier {

class VerbsCarrier;

/// Names a carrier uniquely over time. The number of its queue pair is not enough: a device reuses the
/// numbers of destroyed queue pairs.
struct CarrierName {
  std::uint32_t queue_pair = 0;
  std::uint64_t serial = 0;
};

/// The carriers of a loop over a device, by the numbers of their queue pairs. Thread: the loop's.
class CarriersByPair {
 public:
  /// Routes completions of the queue pair with this number to `carrier` from now on. Throws std::bad_alloc.
  CarrierName join(std::uint32_t queue_pair, VerbsCarrier& carrier);
  void leave(std::uint32_t queue_pair) noexcept { carriers_.erase(queue_pair); }
  /// Null for one that has left, or never was here.
  VerbsCarrier* find(std::uint32_t queue_pair) const noexcept {
    const auto found = carriers_.find(queue_pair);
    return found == carriers_.end() ? nullptr : found->second;
  }
  VerbsCarrier* find(const CarrierName& name) const noexcept;
  std::size_t size() const noexcept { return carriers_.size(); }
  void fail_all(const Status& why) noexcept;

 private:
  std::unordered_map<std::uint32_t, VerbsCarrier*> carriers_;
  std::uint64_t serials_ = 0;
};

}  // namespace weft::detail::verbs_carrier
