// SPDX-License-Identifier: Apache-2.0
// Items that threads read are counted for their connection no longer, so that it goes on for ever.
#include "integration/threads/threads_testing.hpp"

namespace weft::testing::kept_items_tests {
namespace {

constexpr std::size_t kItem = 64 * 1024;
constexpr int kItems = 100;

std::uint64_t bytes_of(BlockingReader<std::string>& texts) {
  std::uint64_t bytes = 0;
  while (auto text = texts.next()) bytes += text->size();
  return bytes;
}

TEST(KeptItems, OfAReaderThatKeepsUpAreNotCountedAfterwards) {
  ServerOptions options{.listen = {"tcp://127.0.0.1:0"}, .worker_threads = 2};
  options.limits.connection_memory_max = 2u << 20;
  // Even if the reader's thread runs late, the items that wait for it fit in the connection's memory.
  options.limits.stream_window = 256u << 10;
  Server server{std::move(options)};
  server.register_handler<bytes_of>();
  server.start().value();
  BlockingClient client{ClientOptions{.connect = server.urls().front()}};
  for (int stream = 0; stream < 2; ++stream) {
    auto up = client.open<bytes_of>();
    for (int i = 0; i < kItems; ++i)
      ASSERT_TRUE(up.write(std::string(kItem, 'x'))) << up.status().to_string();
    const auto bytes = up.finish();
    ASSERT_TRUE(bytes.ok()) << bytes.status().to_string();
    EXPECT_EQ(*bytes, kItems * kItem) << "more than the connection's memory";
  }
}

}  // namespace
}  // namespace weft::testing::kept_items_tests
