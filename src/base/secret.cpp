// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/secret.hpp"

#include <cstring>
#include <utility>

namespace weft::detail {

void wipe_memory(void* memory, std::size_t bytes) noexcept {
  if (bytes != 0) ::explicit_bzero(memory, bytes);
}

Secret::Secret(std::string_view text) : bytes_(std::make_unique<char[]>(text.size())), size_(text.size()) {
  std::memcpy(bytes_.get(), text.data(), text.size());
}

Secret::Secret(Secret&& other) noexcept
    : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}

Secret& Secret::operator=(Secret&& other) noexcept {
  wipe();
  bytes_ = std::move(other.bytes_);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

bool Secret::is(std::string_view text) const noexcept {
  if (text.size() != size_) return false;
  unsigned char differences = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    differences = static_cast<unsigned char>(differences | (text[i] ^ bytes_[i]));
  }
  // Volatile, so that no compiler leaves the loop early.
  const volatile unsigned char found = differences;
  return found == 0;
}

void Secret::wipe() noexcept {
  wipe_memory(bytes_.get(), size_);
  size_ = 0;
}

}  // namespace weft::detail
