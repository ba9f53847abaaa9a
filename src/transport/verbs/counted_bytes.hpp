// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "weft/detail/transport/verbs.hpp"

namespace weft::detail::verbs_carrier {

/// A number of bytes that is a part of a user's total, if he asked for one. Thread: its owner's.
class CountedBytes {
 public:
  /// Total that is counted in; none without a `usage`.
  struct Total {
    std::shared_ptr<VerbsUsage> usage{};
    std::atomic<std::size_t> VerbsUsage::* part = nullptr;
  };
  explicit CountedBytes(Total total) noexcept : total_(std::move(total)) {}
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;
  ~CountedBytes() { *this -= bytes_; }

  operator std::size_t() const noexcept { return bytes_; }
  CountedBytes& operator+=(std::size_t bytes) noexcept {
    bytes_ += bytes;
    if (total_.usage != nullptr) ((*total_.usage).*total_.part).fetch_add(bytes, std::memory_order_relaxed);
    return *this;
  }
  CountedBytes& operator-=(std::size_t bytes) noexcept {
    bytes_ -= bytes;
    if (total_.usage != nullptr) ((*total_.usage).*total_.part).fetch_sub(bytes, std::memory_order_relaxed);
    return *this;
  }

 private:
  const Total total_;
  std::size_t bytes_ = 0;
};

}  // namespace weft::detail::verbs_carrier
