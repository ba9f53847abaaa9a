// SPDX-License-Identifier: Apache-2.0
// CR-3: the values that can be passed to a function and returned by it.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::value_tests {
namespace {

enum class Colour : std::uint8_t { kRed, kGreen };
struct Point {
  double x = 0;
  double y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};
struct Drawing {
  std::string name;
  std::vector<Point> points;
  std::map<std::string, std::optional<int>> tags;
  std::variant<int, std::string> choice;
  Colour colour = Colour::kRed;
  friend bool operator==(const Drawing&, const Drawing&) = default;
};

Drawing mirror(Drawing drawing) {
  return drawing;
}
std::tuple<bool, std::int8_t, std::uint64_t, float, Colour> numbers(bool truth, std::int8_t small,
                                                                    std::uint64_t large, float real,
                                                                    Colour colour) {
  return {truth, small, large, real, colour};
}
std::size_t look(std::string_view text, std::span<const double> numbers_seen, const std::set<int>& set,
                 std::array<char, 3> letters) {
  double sum = 0;
  for (const double number : numbers_seen) sum += number;
  return text.size() + static_cast<std::size_t>(sum) + set.size() +
         static_cast<std::size_t>(letters[2] - 'a');
}
const char* view_begin;
std::string_view second_half(std::string_view text) {
  view_begin = text.data();
  return text.substr(text.size() / 2);
}
std::span<const int> without_first(std::span<const int> numbers_given) {
  return numbers_given.subspan(1);
}
Task<std::size_t> views_across_suspension(std::string_view text,
                                          std::span<const std::uint32_t> numbers_given) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
  std::size_t sum = text.size();
  for (const std::uint32_t number : numbers_given) sum += number;
  co_return sum;
}
int calls_of_nothing = 0;
void nothing() {
  ++calls_of_nothing;
}
Task<void> nothing_in_coroutine(int) {
  ++calls_of_nothing;
  co_return;
}
std::unique_ptr<std::string> maybe(bool there) {
  return there ? std::make_unique<std::string>("here") : nullptr;
}
double halve(double number) {
  return number / 2;
}

using ArgumentsAndResults = RpcTest;

TEST_F(ArgumentsAndResults, OfAllKindsGoThereAndBack) {
  Server& server = serve({.threads = 1}, [](Server& its) {
    its.register_handler<mirror>();
    its.register_handler<numbers>();
    its.register_handler<look>();
    its.register_handler<maybe>();
  });
  Client& caller = client(server);
  Drawing drawing{"house", {{1, 2}, {3.5, -4}}, {{"a", 1}, {"b", std::nullopt}}, "text", Colour::kGreen};
  EXPECT_EQ(call<mirror>(caller, drawing).value(), drawing);
  EXPECT_EQ(call<numbers>(caller, true, std::int8_t{-5}, ~std::uint64_t{0}, 1.5f, Colour::kGreen).value(),
            std::make_tuple(true, std::int8_t{-5}, ~std::uint64_t{0}, 1.5f, Colour::kGreen));
  const std::vector<double> values{1, 2, 3};
  EXPECT_EQ(
      call<look>(caller, "four", values, std::set<int>{7, 8}, std::array<char, 3>{'a', 'b', 'c'}).value(),
      4u + 6 + 2 + 2);
  EXPECT_EQ(*call<maybe>(caller, true).value(), "here");
  EXPECT_EQ(call<maybe>(caller, false).value(), nullptr);
}

TEST_F(ArgumentsAndResults, ViewsPointIntoTheRequestAndMayBeTheResult) {
  Server& server = serve_here([](Server& its) {
    its.register_handler<second_half>();
    its.register_handler<without_first>();
    its.register_handler<views_across_suspension>();
  });
  Client& caller = client(server);
  EXPECT_EQ(call<second_half>(caller, "front back").value(), " back");
  EXPECT_EQ(call<without_first>(caller, std::vector<int>{1, 2, 3}).value(), (std::vector<int>{2, 3}));
  const std::string large(100'000, 'x');
  EXPECT_EQ(call<second_half>(caller, large).value().size(), 50'000u);
  EXPECT_NE(view_begin, nullptr);
  for (const std::size_t count : {3u, 100'000u}) {
    const std::vector<std::uint32_t> ones(count, 1);
    std::vector<Call<std::size_t>> calls;
    for (int i = 0; i < 20; ++i) calls.push_back(caller.start<views_across_suspension>("abc", ones));
    for (const auto& sum : loop().block_on(await_all(calls))) EXPECT_EQ(sum.value(), count + 3);
  }
}

TEST_F(ArgumentsAndResults, MayBeNone) {
  Server& server = serve_here([](Server& its) {
    its.register_handler<nothing>();
    its.register_handler<nothing_in_coroutine>();
  });
  Client& caller = client(server);
  EXPECT_TRUE(call<nothing>(caller).ok());
  EXPECT_TRUE(call<nothing_in_coroutine>(caller, 1).ok());
  EXPECT_EQ(calls_of_nothing, 2);
}

TEST_F(ArgumentsAndResults, AreConvertedAsInAnyCall) {
  Server& server = serve_here([](Server& its) {
    its.register_handler<halve>();
    its.register_handler<second_half>();
  });
  Client& caller = client(server);
  EXPECT_EQ(call<halve>(caller, 3).value(), 1.5);
  EXPECT_EQ(call<halve>(caller, 'a').value(), 48.5);
  const std::string text = "lvalue";
  EXPECT_EQ(call<second_half>(caller, text).value(), "lue");
  EXPECT_EQ(call<second_half>(caller, std::string{"temporary"}).value(), "orary");
  static_assert(detail::CallableWith<halve, int>);
  static_assert(!detail::CallableWith<halve, std::string>);
  static_assert(!detail::CallableWith<halve>);
  static_assert(!detail::CallableWith<halve, double, double>);
  static_assert(std::is_same_v<detail::ResultOfMethod<second_half>, std::string>);
}

Task<Result<std::string>> call_with_temporaries(Client* caller) {
  Result<std::string> result = co_await caller->call<second_half>(std::string(100, 'a') + "b");
  co_return result;
}
TEST_F(ArgumentsAndResults, GivenAsTemporariesLiveUntilTheCallIsSentAlsoWhenItWaits) {
  Server& server = serve_here([](Server& its) { its.register_handler<second_half>(); });
  EXPECT_EQ(loop().block_on(call_with_temporaries(&client(server))).value(), std::string(50, 'a') + "b");
}

}  // namespace
}  // namespace weft::testing::value_tests
