// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "weft/ucx/memory.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace weft::ucx::testing {

/// Bytes that may not be touched once they were given back: poisoned for the address sanitizer, and filled
/// with a mark that is looked at in the end, for what the system writes behind its back.
class Watched final : public MemoryBlock {
 public:
  explicit Watched(std::size_t size)
      : MemoryBlock(&Watched::released), size_(size), bytes_(new std::byte[size]) {
    std::memset(bytes_.get(), 0x11, size);
  }
  ~Watched() {
    unpoison();
    if (!given_back_) return;
    for (std::size_t i = 0; i < size_; ++i) {
      WEFT_ASSERT(bytes_[i] == kMark, "memory was written to after it was given back");
    }
  }

  Memory memory() { return {*this, {bytes_.get(), size_}}; }
  bool given_back() const { return given_back_; }

 private:
  static constexpr std::byte kMark{0xA5};

  static void released(MemoryBlock& block) noexcept {
    auto& self = static_cast<Watched&>(block);
    WEFT_ASSERT(!self.given_back_, "memory is given back once");
    self.given_back_ = true;
    std::memset(self.bytes_.get(), static_cast<int>(kMark), self.size_);
#if defined(__SANITIZE_ADDRESS__)
    ASAN_POISON_MEMORY_REGION(self.bytes_.get(), self.size_);
#endif
  }
  void unpoison() {
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(bytes_.get(), size_);
#endif
  }

  std::size_t size_;
  std::unique_ptr<std::byte[]> bytes_;
  bool given_back_ = false;
};

}  // namespace weft::ucx::testing
