// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "support/rdma_devices.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/verbs.hpp"

namespace weft::verbs::testing {

using namespace weft::detail;

/// Two connected queue pairs of one device and one loop. Registered memory is always at hand.
class Pair {
 public:
  explicit Pair(const QueuePairOptions& options = {}, WaitMode mode = WaitMode::kWait)
      : loop(Loop::create({.mode = mode}).value()),
        device(Device::open({}, weft::testing::rdma_devices()).value()),
        domain(ProtectionDomain::create(device).value()),
        completions(CompletionQueue::create(*loop, device).value()),
        a(make(options)),
        b(make(options)) {
    join(*a, *b);
  }

  std::unique_ptr<QueuePair> make(const QueuePairOptions& options = {}) {
    QueuePairOptions of_port = options;
    of_port.port = device->active_port().value().number;
    return QueuePair::create(domain, *completions, of_port).value();
  }
  static void join(QueuePair& one, QueuePair& other, const ConnectOptions& options = {}) {
    const Status there = one.connect(other.address(), options);
    EXPECT_TRUE(there.ok()) << there.to_string();
    const Status back = other.connect(one.address(), options);
    EXPECT_TRUE(back.ok()) << back.to_string();
  }
  /// Registered memory, zeroed; a peer may do everything with it unless `access` says less.
  MemoryRegion region(std::size_t size,
                      Access access = {.remote_read = true, .remote_write = true, .remote_atomic = true}) {
    return MemoryRegion::allocate(domain, size, access).value();
  }
  Memory text(std::string_view words) {
    const Memory memory = region(words.size()).memory();
    std::memcpy(memory.data(), words.data(), words.size());
    return memory;
  }
  /// Bytes that differ from one place to the next.
  Memory pattern(std::size_t size, unsigned seed) {
    const Memory memory = region(size).memory();
    for (std::size_t i = 0; i < size; ++i) memory.data()[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
    return memory;
  }

  /// Runs `task` to its end.
  template <typename T>
  T run(Task<T> task) {
    return loop->block_on(std::move(task));
  }
  /// Turns until `done()`.
  template <typename Done>
  void until(Done&& done) {
    while (!done()) loop->run_once(std::chrono::milliseconds{100});
  }

  std::unique_ptr<Loop> loop;
  std::shared_ptr<Device> device;
  std::shared_ptr<ProtectionDomain> domain;
  std::unique_ptr<CompletionQueue> completions;
  std::unique_ptr<QueuePair> a;
  std::unique_ptr<QueuePair> b;
};

inline std::string_view text_of(const Memory& memory, std::size_t size) {
  return as_text(memory.first(size).bytes());
}

inline bool same(const Memory& one, const Memory& other) {
  return one.size() == other.size() &&
         (one.empty() || std::memcmp(one.data(), other.data(), one.size()) == 0);
}

template <typename T>
Status status_of(Result<T> result) {
  return std::move(result).status();
}

}  // namespace weft::verbs::testing
