// SPDX-License-Identifier: Apache-2.0
// Each test runs in a child: a process makes its key once.
#include "weft/detail/base/thread_end.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <thread>

#include "support/heap_count.hpp"

namespace weft::detail {
namespace {

using testing::fail_allocations;
using testing::fail_mallocs_too;

int ended = 0;
void count_end() noexcept {
  ++ended;
}
constinit thread_local ThreadEnd first{&count_end};
constinit thread_local ThreadEnd second{&count_end};
constinit thread_local ThreadEnd late{&count_end};
constinit thread_local ThreadEnd lists_late{[]() noexcept {
  ++ended;
  if (!run_at_thread_end(late)) ended = -100;
}};

void passes_in_child(bool (*test)()) {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(test() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

/// Leaves only keys whose use takes memory.
void take_keys_without_memory() {
  for (int i = 0; i < 40; ++i) {
    pthread_key_t key;
    if (::pthread_key_create(&key, nullptr) != 0) std::_Exit(2);
  }
}

TEST(ThreadEnd, RunsEachOnceWhenTheThreadEnds) {
  passes_in_child([] {
    std::thread([] {
      if (!run_at_thread_end(first) || !run_at_thread_end(second) || ended != 0) std::_Exit(3);
    }).join();
    return ended == 2;
  });
}

TEST(ThreadEnd, RunsWhatAnotherListsAtTheEnd) {
  passes_in_child([] {
    std::thread([] {
      if (!run_at_thread_end(lists_late)) std::_Exit(3);
    }).join();
    return ended == 2;
  });
}

TEST(ThreadEnd, SaysThatMemoryIsOutAndCanBeTriedAgain) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the sanitizer's malloc does not fail";
  passes_in_child([] {
    take_keys_without_memory();
    std::thread([] {
      fail_mallocs_too(true);
      fail_allocations(1, testing::kForEver);
      const bool listed = run_at_thread_end(first);
      fail_allocations(0);
      if (listed || first.next != nullptr || !run_at_thread_end(first)) std::_Exit(3);
    }).join();
    return ended == 1;
  });
}

TEST(ThreadEnd, SaysThatNoKeyIsLeft) {
  passes_in_child([] {
    pthread_key_t key;
    while (::pthread_key_create(&key, nullptr) == 0) {
    }
    const bool listed = run_at_thread_end(first);
    ::pthread_key_delete(static_cast<pthread_key_t>(PTHREAD_KEYS_MAX - 1));
    return !listed && run_at_thread_end(first);
  });
}

}  // namespace
}  // namespace weft::detail
