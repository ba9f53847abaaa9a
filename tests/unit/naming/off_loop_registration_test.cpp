// SPDX-License-Identifier: Apache-2.0
// Names that are registered on a thread that does not run their loop.
#include <gtest/gtest.h>

#include <optional>

#include "off_loop.hpp"
#include "weft/detail/naming/name_registration.hpp"

namespace weft {
namespace {

constexpr const char* kName = "etcd://127.0.0.1:1/services/kv";
const Endpoint kServer{.url = "tcp://127.0.0.1:9000"};

TEST(RegistrationsOffTheirLoop, AreRefused) {
  const auto thread = LoopThread::start().value();
  begin_turns(thread->loop());
  const auto registration = register_name(thread->loop(), kName, kServer, {});
  ASSERT_FALSE(registration.ok());
  EXPECT_EQ(registration.status().code(), StatusCode::kFailedPrecondition);
}

TEST(RegistrationsOffTheirLoop, FailTheirCoroutines) {
  const auto thread = LoopThread::start().value();
  std::optional<NameRegistration> registration;
  do_on(thread->loop(),
        [&] { registration.emplace(register_name(thread->loop(), kName, kServer, {}).value()); });
  const auto here = Loop::create().value();
  EXPECT_EQ(here->block_on(registration->registered()).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(here->block_on(registration->leave()).status().code(), StatusCode::kFailedPrecondition);
  do_on(thread->loop(), [&] { registration.reset(); });
}

TEST(RegistrationsOffTheirLoop, EndTheProcessWhenDestroyedThere) {
  const auto end_here = [] {
    const auto thread = LoopThread::start().value();
    std::optional<NameRegistration> registration;
    do_on(thread->loop(),
          [&] { registration.emplace(register_name(thread->loop(), kName, kServer, {}).value()); });
    registration.reset();
  };
  EXPECT_DEATH(end_here(), "destroyed on another thread than its loop's");
}

}  // namespace
}  // namespace weft
