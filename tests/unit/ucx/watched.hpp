// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "support/watched_bytes.hpp"
#include "weft/detail/ucx/memory.hpp"

namespace weft::ucx::testing {

/// Memory for operations whose bytes may not be touched once they were given back.
class Watched final : public MemoryBlock {
 public:
  explicit Watched(std::size_t size) : MemoryBlock(&Watched::released), bytes_(size) {}

  Memory memory() { return {*this, bytes_.bytes()}; }
  bool given_back() const { return bytes_.given_back(); }

 private:
  static void released(MemoryBlock& block) noexcept { static_cast<Watched&>(block).bytes_.give_back(); }

  weft::testing::WatchedBytes bytes_;
};

}  // namespace weft::ucx::testing
