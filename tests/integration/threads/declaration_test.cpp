// SPDX-License-Identifier: Apache-2.0
// CR-21: what a client must see of a function that it calls.
#include "integration/threads/declared.hpp"
#include "integration/threads/threads_testing.hpp"

namespace weft::testing::declaration_tests {
namespace {

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// The server is built elsewhere, with a definition; here another function stands for it, under its name.
TEST(Declaration, OfAFunctionIsEnoughToCallIt) {
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<method<repeated, "weft::testing::only_declared">>();
  server.start().value();
  BlockingClient client{{.connect = server.urls().front()}};
  EXPECT_EQ(client.call<only_declared>("ab", 3).value(), "ababab");
}

}  // namespace
}  // namespace weft::testing::declaration_tests
