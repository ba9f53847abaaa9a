// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/library.hpp"

#include <dlfcn.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>

#include "ucx/internals.hpp"

namespace weft::ucx::detail {

// The process has one UCX, and these are where it is.
constinit Library library;
constinit Internals internals;

namespace {

constexpr const char* kFile = "libucp.so.0";
constexpr std::array kSignalsOfErrors{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

constinit std::mutex loading;
constinit std::atomic<bool> loaded = false;

bool is_of_ucx(const struct sigaction& action) {
  Dl_info owner{};
  const void* const handler = reinterpret_cast<const void*>(action.sa_sigaction);
  if ((action.sa_flags & SA_SIGINFO) == 0 || handler == nullptr) return false;
  return ::dladdr(handler, &owner) != 0 && owner.dli_fname != nullptr &&
         std::strstr(owner.dli_fname, "libucs.so") != nullptr;
}

/// The program's handlers, and the stack that they have, as they were before UCX was loaded.
class ProgramsSignals {
 public:
  ProgramsSignals() {
    for (std::size_t i = 0; i < kSignalsOfErrors.size(); ++i)
      ::sigaction(kSignalsOfErrors[i], nullptr, &before_[i]);
    ::sigaltstack(nullptr, &stack_);
  }
  /// Takes UCX's handlers away. One that was UCX's before is what a program has that links UCX itself.
  void restore() const {
    for (std::size_t i = 0; i < kSignalsOfErrors.size(); ++i) {
      struct sigaction now{};
      if (::sigaction(kSignalsOfErrors[i], nullptr, &now) != 0 || !is_of_ucx(now)) continue;
      if (is_of_ucx(before_[i])) {
        internals.ucs_debug_disable_signal(kSignalsOfErrors[i]);
      } else {
        ::sigaction(kSignalsOfErrors[i], &before_[i], nullptr);
      }
    }
    stack_t now{};
    if (::sigaltstack(nullptr, &now) == 0 && now.ss_sp != stack_.ss_sp) ::sigaltstack(&stack_, nullptr);
  }

 private:
  std::array<struct sigaction, kSignalsOfErrors.size()> before_{};
  stack_t stack_{};
};

Status missing() {
  const char* const why = ::dlerror();
  return {StatusCode::kUnimplemented, Layer::kTransport,
          std::string{"UCX cannot be loaded: "} + (why != nullptr ? why : kFile)};
}

template <typename Function>
bool find(void* library_file, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library_file, name));
  return function != nullptr;
}

bool find_all(void* file) {
#define WEFT_UCX_FIND(name) find(file, #name, library.name)&&
  const bool found = WEFT_UCX_FUNCTIONS(WEFT_UCX_FIND) true;
#undef WEFT_UCX_FIND
#define WEFT_UCX_FIND(name) find(file, #name, internals.name)&&
  return WEFT_UCX_INTERNALS(WEFT_UCX_FIND) found;
#undef WEFT_UCX_FIND
}

}  // namespace

bool is_loaded() noexcept {
  return loaded.load();
}

Status load(bool signal_handlers) {
  const std::lock_guard lock{loading};
  const ProgramsSignals signals;
  if (!is_loaded()) {
    // What it needs is found through it. It is never unloaded, which UCX does not bear.
    void* const file = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (file == nullptr || !find_all(file)) return missing();
    loaded.store(true);
    listen_to_log();
  }
  if (!signal_handlers) signals.restore();
  return {};
}

}  // namespace weft::ucx::detail
