// SPDX-License-Identifier: Apache-2.0
// A bulk handle refers to memory of a server. Messages carry the handle, and its owner reads and writes the
// memory within the bounds of the handle until the server revokes it.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>
#include <weft/bulk.hpp>
#include <weft/weft.hpp>

// begin: server
/// Has a table of numbers, which its clients fetch the parts of that they need.
class Numbers {
 public:
  explicit Numbers(weft::BulkHost& host)
      : region_(host.share(weft::Buffer::try_allocate(4 << 20).value(), weft::BulkRights::kRead).value()) {
    for (std::size_t i = 0; i < region_.memory().size(); ++i)
      region_.memory()[i] = static_cast<std::byte>(i >> 20);
  }
  weft::BulkHandle handle() { return region_.handle(); }
  void withdraw() { region_.revoke(); }

 private:
  weft::BulkRegion region_;
};
// end: server

// begin: options
/// Reads all of it, in five seconds or not at all, and no faster than 100 MiB a second.
weft::Task<weft::Result<std::vector<std::byte>>> fetch_all(weft::BulkPeer& peer, weft::BulkHandle handle) {
  std::vector<std::byte> all(handle.bytes);
  weft::TransferProgress progress;
  weft::CallOptions options{.timeout = std::chrono::seconds{5}};
  options.progress = &progress;
  options.landing_rate = 100 << 20;
  weft::Result<void> read = co_await peer.read(handle, 0, all, options);
  if (!read.ok()) {
    co_return read.status().with_context(std::to_string(progress.received()) + " bytes were here");
  }
  co_return all;
}
// end: options

weft::Task<int> fetch_whole(weft::Client& client) {
  auto handle = co_await client.call<&Numbers::handle>();
  if (!handle.ok()) co_return 1;
  weft::BulkPeer peer{client};
  auto all = co_await fetch_all(peer, *handle);
  if (!all.ok()) co_return 1;
  std::printf("%zu bytes are here\n", all->size());
  co_return 0;
}

weft::Task<int> fetch(weft::Client& client) {
  // begin: client
  auto handle = co_await client.call<&Numbers::handle>();
  if (!handle.ok()) co_return 1;
  weft::BulkPeer peer{client};
  std::vector<std::byte> part(1000);
  const std::uint64_t third = std::uint64_t{2} << 20;
  weft::Result<void> read = co_await peer.read(*handle, third, part);
  if (!read.ok()) co_return 1;
  std::printf("the third MiB is full of %d\n", static_cast<int>(part[999]));

  read = co_await peer.read(*handle, handle->bytes - 10, part);
  std::printf("%s\n", read.status().to_string().c_str());
  read = co_await peer.write(*handle, 0, weft::Bytes{part});
  std::printf("%s\n", read.status().to_string().c_str());
  auto withdrawn = co_await client.call<&Numbers::withdraw>();
  if (!withdrawn.ok()) co_return 1;
  read = co_await peer.read(*handle, 0, part);
  std::printf("%s\n", read.ok() ? "it can still be read" : "it is withdrawn");
  // end: client
  co_return 0;
}

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  weft::BulkHost host{server};
  Numbers numbers{host};
  server.register_handler<&Numbers::handle, &Numbers::withdraw>(&numbers);
  server.start().value();

  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  int failures = loop->block_on(fetch_whole(client));
  failures += loop->block_on(fetch(client));
  server.stop();
  return failures;
}
