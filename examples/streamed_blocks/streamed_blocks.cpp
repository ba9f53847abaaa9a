// SPDX-License-Identifier: Apache-2.0
// Blocks of a volume in both directions: each is the attachment of a small item.
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

constexpr std::size_t kBlock = std::size_t{1} << 20;

// One volume, of the server's one loop.
std::map<std::uint64_t, weft::Buffer> volume;

// begin: reading
weft::Task<weft::Result<std::uint64_t>> store(weft::Reader<std::uint64_t>& places) {
  std::uint64_t bytes = 0;
  while (auto place = co_await places.next()) {
    bytes += places.attachment().size();
    volume[*place] = places.take_attachment();  // the memory it was received into
  }
  if (!places.status().ok()) co_return places.status();
  co_return bytes;
}
// end: reading

// begin: sending
weft::Stream<std::uint64_t> load(std::uint64_t from, std::uint64_t to) {
  for (auto each = volume.lower_bound(from); each != volume.end() && each->first < to; ++each) {
    co_yield weft::with_attachment(each->first, weft::Buffer::copy_of(each->second.bytes()));
  }
}
// end: sending

// begin: writing
weft::Task<weft::Result<std::uint64_t>> fill(weft::Client& client, std::uint64_t blocks) {
  auto upload = client.open<store>();
  for (std::uint64_t place = 0; place < blocks; ++place) {
    std::vector<std::byte> block(kBlock, static_cast<std::byte>(place));
    const bool written = co_await upload.write(place, weft::Buffer::adopt(std::move(block)));
    if (!written) break;  // the handler has ended: finish() says how
  }
  co_return co_await upload.finish();
}
// end: writing

// begin: client
weft::Task<int> check(weft::Client& client, std::uint64_t from, std::uint64_t to) {
  auto blocks = client.open<load>(from, to);
  int right = 0;
  while (auto place = co_await blocks.next()) {
    const weft::Bytes block = blocks.attachment();  // until the next one is asked for
    if (block.size() == kBlock && block.back() == static_cast<std::byte>(*place)) ++right;
  }
  co_return blocks.status().ok() ? right : -1;
}
// end: client

int main() {
  auto loop = weft::Loop::create().value();
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<store, load>();
  server.start().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  const weft::Result<std::uint64_t> stored = loop->block_on(fill(client, 20));
  std::printf("%llu bytes stored\n", static_cast<unsigned long long>(stored.value_or(0)));
  std::printf("%d blocks are right\n", loop->block_on(check(client, 5, 15)));
}
