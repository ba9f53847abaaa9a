// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "weft/detail/base/result.hpp"
#include "weft/detail/describe/description.hpp"

namespace weft::detail {
struct MethodEntry;
}  // namespace weft::detail

namespace weft::detail::http {

/// Parsed descriptions of the methods of one server that were called over HTTP, made at the first call of
/// each. Thread: one.
class Descriptions {
 public:
  /// Returns the description of `method`, which outlives this; the reference stays valid as long. Errors:
  /// kUnimplemented for types that have no JSON.
  const Result<MethodDescription>& of(const MethodEntry& method);

 private:
  std::unordered_map<const MethodEntry*, Result<MethodDescription>> known_;
};

}  // namespace weft::detail::http
