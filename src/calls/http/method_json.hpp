// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/terms/message_json.hpp"

namespace weft::detail {
struct MethodEntry;
}  // namespace weft::detail

namespace weft::detail::http {

/// JSON of the methods of one server that were called over HTTP. For a method that has no MessageJson of its
/// own it is made from the text of its types, at the first call. Thread: one.
class MethodJson {
 public:
  MethodJson();
  ~MethodJson();
  MethodJson(const MethodJson&) = delete;
  MethodJson& operator=(const MethodJson&) = delete;

  /// Returns the JSON of `method`, which outlives this. The pointer stays valid as long. Errors:
  /// kUnimplemented for types that have no JSON. Throws std::bad_alloc.
  Result<const MessageJson*> of(const MethodEntry& method);

 private:
  class Described;

  std::unordered_map<const MethodEntry*, Result<std::unique_ptr<const Described>>> described_;
};

}  // namespace weft::detail::http
