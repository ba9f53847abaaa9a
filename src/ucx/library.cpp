// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>

#include "ucx/internals.hpp"

// Defined in a program with the address or the thread sanitizer.
extern "C" [[gnu::weak]] void __asan_init();
extern "C" [[gnu::weak]] void __tsan_init();

namespace weft::ucx::detail {

// The process has one UCX, and these are where it is.
constinit Library library;
constinit Internals internals;

namespace {

constexpr const char* kFile = "libucp.so.0";
constexpr std::array kSignalsOfErrors{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

constinit std::mutex loading;
constinit std::atomic<bool> loaded = false;

/// UCX patches the functions with which a sanitizer has replaced those of the C library, and does so wrongly.
bool has_sanitizer() noexcept {
  return &__asan_init != nullptr || &__tsan_init != nullptr;
}

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
  /// Removes UCX's handlers. A handler that was UCX's before belongs to a program that links UCX itself.
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

/// Lets UCX's constructors see UCX_MEM_EVENTS=n, unless the environment has a value: else they patch the
/// memory functions of the C library, or of a sanitizer, in a program whose other threads may be calling
/// them. The environment is replaced by a copy and put back, so that a thread that reads it meanwhile finds a
/// whole one.
class NoMemoryHooks {
 public:
  NoMemoryHooks() noexcept : before_(environ) {
    std::size_t count = 0;
    for (; before_ != nullptr && before_[count] != nullptr; ++count) {
      if (std::strncmp(before_[count], kSetting, std::strlen("UCX_MEM_EVENTS=")) == 0) return;
    }
    copy = new (std::nothrow) char*[count + 2];
    if (copy == nullptr) return;
    for (std::size_t i = 0; i < count; ++i) copy[i] = before_[i];
    copy[count] = kSetting;
    copy[count + 1] = nullptr;
    environ = copy;
  }
  ~NoMemoryHooks() {
    if (copy != nullptr && environ == copy) environ = before_;
  }
  NoMemoryHooks(const NoMemoryHooks&) = delete;
  NoMemoryHooks& operator=(const NoMemoryHooks&) = delete;

 private:
  static inline char kSetting[] = "UCX_MEM_EVENTS=n";
  /// Stays allocated: another thread may read it at any later time.
  static inline constinit char** copy = nullptr;

  char** before_;
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

Status load(bool signal_handlers, bool memory_hooks) {
  const std::lock_guard lock{loading};
  const ProgramsSignals signals;
  if (!is_loaded()) {
    // The library finds its dependencies through this handle. It is never unloaded, because UCX does not
    // support that.
    std::optional<NoMemoryHooks> unpatched;
    if (!memory_hooks || has_sanitizer()) unpatched.emplace();
    void* const file = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    unpatched.reset();
    if (file == nullptr || !find_all(file)) return missing();
    loaded.store(true);
    listen_to_log();
  }
  if (!signal_handlers) signals.restore();
  return {};
}

}  // namespace weft::ucx::detail
