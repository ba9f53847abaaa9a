// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/detail/balancing/balancing_policy.hpp"

namespace weft::detail {

/// No endpoint.
inline constexpr std::uint32_t kNoIndex = 0xffffffffu;

/// Says that a list is too long.
Status check_endpoints(std::span<const EndpointSpec> list) noexcept;

/// Keys of a list, by which endpoints are known again in the next.
class EndpointKeys {
 public:
  /// Takes the keys of `list`. Returns for each of its endpoints the index that it had before, or kNoIndex.
  /// Strong: without memory nothing has changed.
  std::vector<std::uint32_t> replace(std::span<const EndpointSpec> list);

  std::size_t size() const noexcept { return keys_.size(); }
  const std::string& operator[](std::uint32_t index) const noexcept { return keys_[index]; }

 private:
  std::vector<std::string> keys_;
  std::vector<std::uint32_t> sorted_;  // by key, and those of one key by index
};

/// Moves the state of endpoints that stay to their new places; new endpoints begin with `fresh`.
template <typename T>
std::vector<T> carried_over(const std::vector<T>& known, std::span<const std::uint32_t> before, T fresh) {
  std::vector<T> carried(before.size(), fresh);
  for (std::size_t index = 0; index < before.size(); ++index) {
    if (before[index] != kNoIndex) carried[index] = known[before[index]];
  }
  return carried;
}

}  // namespace weft::detail
