// SPDX-License-Identifier: Apache-2.0
// A counter and a lock in the memory of a peer. Two workers of one loop represent two processes.
#include <cstdio>
#include <cstring>
#include <weft/ucx.hpp>
#include <weft/weft.hpp>

namespace ucx = weft::ucx;

// begin: atomics
weft::Task<> count_and_lock(ucx::Endpoint& to, std::uint64_t address, const ucx::RemoteKey& key) {
  for (int i = 0; i < 3; ++i) {
    auto added = co_await ucx::atomic_add<std::uint64_t>(to, address, key, 10);  // nothing comes back
    if (!added.ok()) co_return;
  }
  auto there = co_await to.flush();  // without a fetch only a flush says that they took effect
  if (!there.ok()) co_return;
  auto before = co_await ucx::atomic_fetch_add<std::uint64_t>(to, address, key, 1);
  if (before.ok()) std::printf("counted to %llu\n", static_cast<unsigned long long>(*before));

  const std::uint64_t lock = address + sizeof(std::uint64_t);
  for (const std::uint64_t me : {1, 2}) {
    auto holder = co_await ucx::atomic_compare_swap<std::uint64_t>(to, lock, key, 0, me);
    if (!holder.ok()) co_return;
    std::printf("%llu %s the lock\n", static_cast<unsigned long long>(me),
                *holder == 0 ? "gets" : "does not get");
  }
}
// end: atomics

int main() {
  auto context = ucx::Context::create({.features = {.remote_memory = true, .atomics_64 = true}}).value();
  auto loop = weft::Loop::create().value();
  auto owner = ucx::Worker::create(*loop, context).value();
  auto peer = ucx::Worker::create(*loop, context).value();
  const auto address = owner->address().value();
  auto to_owner = ucx::Endpoint::connect(*peer, address).value();
  auto region = ucx::MemoryRegion::allocate(context, 4096).value();
  std::memset(region.memory().data(), 0, region.memory().size());
  const auto packed = region.pack_key().value();
  const auto key = ucx::RemoteKey::unpack(to_owner, packed).value();
  loop->block_on(count_and_lock(to_owner, region.address(), key));
  return 0;
}
