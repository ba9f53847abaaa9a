// SPDX-License-Identifier: Apache-2.0
// One side writes and reads the other's memory, whose program does nothing for it. Two queue pairs of one
// loop stand for two processes.
#include <algorithm>
#include <cstdio>
#include <string>
#include <weft/verbs.hpp>
#include <weft/weft.hpp>

namespace verbs = weft::verbs;

// begin: peer
weft::Task<> write_and_read(verbs::QueuePair& to, verbs::MemoryRegion& mine,
                            const verbs::RemoteMemory& theirs) {
  const std::string_view text = "written from afar";
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(mine.data()));
  auto written = co_await to.write(mine.slice(0, text.size()), theirs);  // when it is done it is there
  if (!written.ok()) co_return;

  const auto into = mine.slice(1024, 4);
  auto read = co_await to.read(into, theirs.slice(13, 4));
  if (read.ok()) std::printf("read back: %s\n", std::string{weft::as_text(into.bytes())}.c_str());
}
// end: peer

// begin: tell
weft::Task<> write_and_tell(verbs::QueuePair& to, verbs::MemoryRegion& mine,
                            const verbs::RemoteMemory& theirs, verbs::QueuePair& owner) {
  auto told = owner.receive(std::span<const verbs::Memory>{});  // no memory: only the number comes here
  const verbs::Memory news = mine.slice(0, 17);
  auto written = co_await to.write_with_immediate({&news, 1}, theirs, 17);
  auto heard = co_await std::move(told);
  if (written.ok() && heard.ok()) std::printf("the owner hears: %u\n", heard->immediate.value_or(0));
}
// end: tell

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
  auto mine = verbs::MemoryRegion::allocate(domain, 4096).value();

  // begin: owner
  const verbs::Access access{.remote_read = true, .remote_write = true};
  auto region = verbs::MemoryRegion::allocate(domain, 4096, access).value();
  const auto offer = region.remote().encode();  // address, size and key: 20 bytes that go to the peer
  // end: owner
  const auto theirs = verbs::RemoteMemory::decode(offer).value();
  loop->block_on(write_and_read(*peer, mine, theirs));
  const auto seen = region.slice(0, 17);
  std::printf("the owner sees: %s\n", std::string{weft::as_text(seen.bytes())}.c_str());
  loop->block_on(write_and_tell(*peer, mine, theirs, *owner));
  return 0;
}
