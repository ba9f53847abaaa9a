// SPDX-License-Identifier: Apache-2.0
// Several threads use objects of verbs that any thread may use, and objects of a loop on another thread.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <latch>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "unit/verbs/pair.hpp"
#include "weft/detail/runtime/loop_thread.hpp"
#include "weft/detail/verbs/cm_driver.hpp"
#include "weft/detail/verbs/device_events.hpp"
#include "weft/detail/verbs/way.hpp"

namespace weft::verbs {
namespace {

/// Runs `work` with a number from 0 to 3 on four threads, which begin together.
template <typename Work>
void on_threads_at_once(Work work) {
  std::latch begin{4};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&work, &begin, i] {
      begin.arrive_and_wait();
      work(i);
    });
  }
}

// Each thread has queues of its own on a shared Device, below which is a shared Driver.
TEST(VerbsThreads, ShareADeviceAndAProtectionDomain) {
  Driver& driver = weft::testing::rdma_devices();
  const auto device = Device::open({}, driver).value();
  const auto domain = ProtectionDomain::create(device).value();
  on_threads_at_once([&](std::size_t) {
    for (int round = 0; round < 20; ++round) {
      const auto its = Device::open({}, driver).value();
      EXPECT_EQ(its->name(), device->name());
      EXPECT_TRUE(device->active_port().ok());
      EXPECT_NE(ProtectionDomain::create(device).value()->handle(), domain->handle());
      const auto loop = Loop::create().value();
      const auto completions = CompletionQueue::create(*loop, device).value();
      EXPECT_NE(QueuePair::create(domain, *completions).value()->handle(), nullptr);
      EXPECT_EQ(MemoryRegion::allocate(domain, 4096).value().memory().size(), 4096u);
    }
  });
}

TEST(VerbsThreads, LookForTheSameWay) {
  const auto domain =
      ProtectionDomain::create(Device::open({}, weft::testing::rdma_devices()).value()).value();
  const Way way{domain, {}};
  on_threads_at_once([&](std::size_t) {
    for (int round = 0; round < 20; ++round) EXPECT_TRUE(Way{way}.look_for().ok());
  });
}

// Each has a channel of its own, on one CmDriver.
TEST(VerbsThreads, ListenWithTheConnectionManager) {
  CmDriver* const manager = weft::testing::rdma_devices().cm();
  ASSERT_NE(manager, nullptr);
  std::array<std::uint16_t, 4> ports{};
  std::latch listening{4};
  on_threads_at_once([&](std::size_t i) {
    CmChannel* const channel = manager->create_event_channel();
    CmId* const id = manager->create_id(channel);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(manager->bind_addr(id, reinterpret_cast<const sockaddr*>(&address)), 0);
    EXPECT_EQ(manager->listen(id, 1), 0);
    ports[i] = manager->source_port(id);
    listening.arrive_and_wait();
    EXPECT_EQ(manager->destroy_id(id), 0);
    manager->destroy_event_channel(channel);
  });
  EXPECT_EQ(std::set(ports.begin(), ports.end()).size(), ports.size());
}

/// A device, and a loop that a thread of its own has begun to run.
struct LoopElsewhere {
  LoopElsewhere() {
    run([] {});
  }
  template <typename Work>
  void run(Work work) {
    std::latch done{1};
    thread->post([&] {
      work();
      done.count_down();
    });
    done.wait();
  }
  Loop& loop() { return thread->loop(); }

  std::shared_ptr<Device> device = Device::open({}, weft::testing::rdma_devices()).value();
  std::unique_ptr<weft::LoopThread> thread = weft::LoopThread::start().value();
};

void make_a_completion_queue_elsewhere() {
  LoopElsewhere elsewhere;
  static_cast<void>(CompletionQueue::create(elsewhere.loop(), elsewhere.device));
}

void end_a_completion_queue_elsewhere() {
  LoopElsewhere elsewhere;
  std::unique_ptr<CompletionQueue> completions;
  elsewhere.run([&] { completions = CompletionQueue::create(elsewhere.loop(), elsewhere.device).value(); });
  completions.reset();
}

void watch_device_events_elsewhere() {
  LoopElsewhere elsewhere;
  static_cast<void>(DeviceEvents::watch(elsewhere.loop(), elsewhere.device, [](const DeviceEvent&) {}));
}

TEST(VerbsThreadDeathTest, AnObjectOfALoopElsewhereEndsTheProcessWithAMessage) {
  constexpr const char* kElsewhere = "was added, moved or removed while another thread runs the loop";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(make_a_completion_queue_elsewhere(), kElsewhere);
  EXPECT_DEATH(end_a_completion_queue_elsewhere(), kElsewhere);
  EXPECT_DEATH(watch_device_events_elsewhere(), kElsewhere);
}

}  // namespace
}  // namespace weft::verbs
