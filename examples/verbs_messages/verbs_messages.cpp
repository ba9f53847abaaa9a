// SPDX-License-Identifier: Apache-2.0
// Each message takes one receive of the peer's. Two queue pairs of one loop stand for two processes.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <weft/verbs.hpp>
#include <weft/weft.hpp>

namespace verbs = weft::verbs;

// begin: exchange
weft::Task<> exchange(verbs::QueuePair& guest, verbs::QueuePair& cafe, verbs::MemoryRegion& guests_memory,
                      verbs::MemoryRegion& cafes_memory) {
  const std::string_view order = "two coffees";
  std::copy(order.begin(), order.end(), reinterpret_cast<char*>(guests_memory.data()));

  auto ordered = cafe.receive(cafes_memory.slice(0, 64));  // posted: there before the message comes
  auto sent = co_await guest.send(guests_memory.slice(0, order.size()));
  auto received = co_await std::move(ordered);
  if (!sent.ok() || !received.ok()) co_return;
  const auto text = cafes_memory.slice(0, received->bytes);
  std::printf("%s\n", std::string{weft::as_text(text.bytes())}.c_str());
}
// end: exchange

// begin: pieces
weft::Task<> in_pieces(verbs::QueuePair& guest, verbs::QueuePair& cafe, verbs::MemoryRegion& guests_memory,
                       verbs::MemoryRegion& cafes_memory) {
  auto paid = cafe.receive(cafes_memory.slice(0, 64));
  // One message from two places, and 32 bits along with it.
  const std::array<verbs::Memory, 2> pieces{guests_memory.slice(4, 7), guests_memory.slice(0, 3)};
  auto sent = co_await guest.send_with_immediate(pieces, 420);
  auto received = co_await std::move(paid);
  if (!sent.ok() || !received.ok()) co_return;
  const auto text = cafes_memory.slice(0, received->bytes);
  std::printf("%s, %u\n", std::string{weft::as_text(text.bytes())}.c_str(), received->immediate.value_or(0));
}
// end: pieces

int main() {
  // begin: setup
  auto opened = verbs::Device::open();  // the first one
  if (!opened.ok()) {
    std::printf("%s\n", opened.status().to_string().c_str());
    return 1;
  }
  const auto& device = opened.value();
  auto domain = verbs::ProtectionDomain::create(device).value();
  auto loop = weft::Loop::create().value();
  auto completions = verbs::CompletionQueue::create(*loop, device).value();

  const verbs::QueuePairOptions options{.port = device->active_port().value().number};
  auto guest = verbs::QueuePair::create(domain, *completions, options).value();
  auto cafe = verbs::QueuePair::create(domain, *completions, options).value();
  // address().encode() travels to the peer by any means: a socket, a file. Each connects to the other.
  if (!guest->connect(cafe->address()).ok() || !cafe->connect(guest->address()).ok()) return 1;

  auto guests_memory = verbs::MemoryRegion::allocate(domain, 4096).value();
  auto cafes_memory = verbs::MemoryRegion::allocate(domain, 4096).value();
  loop->block_on(exchange(*guest, *cafe, guests_memory, cafes_memory));
  // end: setup
  loop->block_on(in_pieces(*guest, *cafe, guests_memory, cafes_memory));
  return 0;
}
