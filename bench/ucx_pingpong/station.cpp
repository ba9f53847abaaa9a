// SPDX-License-Identifier: Apache-2.0
#include "station.hpp"

#include <cstring>
#include <utility>

#include "fail.hpp"

namespace weft::bench {
namespace {

LoopOptions loop_options(const Plan& plan) {
  return {.mode = plan.test == Test::kIdle ? WaitMode::kWait : WaitMode::kBusy};
}

// What ucx_perftest asks UCX for: the family under test, and no wakeup while it polls.
ucx::ContextOptions context_options(const Plan& plan) {
  ucx::ContextOptions options;
  options.several_threads = false;
  options.shared_memory_in_peer_mode = false;
  options.features.wakeup = plan.test == Test::kIdle;
  options.features.remote_memory = plan.remote_memory();
  options.features.active_messages = plan.test == Test::kAmLat;
  options.features.tag = !options.features.remote_memory && !options.features.active_messages;
  return options;
}

// Every byte touched, so that no page is missing when the test begins.
ucx::Memory filled(std::size_t size) {
  ucx::Memory memory = ucx::Memory::allocate(size);
  std::memset(memory.data(), 1, size);
  return memory;
}

}  // namespace

Station::Station(const Plan& agreed, bool server, SideChannel side_channel)
    : plan(agreed),
      serves(server),
      channel(std::move(side_channel)),
      loop(must(Loop::create(loop_options(plan)))),
      context(must(ucx::Context::create(context_options(plan)))),
      worker(must(ucx::Worker::create(*loop, context))),
      out(filled(plan.size)),
      in(filled(plan.size)) {
  channel.send(must(worker->address()));
  peer = must(ucx::Endpoint::connect(*worker, channel.receive(), {.error_mode = ucx::ErrorMode::kNone}));
  if (!plan.remote_memory()) return;
  region = must(ucx::MemoryRegion::allocate(context, plan.size));
  std::memset(region->memory().data(), 1, plan.size);
  channel.send(must(region->pack_key()));
  channel.send_value(region->address());
  key = must(ucx::RemoteKey::unpack(peer, channel.receive()));
  peer_address = channel.receive_value<std::uint64_t>();
}

}  // namespace weft::bench
