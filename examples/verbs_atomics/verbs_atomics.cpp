// SPDX-License-Identifier: Apache-2.0
// A counter and a lock in another process's memory. Two queue pairs of one loop stand for two processes.
#include <cinttypes>
#include <cstdio>
#include <weft/verbs.hpp>
#include <weft/weft.hpp>

namespace verbs = weft::verbs;

// begin: atomics
weft::Task<> count_and_lock(verbs::QueuePair& to, const verbs::RemoteMemory& words) {
  const auto counter = words.slice(0, 8);
  for (int i = 0; i < 3; ++i) {
    auto before = co_await to.fetch_add(counter, 10);
    if (!before.ok()) co_return;
    std::printf("it was %" PRIu64 "\n", *before);
  }
  const auto lock = words.slice(8, 8);
  auto holder = co_await to.compare_swap(lock, 0, 7);  // 7 stands for us
  if (holder.ok() && *holder == 0) std::printf("the lock is ours\n");
  auto again = co_await to.compare_swap(lock, 0, 8);
  if (again.ok()) std::printf("held by %" PRIu64 "\n", *again);
}
// end: atomics

int main() {
  auto opened = verbs::Device::open();
  if (!opened.ok()) {
    std::printf("%s\n", opened.status().to_string().c_str());
    return 1;
  }
  const auto& device = opened.value();
  auto domain = verbs::ProtectionDomain::create(device).value();
  auto loop = weft::Loop::create().value();
  auto completions = verbs::CompletionQueue::create(*loop, device).value();
  const verbs::QueuePairOptions options{.port = device->active_port().value().number};
  auto owner = verbs::QueuePair::create(domain, *completions, options).value();
  auto peer = verbs::QueuePair::create(domain, *completions, options).value();
  if (!owner->connect(peer->address()).ok() || !peer->connect(owner->address()).ok()) return 1;
  const verbs::Access access{.remote_atomic = true};
  auto words = verbs::MemoryRegion::allocate(domain, 16, access).value();
  loop->block_on(count_and_lock(*peer, words.remote()));
  return 0;
}
