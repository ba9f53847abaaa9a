// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "support/watched_bytes.hpp"
#include "weft/detail/verbs/memory.hpp"

namespace weft::verbs::testing {

/// Bytes that the device knows for longer than an operation has them: so it can touch what was given back
/// too early, and be seen doing it.
class WatchedRegion {
 public:
  WatchedRegion(std::shared_ptr<ProtectionDomain> domain, std::size_t size)
      : bytes_(size),
        region_(MemoryRegion::register_memory(std::move(domain), bytes_.bytes(), [] {}).value()) {}

  weft::testing::WatchedBytes& bytes() { return bytes_; }
  ibv_mr* registration() const { return region_.memory().block()->registration(); }

 private:
  weft::testing::WatchedBytes bytes_;
  MemoryRegion region_;
};

/// Memory for one operation, whose bytes may not be touched once they were given back.
class Watched final : private WatchedRegion, public MemoryBlock {
 public:
  Watched(std::shared_ptr<ProtectionDomain> domain, std::size_t size)
      : WatchedRegion(std::move(domain), size), MemoryBlock(&Watched::released, registration_of(*this)) {}

  Memory memory() {
    handed_out_ = true;
    return {*this, bytes().bytes()};
  }
  bool handed_out() const { return handed_out_; }
  bool given_back() { return bytes().given_back(); }

 private:
  static ibv_mr* registration_of(const WatchedRegion& region) { return region.registration(); }
  static void released(MemoryBlock& block) noexcept { static_cast<Watched&>(block).bytes().give_back(); }

  bool handed_out_ = false;
};

}  // namespace weft::verbs::testing
