// SPDX-License-Identifier: Apache-2.0
// BU-2: the request to the kernel that keeps CPUs out of deep sleep.
#include "weft/detail/runtime/cpu_latency.hpp"

#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;
using detail::request_cpu_latency;

// Root may write every file: for a scope it is the user with no rights. Only this thread's file access
// counts.
class AsNobody {
 public:
  AsNobody() : before_(::setfsuid(kNobody)) {}
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() { ::setfsuid(static_cast<uid_t>(before_)); }

 private:
  static constexpr uid_t kNobody = 65534;
  const int before_;
};

// A file in the place of the device, and who holds it open.
class CpuLatencies : public ::testing::Test {
 protected:
  CpuLatencies() : file_(::testing::TempDir() + "weft_cpu_latency_" + std::to_string(::getpid())) {
    std::fclose(std::fopen(file_.c_str(), "wb"));
  }
  ~CpuLatencies() override { std::filesystem::remove(file_); }

  std::optional<std::int32_t> written() const {
    std::int32_t value = 0;
    std::FILE* file = std::fopen(file_.c_str(), "rb");
    const std::size_t bytes = std::fread(&value, 1, sizeof value, file);
    const bool no_more = std::fgetc(file) == EOF;
    std::fclose(file);
    return bytes == sizeof value && no_more ? std::optional{value} : std::nullopt;
  }

  int times_open() const {
    int times = 0;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
      std::error_code ignored;
      times += std::filesystem::read_symlink(entry.path(), ignored) == file_ ? 1 : 0;
    }
    return times;
  }

  std::string file_;
};

TEST_F(CpuLatencies, WritesTheMicrosecondsAndHoldsTheDeviceOpenWhileItLives) {
  {
    auto latency = request_cpu_latency(file_.c_str(), 17us);
    ASSERT_TRUE(latency.ok()) << latency.status().to_string();
    EXPECT_EQ(written(), 17);
    EXPECT_EQ(times_open(), 1);
    const CpuLatency moved = std::move(latency).value();
    EXPECT_EQ(times_open(), 1);
  }
  EXPECT_EQ(times_open(), 0);
}

TEST_F(CpuLatencies, AreRequestedMovedAndTakenBackOnAnyThread) {
  std::vector<std::jthread> threads;
  std::latch held{5};
  std::latch seen{1};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      auto latency = request_cpu_latency(file_.c_str(), 17us);
      EXPECT_TRUE(latency.ok());
      held.count_down();
      seen.wait();
      std::jthread{[moved = std::move(latency).value()] {}}.join();
    });
  }
  held.arrive_and_wait();
  EXPECT_EQ(times_open(), 4);
  seen.count_down();
  threads.clear();
  EXPECT_EQ(times_open(), 0);
}

TEST_F(CpuLatencies, TakesZeroAndCutsWhatDoesNotFit) {
  EXPECT_TRUE(request_cpu_latency(file_.c_str(), 0us).ok());
  EXPECT_EQ(written(), 0);
  EXPECT_TRUE(request_cpu_latency(file_.c_str(), 24h).ok());
  EXPECT_EQ(written(), INT32_MAX);
}

TEST_F(CpuLatencies, ANegativeTimeIsRefusedAndNothingIsOpened) {
  const auto latency = request_cpu_latency(file_.c_str(), -1us);
  EXPECT_EQ(latency.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(written(), std::nullopt);
}

TEST_F(CpuLatencies, WithoutTheDeviceTheStatusSaysWhatToDo) {
  const auto latency = request_cpu_latency((file_ + "_not_there").c_str(), 0us);
  EXPECT_EQ(latency.status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(latency.status().native(), ENOENT);
  EXPECT_NE(latency.status().message().find("go on without"), std::string_view::npos);
}

TEST_F(CpuLatencies, WithoutPermissionTheStatusSaysWhatToDo) {
  std::filesystem::permissions(file_, std::filesystem::perms::none);
  const AsNobody nobody;
  const auto latency = request_cpu_latency(file_.c_str(), 0us);
  EXPECT_EQ(latency.status().code(), StatusCode::kPermissionDenied);
  EXPECT_NE(latency.status().message().find("udev rule"), std::string_view::npos);
}

TEST_F(CpuLatencies, WhatTheKernelRefusesToTakeIsAFailure) {
  const auto latency = request_cpu_latency("/dev/full", 0us);
  EXPECT_EQ(latency.status().native(), ENOSPC);
}

}  // namespace
}  // namespace weft
