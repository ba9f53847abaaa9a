// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

class ServedCall;

/// Finds a call that is being served by its id: a hash table of chains through the records themselves. The
/// ids are the peer's to choose; a spread multiplier and growth with the count keep the chains short for any
/// it numbers without effort, and the limit of calls in flight bounds the rest.
class ServedTable {
 public:
  /// The call's id must not be in use: find() is asked first.
  void insert(ServedCall& call);
  void erase(ServedCall& call);
  ServedCall* find(std::uint64_t id) const;

 private:
  std::size_t bucket(std::uint64_t id) const {
    return static_cast<std::size_t>((id * 0x9e3779b97f4a7c15u) >> 32) & (buckets_.size() - 1);
  }
  void grow();

  std::vector<ServedCall*> buckets_;
  std::size_t count_ = 0;
};

}  // namespace weft
