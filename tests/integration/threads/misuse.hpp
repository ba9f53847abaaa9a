// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "integration/threads/threads_testing.hpp"
#include "support/sanitizers.hpp"

namespace weft::testing {

/// A use of an object of `loop`, which another thread runs, and the words with which the process ends.
struct Misuse {
  const char* name;
  void (*use)(Loop& loop);
  const char* words;
};

inline std::string name_of_misuse(const ::testing::TestParamInfo<Misuse>& info) {
  return info.param.name;
}

/// Expects that `misuse` ends the process with its words. The thread of a loop begins with its first turn.
inline void expect_death_by(const Misuse& misuse) {
  if (WEFT_THREAD_SANITIZER) GTEST_SKIP() << "the mistake is a data race, which this sanitizer reports first";
  // A child by fork has the thread only that makes the mistake, so that each child starts its own threads.
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto use = [&] {
    const auto thread = LoopThread::start().value();
    run_on(thread->loop(), [] {});
    misuse.use(thread->loop());
  };
  EXPECT_DEATH(use(), misuse.words);
}

inline constexpr const char* kOfAClient = "weft::blocking\\(client\\).*client.loop\\(\\).post";

}  // namespace weft::testing
