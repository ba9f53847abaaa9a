// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/shared_object.hpp"

#include <dlfcn.h>

#include <string>

namespace weft::detail {

void* SharedObject::address_of(void* handle, const char* name) noexcept {
  return ::dlsym(handle, name);
}

Status SharedObject::missing() const {
  const char* const why = ::dlerror();
  return {StatusCode::kUnimplemented, Layer::kTransport,
          std::string{why != nullptr ? why : file_} + " (on Debian, install " + package_ + ")"};
}

Status SharedObject::load(bool (*find_functions)(void* handle)) {
  if (loaded_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock{loading_};
  if (loaded_.load(std::memory_order_relaxed)) return {};
  // The handle is not kept: the library stays.
  void* const handle = ::dlopen(file_, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr || !find_functions(handle)) return missing();
  loaded_.store(true, std::memory_order_release);
  return {};
}

}  // namespace weft::detail
