// SPDX-License-Identifier: Apache-2.0
// Attachments out of a file: one block by a call, and the whole file, which need not fit into memory, by a
// stream.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <weft/weft.hpp>

constexpr std::size_t kBlock = std::size_t{1} << 20;

// begin: serving
std::optional<weft::File> volume;  // opened before the server starts

/// One block, as the attachment of the answer.
weft::Task<weft::Result<void>> read_block(weft::CallContext& context, std::uint64_t number) {
  weft::Result<weft::Buffer> block = co_await volume->read(number * kBlock, kBlock);
  if (!block.ok()) co_return block.status();  // kOutOfRange: there is no such block
  context.set_attachment(*std::move(block));
  co_return weft::Result<void>{};
}

/// All of them. The next one is read when the reader has room for it.
weft::Stream<std::uint64_t> read_volume() {
  for (std::uint64_t number = 0; number * kBlock < volume->size(); ++number) {
    weft::Result<weft::Buffer> block = co_await volume->read(number * kBlock, kBlock);
    if (!block.ok()) throw block.status();
    co_yield weft::with_attachment(number, *std::move(block));
  }
}
// end: serving

bool is_right(weft::Bytes block, std::uint64_t number) {
  return block.size() == kBlock && block.front() == static_cast<std::byte>(number) &&
         block.back() == block.front();
}

weft::Task<void> check(weft::Client& client) {
  weft::Result<weft::Answer<void>> third = co_await client.call<read_block>(3).with_attachment();
  std::printf("block 3 is %s\n", third.ok() && is_right(third->attachment.bytes(), 3) ? "right" : "wrong");

  weft::Result<weft::Answer<void>> none = co_await client.call<read_block>(64).with_attachment();
  std::printf("block 64: %s\n", std::string{to_string(none.status().code())}.c_str());

  auto blocks = client.open<read_volume>();
  int right = 0;
  while (auto number = co_await blocks.next()) {
    if (is_right(blocks.attachment(), *number)) ++right;
  }
  std::printf("%d of 16 blocks are right\n", blocks.status().ok() ? right : -1);
}

std::string make_volume() {
  std::string path = "/tmp/weft-volume-XXXXXX";
  ::close(::mkstemp(path.data()));
  std::ofstream file{path};
  for (char number = 0; number < 16; ++number) file << std::string(kBlock, number);
  return path;
}

int main() {
  const std::string path = make_volume();
  const auto workers = weft::WorkerPool::start({.name = "disk", .threads = 2}).value();
  volume = weft::File::open(path, *workers).value();
  ::unlink(path.c_str());

  auto loop = weft::Loop::create().value();
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<read_block, read_volume>();
  server.start().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  loop->block_on(check(client));
}
