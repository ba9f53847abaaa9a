// SPDX-License-Identifier: Apache-2.0
// Results without an allocation for each call: decoded into a value of the caller's, or looked at where they
// were received.
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <weft/weft.hpp>

// begin: types
struct Page {
  std::string title;
  std::vector<std::uint32_t> counts;
};
/// The same fields, as views.
struct PageView {
  std::string_view title;
  std::span<const std::uint32_t> counts;
};

Page read_page(std::uint32_t number) {
  return {"page " + std::to_string(number), std::vector<std::uint32_t>(10'000, number)};
}
// end: types

weft::Task<int> ask(weft::Client& client) {
  // begin: into
  Page page;
  for (std::uint32_t number = 1; number <= 3; ++number) {
    weft::Result<void> read = co_await client.call<read_page>(number).into(page);
    if (!read.ok()) co_return 1;
    std::printf("%s has %zu counts\n", page.title.c_str(), page.counts.size());
  }
  // end: into

  // begin: view
  auto seen = co_await client.call<read_page>(4u).view<PageView>();  // weft::Result<weft::Received<PageView>>
  if (!seen.ok()) co_return 1;
  const PageView& view = **seen;  // valid as long as *seen
  std::printf("%.*s has %zu counts\n", static_cast<int>(view.title.size()), view.title.data(),
              view.counts.size());
  // end: view
  co_return 0;
}

int main() {
  auto loop = weft::Loop::create().value();
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 0, .loop = loop.get()}};
  server.register_handler<read_page>();
  server.start().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(ask(client));
}
