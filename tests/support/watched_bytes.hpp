// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "support/sanitizers.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/bytes.hpp"

#if WEFT_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace weft::testing {

/// Bytes that may not be touched once they were given back: poisoned for the address sanitizer, and filled
/// with a mark that is looked at in the end, for what the system writes behind its back.
class WatchedBytes {
 public:
  static constexpr std::byte kMark{0xA5};

  explicit WatchedBytes(std::size_t size) : size_(size), bytes_(new std::byte[size]) {
    std::memset(bytes_.get(), 0x11, size);
  }
  WatchedBytes(const WatchedBytes&) = delete;
  WatchedBytes& operator=(const WatchedBytes&) = delete;
  ~WatchedBytes() {
#if WEFT_ADDRESS_SANITIZER
    ASAN_UNPOISON_MEMORY_REGION(bytes_.get(), size_);
#endif
    if (!given_back_) return;
    for (std::size_t i = 0; i < size_; ++i) {
      WEFT_ASSERT(bytes_[i] == kMark, "memory was written to after it was given back");
    }
  }

  MutableBytes bytes() const { return {bytes_.get(), size_}; }
  bool given_back() const { return given_back_; }
  void give_back() {
    WEFT_ASSERT(!given_back_, "memory is given back once");
    given_back_ = true;
    std::memset(bytes_.get(), static_cast<int>(kMark), size_);
#if WEFT_ADDRESS_SANITIZER
    ASAN_POISON_MEMORY_REGION(bytes_.get(), size_);
#endif
  }

 private:
  const std::size_t size_;
  const std::unique_ptr<std::byte[]> bytes_;
  bool given_back_ = false;
};

}  // namespace weft::testing
