// SPDX-License-Identifier: Apache-2.0
// Names that are watched on a thread that does not run their loop.
#include "off_loop.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "naming_support.hpp"

namespace weft {
namespace {

TEST(WatchesOffTheirLoop, AreRefusedForEachScheme) {
  const auto thread = LoopThread::start().value();
  begin_turns(thread->loop());
  for (const char* name :
       {"static:tcp://a:1", "file:/nowhere/servers", "dns://localhost:1", "etcd://127.0.0.1:1/x", "none"}) {
    const auto watch = watch_name(thread->loop(), name);
    ASSERT_FALSE(watch.ok()) << name;
    EXPECT_EQ(watch.status().code(), StatusCode::kFailedPrecondition) << watch.status().to_string();
    EXPECT_NE(watch.status().message().find("loop.post"), std::string::npos) << watch.status().to_string();
  }
}

TEST(WatchesOffTheirLoop, FailTheirWaits) {
  const auto thread = LoopThread::start().value();
  std::optional<NameWatch> watch;
  do_on(thread->loop(), [&] { watch.emplace(watch_name(thread->loop(), "static:tcp://a:1").value()); });
  const auto here = Loop::create().value();
  EXPECT_EQ(here->block_on(watch->changed(0)).status().code(), StatusCode::kFailedPrecondition);
  do_on(thread->loop(), [&] { watch.reset(); });
}

TEST(WatchesOffTheirLoop, EndTheProcessWhenDestroyedThere) {
  const auto end_here = [] {
    const auto thread = LoopThread::start().value();
    std::optional<NameWatch> watch;
    do_on(thread->loop(), [&] { watch.emplace(watch_name(thread->loop(), "static:tcp://a:1").value()); });
    watch.reset();
  };
  EXPECT_DEATH(end_here(), "destroyed on another thread than its loop's");
}

TEST(WatchesOffTheirLoop, MayEndWhereTheirLoopHasStopped) {
  const auto thread = LoopThread::start().value();
  std::optional<NameWatch> watch;
  do_on(thread->loop(), [&] { watch.emplace(watch_name(thread->loop(), "static:tcp://a:1").value()); });
  thread->stop();
  watch.reset();
  EXPECT_TRUE(watch_name(thread->loop(), "static:tcp://a:1").ok());
}

}  // namespace
}  // namespace weft
