// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

namespace weft::detail {

/// Objects of the user that belong to one call, found by their types.
class CallObjects {
 public:
  /// Replaces the one of the same type. Throws std::bad_alloc.
  void set(const std::type_info& type, std::shared_ptr<void> object) {
    for (auto& [its_type, its_object] : objects_) {
      if (*its_type == type) {
        its_object = std::move(object);
        return;
      }
    }
    objects_.emplace_back(&type, std::move(object));
  }
  void* find(const std::type_info& type) const noexcept {
    for (const auto& [its_type, object] : objects_) {
      if (*its_type == type) return object.get();
    }
    return nullptr;
  }

 private:
  std::vector<std::pair<const std::type_info*, std::shared_ptr<void>>> objects_;
};

}  // namespace weft::detail
