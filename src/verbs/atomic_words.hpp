// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weft/detail/verbs/memory.hpp"

namespace weft::verbs::detail {

/// Registered words of 8 bytes, where the device puts what an atomic found. Made for the first atomic.
/// Thread: one loop's.
class AtomicWords {
 public:
  explicit AtomicWords(std::shared_ptr<ProtectionDomain> domain) noexcept;
  AtomicWords(const AtomicWords&) = delete;
  AtomicWords& operator=(const AtomicWords&) = delete;

  /// Returns an unused word. Empty when memory is exhausted.
  Memory take() noexcept;
  /// Ends the pool: no word is taken any more. Deletes it now, or when the last word returns.
  void close() noexcept;

 private:
  struct Word;
  struct Slab;
  ~AtomicWords();
  bool grow() noexcept;
  static void give_back(MemoryBlock& block) noexcept;

  const std::shared_ptr<ProtectionDomain> domain_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  Word* free_ = nullptr;
  std::size_t out_ = 0;
  bool closed_ = false;
};

}  // namespace weft::verbs::detail
