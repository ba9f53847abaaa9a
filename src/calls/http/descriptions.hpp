// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "weft/detail/base/result.hpp"
#include "weft/detail/describe/description.hpp"

namespace weft::detail {
struct MethodEntry;
}  // namespace weft::detail

namespace weft::detail::http {

/// Parsed descriptions of the methods that were called over HTTP, made at the first call of each. Thread:
/// any.
class Descriptions {
 public:
  /// Returns the description of `method`, which outlives this. Errors: kUnimplemented for types that have no
  /// JSON.
  Result<std::shared_ptr<const MethodDescription>> of(const MethodEntry& method);

 private:
  std::mutex mutex_;
  std::unordered_map<const MethodEntry*, Result<std::shared_ptr<const MethodDescription>>> known_;
};

}  // namespace weft::detail::http
