// SPDX-License-Identifier: Apache-2.0
// Two connections take their receives from one queue. All queue pairs are of one loop here.
#include <algorithm>
#include <cstdio>
#include <string>
#include <weft/verbs.hpp>
#include <weft/weft.hpp>

namespace verbs = weft::verbs;

// begin: serve
weft::Task<> serve(verbs::SharedReceiveQueue& receives, verbs::MemoryRegion& memory,
                   const verbs::QueuePair& first) {
  // A message takes the oldest receive of the queue; its result names the connection.
  auto one = receives.receive(memory.slice(0, 64));
  auto other = receives.receive(memory.slice(64, 64));
  auto came_first = co_await std::move(one);
  auto came_second = co_await std::move(other);
  if (!came_first.ok() || !came_second.ok()) co_return;
  const bool as_expected = came_first->queue_pair == first.number();
  const auto text = memory.slice(64, came_second->bytes);
  std::printf("%s, then: %s\n", as_expected ? "the first" : "another",
              std::string{weft::as_text(text.bytes())}.c_str());
}
// end: serve

weft::Task<> greet_both(verbs::QueuePair& first, verbs::QueuePair& second, verbs::MemoryRegion& memory) {
  const std::string_view text = "good morning";
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(memory.data()));
  auto sent = co_await first.send(memory.slice(0, text.size()));
  if (!sent.ok()) co_return;
  static_cast<void>(co_await second.send(memory.slice(0, text.size())));
}

weft::Task<> all(verbs::SharedReceiveQueue& receives, verbs::MemoryRegion& servers,
                 const verbs::QueuePair& at_server, verbs::QueuePair& first, verbs::QueuePair& second,
                 verbs::MemoryRegion& clients) {
  auto serving = serve(receives, servers, at_server);
  auto greeting = greet_both(first, second, clients);
  co_await weft::when_all(std::move(serving), std::move(greeting));
}

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
  verbs::QueuePairOptions options{.port = device->active_port().value().number};
  auto first = verbs::QueuePair::create(domain, *completions, options).value();
  auto second = verbs::QueuePair::create(domain, *completions, options).value();

  // begin: share
  auto receives = verbs::SharedReceiveQueue::create(domain, *completions, {.receives_max = 64}).value();
  options.shared_receives = receives.get();
  auto to_first = verbs::QueuePair::create(domain, *completions, options).value();
  auto to_second = verbs::QueuePair::create(domain, *completions, options).value();
  // end: share
  for (const auto& [one, other] : {std::pair{first.get(), to_first.get()}, {second.get(), to_second.get()}}) {
    if (!one->connect(other->address()).ok() || !other->connect(one->address()).ok()) return 1;
  }
  auto servers = verbs::MemoryRegion::allocate(domain, 4096).value();
  auto clients = verbs::MemoryRegion::allocate(domain, 4096).value();
  loop->block_on(all(*receives, servers, *to_first, *first, *second, clients));
  return 0;
}
