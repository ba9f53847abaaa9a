// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>

#include "weft/detail/base/status.hpp"

namespace weft::detail {

/// A shared library of the system that is loaded on first use, so that programs that never use it neither
/// link it nor need it installed. It stays loaded until the process ends. A process has one copy of it, also
/// when the program links it itself. Thread: any.
class SharedObject {
 public:
  /// `file`: name and version, such as "libssl.so.3". `package`: the Debian package that contains it.
  constexpr SharedObject(const char* file, const char* package) noexcept : file_(file), package_(package) {}
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  /// Loads the library and calls `find_functions` with its handle, until one call of load() succeeds; later
  /// calls cost an atomic load. The library's symbols stay hidden from other libraries. Errors:
  /// kUnimplemented if the library is not installed or `find_functions` returns false; the text has the
  /// loader's message and the package.
  Status load(bool (*find_functions)(void* handle));

  /// Sets `function` to the address of `name`. Returns false if the library has no such function.
  template <typename Function>
  static bool find(void* handle, const char* name, Function*& function) noexcept {
    function = reinterpret_cast<Function*>(address_of(handle, name));
    return function != nullptr;
  }

 private:
  static void* address_of(void* handle, const char* name) noexcept;
  Status missing() const;

  const char* const file_;
  const char* const package_;
  std::atomic<bool> loaded_{false};
  std::mutex loading_;
};

}  // namespace weft::detail
