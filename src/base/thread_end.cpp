// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/thread_end.hpp"

#include <pthread.h>

#include <atomic>
#include <utility>

namespace weft::detail {

namespace {

constinit thread_local ThreadEnd* first_end = nullptr;

void run_ends(void*) {
  while (ThreadEnd* const end = first_end) {
    first_end = std::exchange(end->next, nullptr);
    end->run();
  }
}

constexpr pthread_key_t kNoKey = static_cast<pthread_key_t>(-1);
constexpr pthread_key_t kUnloaded = static_cast<pthread_key_t>(-2);
// One key of the process for all of Weft's threads, made at its first use.
constinit std::atomic<pthread_key_t> ends_key = kNoKey;

pthread_key_t key_of_ends() noexcept {
  pthread_key_t known = ends_key.load(std::memory_order_acquire);
  pthread_key_t made;
  if (known != kNoKey || ::pthread_key_create(&made, &run_ends) != 0) return known;
  if (ends_key.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return made;
  ::pthread_key_delete(made);
  return known;
}

// A library that is unloaded leaves no key behind whose function is gone.
[[gnu::destructor]] void delete_key() {
  const pthread_key_t key = ends_key.exchange(kUnloaded, std::memory_order_acq_rel);
  if (key != kNoKey && key != kUnloaded) ::pthread_key_delete(key);
}

}  // namespace

bool run_at_thread_end(ThreadEnd& end) noexcept {
  if (first_end == nullptr) {
    const pthread_key_t key = key_of_ends();
    if (key == kNoKey || key == kUnloaded ||
        ::pthread_setspecific(key, static_cast<const void*>(&first_end)) != 0)
      return false;
  }
  end.next = first_end;
  first_end = &end;
  return true;
}

}  // namespace weft::detail
