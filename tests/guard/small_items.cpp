// SPDX-License-Identifier: Apache-2.0
#include "guard/small_items.hpp"

namespace weft::guard {
namespace {

/// The progress of the run that the handler counts in: client and server are one process.
Progress* counted_in = nullptr;

Stream<Payload> send_items(std::uint64_t count) {
  for (Payload item{}; item[0] < count; ++item[0]) co_yield item;
}

Task<void> take_items(Reader<Payload>& items) {
  for (std::uint64_t number = 0;; ++number) {
    auto item = co_await items.next();
    if (!item) break;
    counted_in->end_one((*item)[0] == number);
  }
}

Task<void> read_items(Client* client, Progress* progress, std::uint64_t count) {
  auto stream = client->open<send_items>(count);
  for (std::uint64_t number = 0;; ++number) {
    auto item = co_await stream.next();
    if (!item) break;
    progress->end_one((*item)[0] == number);
  }
  if (!stream.status().ok()) ++progress->failed;
}

Task<void> write_items(Client* client, Progress* progress, std::uint64_t count) {
  auto stream = client->open<take_items>();
  for (Payload item{}; item[0] < count; ++item[0]) {
    if (const bool taken = co_await stream.write(item); !taken) break;
  }
  const Result<void> ended = co_await stream.finish();
  if (!ended.ok()) ++progress->failed;
}

}  // namespace

void register_items(Server& server) {
  server.register_handler<send_items, take_items>();
}

void use_streams(Scope& scope, Client& client, Progress& progress, std::uint64_t streams, bool down) {
  counted_in = &progress;
  for (; streams > 0; --streams) {
    const std::uint64_t count = progress.to_start / streams;
    progress.to_start -= count;
    scope.spawn(down ? &read_items : &write_items, &client, &progress, count);
  }
}

}  // namespace weft::guard
