// SPDX-License-Identifier: Apache-2.0
// Attachments without a copy: the client's RDMA device reads them from the server's memory into the client's.
// Over other transports the same program works, and copies.
#include <algorithm>
#include <cstdio>
#include <vector>
#include <weft/weft.hpp>

constexpr std::size_t kBlockBytes = 1 << 20;

// begin: server
/// Four blocks, each sent from where it lies.
class Store {
 public:
  Store() {
    for (std::size_t i = 0; i < 4; ++i) {
      std::fill_n(memory_.data() + i * kBlockBytes, kBlockBytes, static_cast<std::byte>('a' + i));
    }
  }
  weft::Result<void> register_with(const weft::Server& server) {
    auto lease = server.register_memory(memory_);
    if (!lease.ok()) return lease.status();
    lease_ = *std::move(lease);
    return {};
  }
  bool read(weft::CallContext& context, std::uint32_t block) {
    if (block >= 4) return false;
    const weft::MutableBytes bytes = weft::MutableBytes{memory_}.subspan(block * kBlockBytes, kBlockBytes);
    context.set_attachment(weft::Buffer::adopt(bytes, nullptr, [](void*) noexcept {}));  // stays the store's
    return true;
  }

 private:
  std::vector<std::byte> memory_ = std::vector<std::byte>(4 * kBlockBytes);
  weft::MemoryLease lease_;  // ends before the memory
};
// end: server

weft::Task<int> read_two(weft::Client& client) {
  // begin: client
  std::vector<std::byte> landing(kBlockBytes);
  auto lease = client.register_memory(landing);  // once, for as many calls as use it
  if (!lease.ok()) co_return 1;
  for (const std::uint32_t block : {0u, 2u}) {
    const weft::CallOptions options{.landing = landing};
    auto found = co_await client.call<&Store::read>(options, block);
    if (!found.ok()) co_return 1;
    std::printf("block %u is full of '%c'\n", block, static_cast<char>(landing[kBlockBytes / 2]));
  }
  // end: client
  co_return 0;
}

int main() {
  Store store;  // outlives the server
  weft::Server server{{.listen = {"verbs://127.0.0.1:0"}}};
  if (auto registered = store.register_with(server); !registered.ok()) return 1;
  server.register_handler<&Store::read>(&store);
  if (auto started = server.start(); !started.ok()) {
    std::printf("%s\n", started.status().to_string().c_str());  // this machine has no RDMA device
    return 1;
  }
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(read_two(client));
}
