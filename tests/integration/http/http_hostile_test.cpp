// SPDX-License-Identifier: Apache-2.0
// CR-11: hostile clients of HTTP. Each takes little memory of the server, gets the answer of the standard,
// and leaves other clients their service.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
#include <weft/http.hpp>
#include <weft/weft.hpp>

#include "integration/http/raw_http.hpp"
#include "support/heap_count.hpp"
#include "support/sanitizers.hpp"

namespace http_hostile {

std::size_t length(std::string text) {
  return text.size();
}
std::string repeat(std::string text, std::uint32_t times) {
  std::string out;
  for (std::uint32_t i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace http_hostile

namespace weft::testing {
namespace {

/// The sanitizers make reading JSON many times slower.
constexpr std::size_t kClients = WEFT_ADDRESS_SANITIZER || WEFT_THREAD_SANITIZER ? 4 : 64;

/// Bytes that each of kClients sends, the status that each gets, and the most memory that each may take.
struct Attack {
  const char* name;
  std::string bytes;
  int status;  ///< 0: no answer, the server waits for more
  std::size_t memory_max;
};

std::string head(std::string_view fields) {
  return "POST /functions/http_hostile::length HTTP/1.1\r\nHost: h\r\n" + std::string{fields};
}
std::string call(std::string_view json) {
  return head("Content-Length: " + std::to_string(json.size()) + "\r\n\r\n") + std::string{json};
}
std::string fields(std::size_t count, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += "X" + std::to_string(i) + ": " + std::string(bytes, 'v') + "\r\n";
  return text;
}
std::string many(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::vector<Attack> attacks() {
  const std::string asks_much =
      "POST /functions/http_hostile::repeat HTTP/1.1\r\nHost: h\r\nContent-Length: "
      "20\r\n\r\n[\"0123456789\", 5000]";
  return {
      {"NothingBehindAHead", head("Content-Length: 1000000\r\n\r\n"), 0, 40'000},
      {"OneByteOfABody", head("Content-Length: 1000000\r\n\r\n["), 0, 40'000},
      {"OneByteOfAChunk", head("Transfer-Encoding: chunked\r\n\r\nf4240\r\n["), 0, 40'000},
      {"AHeadWithoutAnEnd", head(fields(90, 150)), 0, 80'000},
      {"AHeadThatIsTooLong", head(fields(90, 250)), 431, 80'000},
      {"TooManyFields", head(fields(200, 1)), 431, 80'000},
      {"ARequestLineThatIsTooLong", "POST /" + std::string(10'000, 'a'), 414, 80'000},
      {"AChunkWithAnExtension", head("Transfer-Encoding: chunked\r\n\r\n1;" + std::string(5000, 'x')), 400,
       80'000},
      {"TrailersWithoutAnEnd", head("Transfer-Encoding: chunked\r\n\r\n0\r\n" + fields(90, 150)), 0, 80'000},
      {"TwoLengths", head("Content-Length: 1\r\nContent-Length: 2\r\n\r\n"), 400, 40'000},
      {"LengthAndChunks", head("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400, 40'000},
      {"ASpaceBeforeTheColon", head("Content-Length : 1\r\n\r\n"), 400, 40'000},
      {"AFoldedField", head("X: a\r\n b\r\n\r\n"), 400, 40'000},
      {"ABareLineFeed", "POST / HTTP/1.1\nHost: h\n\n", 400, 40'000},
      {"ABodyThatIsTooLong", head("Content-Length: 2000000\r\n\r\n"), 413, 40'000},
      {"ANestedArray", call(std::string(1'000'000, '[')), 400, 300'000},
      {"ANestedObject", call(many("{\"a\":", 150'000)), 400, 300'000},
      {"AHugeNumber", call("[" + std::string(1'000'000, '9') + "]"), 400, 300'000},
      {"AHugeExponent", call("[1e" + std::string(1000, '9') + "]"), 400, 60'000},
      {"AStringThatIsNoText", call("[\"\xC3\x28\"]"), 400, 60'000},
      {"ALoneSurrogate", call("[\"\\uD800\"]"), 400, 60'000},
      {"ManyArguments", call("[" + many("1,", 400'000) + "1]"), 400, 300'000},
      {"AnswersThatAreNotRead", many(asks_much, 400), 200, 800'000},
  };
}

class HttpHostile : public ::testing::TestWithParam<Attack> {};

TEST_P(HttpHostile, TakesLittleMemoryAndHarmsNoOther) {
  const Attack& attack = GetParam();
  // Memory of the program itself, such as the buffers of the first call, is there before.
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1, .protocols = {http()}}};
  server.register_handler<http_hostile::length>();
  server.register_handler<http_hostile::repeat>();
  ASSERT_TRUE(server.start().ok());
  const std::string url = server.urls().front();
  RawHttp neighbour{url};
  const auto neighbour_is_served = [&] {
    return neighbour.call("/functions/http_hostile::length", "[\"abc\"]").body == "3";
  };
  ASSERT_TRUE(neighbour_is_served());

  std::vector<std::unique_ptr<RawHttp>> clients;
  for (std::size_t i = 0; i < kClients; ++i) clients.push_back(std::make_unique<RawHttp>(url));
  while (server.stats().connections_accepted != kClients + 1) std::this_thread::yield();
  ASSERT_TRUE(neighbour_is_served());
  const std::size_t before = heap_bytes();
  restart_heap_peak();
  for (const auto& client : clients) {
    client->send(attack.bytes);
    ASSERT_TRUE(neighbour_is_served());
  }
  if (attack.status != 0) {
    for (const auto& client : clients) EXPECT_EQ(client->read().status, attack.status);
  } else {
    // Everything has arrived, and the server waits.
    while (server.stats().traffic.bytes_received < kClients * attack.bytes.size()) std::this_thread::yield();
  }
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(neighbour_is_served());
  if (kHeapIsCounted) {
    const std::size_t each = (heap_peak_bytes() - before) / kClients;
    std::printf("  %zu bytes for each client\n", each);
    EXPECT_LE(each, attack.memory_max);
  }
  clients.clear();
  while (server.stats().connections != 1) std::this_thread::yield();
  EXPECT_TRUE(neighbour_is_served());
}

INSTANTIATE_TEST_SUITE_P(Attacks, HttpHostile, ::testing::ValuesIn(attacks()),
                         [](const auto& parameters) { return std::string{parameters.param.name}; });

}  // namespace
}  // namespace weft::testing
