// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "calls/gate/method_table.hpp"
#include "calls/terms/refusals.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

/// Looks whether there is a method for a request, and whether the request keeps to the method's own limits.
class RequestCheck {
 public:
  /// Null: there are no methods. The table outlives this.
  explicit RequestCheck(const MethodTable* methods) : methods_(methods) {}

  bool serves() const { return methods_ != nullptr; }
  /// The method that serves the request; null when it must be refused, see refusal().
  const MethodEntry* method_for(wire::RequestView request) const {
    const MethodEntry* method = find(request);
    if (method == nullptr) [[unlikely]] {
      return nullptr;
    }
    const std::uint32_t limit = method->options.body_bytes_max;
    return limit == 0 || request.arguments_bytes() <= limit ? method : nullptr;
  }
  /// Finds the request's method, without a check of its limits; null when there is none.
  const MethodEntry* find(wire::RequestView request) const {
    return methods_ != nullptr ? methods_->find(request.method(), request.schema()) : nullptr;
  }
  /// Finds a method with the request's name, and with any types; null when there is none.
  const MethodEntry* named(wire::RequestView request) const {
    return methods_ != nullptr ? methods_->find_any(request.method()) : nullptr;
  }
  /// Returns the reason why method_for() is null.
  Refusal refusal(wire::RequestView request) const;
  /// `method`, which is method_for() it, takes the request with its attachment.
  static bool takes_attachment(const MethodEntry& method, wire::RequestView request) {
    const std::uint64_t limit = method.options.attachment_bytes_max;
    return method.takes_attachment && (limit == 0 || request.attachment_bytes() <= limit);
  }
  /// Refuses a request for a method that there is not.
  Refusal no_such_method() const;
  /// Refuses arguments of `bytes`, which are over the limit of `method`.
  static Refusal over_methods_body(const MethodEntry& method, std::uint64_t bytes);
  /// Returns the reason why the method does not take the request with its attachment; none when it does.
  std::optional<Refusal> attachment_refusal(wire::RequestView request) const;
  /// The same for `method`, which is method_for() it.
  std::optional<Refusal> attachment_refusal(const MethodEntry& method, wire::RequestView request) const;

 private:
  const MethodTable* methods_;
};

}  // namespace weft::detail
