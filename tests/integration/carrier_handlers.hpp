// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>
#include <weft/weft.hpp>

#include "integration/carrier_streams.hpp"
#include "support/pattern.hpp"
#include "weft/detail/coro/event.hpp"

/// Handlers that the tests of the carriers (ucx://, verbs://) serve. Shared with a program that they
/// kill.
namespace weft::carrier_testing {

using namespace std::chrono_literals;
using testing::pattern;

inline std::uint64_t sum_of(Bytes bytes) {
  std::uint64_t sum = 0;
  for (const std::byte byte : bytes) sum = sum * 31 + static_cast<std::uint64_t>(byte);
  return sum;
}

inline int add(int a, int b) {
  return a + b;
}
/// Answers never.
inline Task<int> wait_for_ever(int number) {
  Event never;
  [[maybe_unused]] const Result<void> cancelled = co_await never.wait();
  co_return number;
}
inline std::uint64_t sum_up(CallContext& context) {
  return sum_of(context.attachment());
}
inline std::uint64_t give_back(CallContext& context) {
  Buffer taken = context.take_attachment();
  const std::size_t size = taken.size();
  context.set_attachment(std::move(taken));
  return size;
}
/// Gives back the blocks that came, the last first; or every other one of them, at equal distances.
inline std::uint64_t give_back_blocks(CallContext& context, std::uint64_t block, bool others) {
  Buffer taken = context.take_attachment();
  const Bytes all = taken.bytes();
  const std::size_t blocks = all.size() / block;
  if (others) {
    context.set_attachment(
        {AttachmentView::strided(all, (blocks + 1) / 2, block, 2 * block), std::move(taken)});
    return (blocks + 1) / 2;
  }
  std::vector<Bytes> runs;
  for (std::size_t i = blocks; i > 0; --i) runs.push_back(all.subspan((i - 1) * block, block));
  context.set_attachment({runs, std::move(taken)});
  return blocks;
}
inline std::uint64_t produce(CallContext& context, std::uint64_t bytes, std::uint32_t seed) {
  context.set_attachment(Buffer::adopt(pattern(bytes, seed)));
  return bytes;
}

/// Receives the attachment into memory of its own, with a margin that stays as it is.
inline Task<Result<std::uint64_t>> receive_in_place(IncomingAttachment& data) {
  std::vector<std::byte> memory(data.size() + 8, std::byte{0xEE});
  const Result<void> whole = co_await data.into(memory);
  if (!whole.ok()) co_return whole.status();
  if (memory[data.size()] != std::byte{0xEE}) co_return user_error(1, "it landed beyond its end");
  co_return sum_of(MutableBytes{memory}.first(data.size()));
}
inline Task<Result<void>> refuse(IncomingAttachment& data) {
  co_return user_error(static_cast<int>(data.size() % 1000), "not wanted");
}

inline void register_all(Server& server) {
  server.register_handler<add>();
  server.register_handler<wait_for_ever>();
  server.register_handler<sum_up>();
  server.register_handler<give_back>();
  server.register_handler<receive_in_place, refuse>();
  server.register_handler<produce, give_back_blocks>();
  register_streams(server);
}

}  // namespace weft::carrier_testing
