// SPDX-License-Identifier: Apache-2.0
// CR-11: what a server tells callers about its functions.
#include "weft/detail/functions/described_functions.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/describe/description.hpp"
#include "weft/detail/functions/handler.hpp"

namespace weft::testing::described_functions_tests {

struct Point {
  double x = 0;
  double y = 0;
};
inline Point centre(const std::vector<Point>& points) {
  return points.empty() ? Point{} : points.front();
}
inline int twice(int number) {
  return 2 * number;
}
template <typename T>
T same(T value) {
  return value;
}
inline Stream<int> count_up(int last) {
  for (int i = 1; i <= last; ++i) co_yield i;
}
inline Task<int> sum(Reader<int>& numbers) {
  int sum = 0;
  while (const auto number = co_await numbers.next()) sum += *number;
  co_return sum;
}
inline Task<void> echo_all(Reader<int>& in, Writer<int>& out) {
  while (const auto number = co_await in.next()) {
    const bool written = co_await out.write(*number);
    if (!written) break;
  }
}

namespace {

using detail::DescribedFunction;
using ::testing::ElementsAre;

class DescribedFunctions : public RpcTest {
 protected:
  static void fill(Server& server) {
    server.register_handler<method<&centre, "centre">, method<&twice, "twice">, method<&count_up, "count">,
                            method<&sum, "sum">, method<&echo_all, "echo">>();
  }
  std::vector<DescribedFunction> ask(const Server& server, std::string_view name = {}) {
    return call<detail::kDescribedFunctions>(client(server), name).value();
  }
  static std::vector<std::string> names(const std::vector<DescribedFunction>& functions) {
    std::vector<std::string> names;
    names.reserve(functions.size());
    for (const DescribedFunction& each : functions) names.push_back(each.name);
    return names;
  }
};

TEST_F(DescribedFunctions, AreListedByNameWithTheNamesOfFields) {
  const std::vector<DescribedFunction> functions = ask(serve_here(fill));
  EXPECT_THAT(names(functions), ElementsAre("centre", "count", "echo", "sum", "twice"));
  EXPECT_EQ(functions[0].types, "([{x: f64, y: f64}]) -> ({x: f64, y: f64})");
  EXPECT_EQ(functions[0].schema, (detail::method_key<method<&centre, "centre">>.schema));
  for (const DescribedFunction& each : functions) {
    const auto parsed = detail::MethodDescription::parse(each.types);
    ASSERT_TRUE(parsed.ok()) << each.types << parsed.status().to_string();
    EXPECT_EQ(each.takes_stream, parsed->items_in.has_value()) << each.name;
    EXPECT_EQ(each.gives_stream, parsed->items_out.has_value()) << each.name;
  }
}

TEST_F(DescribedFunctions, AreFoundByNameAllThatShareIt) {
  Server& server = serve_here([](Server& its) {
    fill(its);
    its.register_handler("thrice", [](int number) { return 3 * number; });
    its.register_handler<same<int>, same<std::string>>();
  });
  const auto both = ask(server, detail::function_name<same<int>>);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].name, both[1].name);
  EXPECT_NE(both[0].schema, both[1].schema);
  EXPECT_THAT(names(ask(server, "thrice")), ElementsAre("thrice"));
  EXPECT_TRUE(ask(server, "thric").empty());
  EXPECT_TRUE(ask(server, "weft.functions.v1").empty()) << "it describes what users registered";
}

TEST_F(DescribedFunctions, AreThoseThatTheCallerMayCall) {
  ServerOptions options;
  options.authorizer = authorize_by([](const Identity&, std::string_view method) noexcept {
    return method == "twice" || method == "sum" || method == "weft.functions.v1";
  });
  Server& server = serve_here(std::move(options), fill);
  EXPECT_THAT(names(ask(server)), ElementsAre("sum", "twice"));
  EXPECT_TRUE(ask(server, "centre").empty());

  ServerOptions closed;
  closed.authorizer =
      authorize_by([](const Identity&, std::string_view method) noexcept { return method == "twice"; });
  Client& caller = client(serve_here(std::move(closed), fill));
  EXPECT_EQ(call<detail::kDescribedFunctions>(caller, "").status().code(), StatusCode::kUnauthenticated);
  EXPECT_EQ((call<method<&twice, "twice">>(caller, 4).value()), 8);
}

TEST_F(DescribedFunctions, AreNotToldWhereTheServerSaysSo) {
  ServerOptions options;
  options.describe_functions = false;
  Server& server = serve_here(std::move(options), fill);
  EXPECT_EQ(call<detail::kDescribedFunctions>(client(server), "").status().code(),
            StatusCode::kUnimplemented);
  EXPECT_EQ(server.stats().methods.size(), 5u);
}

TEST_F(DescribedFunctions, AreCountedBehindTheUsersOwn) {
  Server& server = serve_here(fill);
  static_cast<void>(ask(server));
  static_cast<void>(ask(server, "sum"));
  const ServerStats stats = server.stats();
  ASSERT_EQ(stats.methods.size(), 6u);
  EXPECT_EQ(stats.methods.front().name, "centre");
  EXPECT_EQ(stats.methods.back().name, "weft.functions.v1");
  EXPECT_EQ(stats.methods.back().answered, 2u);
}

TEST_F(DescribedFunctions, AreToldByAllLoopsAtOnce) {
  Server& server = serve({.threads = 3}, fill);
  std::vector<Client*> callers;
  callers.reserve(6);
  for (int i = 0; i < 6; ++i) callers.push_back(&client(server));
  std::vector<Call<std::vector<DescribedFunction>>> calls;
  calls.reserve(callers.size());
  for (Client* const caller : callers) calls.push_back(caller->start<detail::kDescribedFunctions>(""));
  for (const auto& answer : loop().block_on(await_all(calls))) EXPECT_EQ(answer.value().size(), 5u);
}

}  // namespace
}  // namespace weft::testing::described_functions_tests
