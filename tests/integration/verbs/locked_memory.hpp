// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::verbs_testing {

/// The soft limit of this process, and no right of this thread to lock more, for as long as this lives.
class LockedMemory {
 public:
  explicit LockedMemory(rlim_t bytes) {
    ::getrlimit(RLIMIT_MEMLOCK, &before_);
    const rlimit lower{bytes, before_.rlim_max};
    lowered_ = ::setrlimit(RLIMIT_MEMLOCK, &lower) == 0 && allow(false);
  }
  ~LockedMemory() {
    ::setrlimit(RLIMIT_MEMLOCK, &before_);
    allow(true);
  }
  LockedMemory(const LockedMemory&) = delete;
  LockedMemory& operator=(const LockedMemory&) = delete;
  bool lowered() const { return lowered_; }

 private:
  /// Says whether CAP_IPC_LOCK counts, for a process that may have it at all.
  static bool allow(bool allowed) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
    if (::syscall(SYS_capget, &header, sets) != 0) return false;
    constexpr __u32 kBit = 1u << CAP_IPC_LOCK;
    sets[0].effective = allowed ? sets[0].effective | (sets[0].permitted & kBit) : sets[0].effective & ~kBit;
    return ::syscall(SYS_capset, &header, sets) == 0;
  }

  rlimit before_{};
  bool lowered_ = false;
};

}  // namespace weft::verbs_testing
