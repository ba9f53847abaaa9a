// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <vector>
#include <weft/weft.hpp>

#include "integration/carrier_handlers.hpp"

/// Calls of a program that is killed in the middle of them.
namespace weft::carrier_testing {

/// A line for whoever started it.
inline void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

inline constexpr std::size_t kVictimsBlock = 4096;

/// Sends in one run and in blocks, in turns.
inline Task<void> send_for_ever(Client* client, const std::vector<std::byte>* bytes) {
  const AttachmentView blocks =
      AttachmentView::strided(*bytes, bytes->size() / (2 * kVictimsBlock), kVictimsBlock, 2 * kVictimsBlock);
  for (bool in_blocks = false;; in_blocks = !in_blocks) {
    CallOptions options{.attachment = Bytes{*bytes}};
    if (in_blocks) options.attachment = blocks;
    [[maybe_unused]] const auto sum = co_await client->call<sum_up>(options);
  }
}
inline Task<void> fetch_for_ever(Client* client, std::vector<std::byte>* landing) {
  const LandingView blocks =
      LandingView::strided(*landing, landing->size() / (2 * kVictimsBlock), kVictimsBlock, 2 * kVictimsBlock);
  for (bool in_blocks = true;; in_blocks = !in_blocks) {
    CallOptions options{.landing = *landing};
    if (in_blocks) options.landing = blocks;
    const std::uint64_t size = options.landing.bytes();
    [[maybe_unused]] const auto there = co_await client->call<produce>(options, size, 1u);
  }
}
/// Calls of every sort, with attachments of `size`; says "calling" once they are under way.
inline Task<void> call_for_ever(Client* client, std::size_t size) {
  const std::vector<std::byte> bytes = pattern(size);
  std::vector<std::byte> landing(size);
  std::vector<Call<int>> waiting;
  for (int i = 0; i < 16; ++i) waiting.push_back(client->start<wait_for_ever>(i));
  [[maybe_unused]] const auto sum = co_await client->call<add>(1, 2);
  say("calling");
  Scope scope;
  scope.spawn(&send_for_ever, client, &bytes);
  scope.spawn(&fetch_for_ever, client, &landing);
  co_await scope.join();
}

}  // namespace weft::carrier_testing
