// SPDX-License-Identifier: Apache-2.0
// One side writes and reads the other's memory, whose program does nothing for it. Two workers of one loop
// stand for two processes.
#include <cstdio>
#include <string>
#include <weft/ucx.hpp>
#include <weft/weft.hpp>

namespace ucx = weft::ucx;

/// The owner of a region sends this to its peers, by any means.
struct Offer {
  std::uint64_t address;
  std::vector<std::byte> key;
};

// begin: peer
weft::Task<> put_and_get(ucx::Endpoint& to, const Offer& offer) {
  auto key = ucx::RemoteKey::unpack(to, offer.key);
  if (!key.ok()) co_return;
  const auto text = ucx::Memory::copy_of(weft::as_bytes("written from afar"));
  auto written = co_await ucx::put(to, text, offer.address, *key);
  if (!written.ok()) co_return;      // `text` may be used again, but it need not be there yet
  auto there = co_await to.flush();  // now it is
  if (!there.ok()) co_return;

  const auto into = ucx::Memory::allocate(7);
  auto read = co_await ucx::get(to, into, offer.address, *key);
  if (read.ok()) std::printf("read back: %s\n", std::string{weft::as_text(into.bytes())}.c_str());
}
// end: peer

int main() {
  auto context = ucx::Context::create({.features = {.remote_memory = true}}).value();
  auto loop = weft::Loop::create().value();
  auto owner = ucx::Worker::create(*loop, context).value();
  auto peer = ucx::Worker::create(*loop, context).value();
  const auto address = owner->address().value();
  auto to_owner = ucx::Endpoint::connect(*peer, address).value();
  // begin: owner
  auto region = ucx::MemoryRegion::allocate(context, 4096).value();
  const Offer offer{region.address(), region.pack_key().value()};
  // end: owner
  loop->block_on(put_and_get(to_owner, offer));
  const auto seen = region.memory().first(17);
  std::printf("the owner sees: %s\n", std::string{weft::as_text(seen.bytes())}.c_str());
  return 0;
}
