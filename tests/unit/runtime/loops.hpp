// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <utility>

#include "weft/detail/runtime/loop.hpp"

namespace weft::testing {

using namespace weft::detail;

inline std::unique_ptr<Loop> make_loop(LoopOptions options = {}) {
  auto loop = Loop::create(options);
  return std::move(loop).value();
}

/// Tests that run once over each way of hearing of descriptors; the ways that are missing here are skipped.
class EachPoller : public ::testing::TestWithParam<PollerKind> {
 protected:
  void SetUp() override {
    auto loop = Loop::create({.poller = GetParam()});
    if (!loop.ok()) GTEST_SKIP() << loop.status().to_string();
    if ((*loop)->poller_kind() != GetParam()) GTEST_SKIP() << "this kernel refuses " << to_string(GetParam());
  }

  LoopOptions with_poller(LoopOptions options = {}) const {
    options.poller = GetParam();
    return options;
  }
};

inline std::string poller_name(const ::testing::TestParamInfo<PollerKind>& info) {
  return std::string{to_string(info.param)};
}

inline auto each_poller() {
  return ::testing::Values(PollerKind::kEpoll, PollerKind::kIoUring);
}

/// A timer that does what it is told.
class CallbackTimer final : public Timer {
 public:
  explicit CallbackTimer(UniqueFunction<void()> action) : action_(std::move(action)) {}
  void on_timer() override { action_(); }

 private:
  UniqueFunction<void()> action_;
};

/// Tells whether `fd` is or becomes readable within `milliseconds`.
inline bool readable(int fd, int milliseconds = 0) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, milliseconds) == 1;
}

/// A time far longer than anything here takes; only a failure waits that long.
inline constexpr int kPatienceMilliseconds = 20'000;

}  // namespace weft::testing
