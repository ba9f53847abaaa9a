// SPDX-License-Identifier: Apache-2.0
// The server that the tests of the Python package call. It prints its URL, and ends when its input ends.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>
#include <weft/codec.hpp>
#include <weft/coroutines.hpp>
#include <weft/streams.hpp>
#include <weft/weft.hpp>

namespace {

struct Point {
  double x = 0;
  double y = 0;
};
struct Shape {
  std::string name;
  std::vector<Point> corners;
  std::optional<int> colour;
  weft::Compatible<std::string, 2> note;
};
struct Everything {
  bool flag = false;
  std::int8_t small = 0;
  std::uint64_t large = 0;
  float single = 0;
  std::vector<std::uint8_t> raw;
  std::vector<double> numbers;
  std::array<std::uint16_t, 3> three{};
  std::set<std::string> names;
  std::map<std::string, Point> places;
  std::map<std::int32_t, std::vector<std::string>> by_number;
  std::multimap<int, int> pairs;
  std::tuple<int, std::string> both;
  std::variant<int, std::string, Point> choice;
  std::optional<std::optional<int>> maybe;
  std::chrono::milliseconds wait{};
  std::chrono::system_clock::time_point when;
  weft::Result<int> outcome = 0;
};

std::atomic<int> waiting = 0;
std::atomic<int> cancelled = 0;

weft::Task<weft::Result<void>> wait_for_ever(weft::CallContext&) {
  ++waiting;
  const auto slept = co_await weft::sleep_for(std::chrono::hours{1});
  if (!slept.ok()) ++cancelled;
  co_return slept;
}
weft::Stream<int> count(int last) {
  for (int i = 1; i <= last; ++i) co_yield i;
}
weft::Task<long> sum(weft::Reader<int>& numbers) {
  long all = 0;
  while (const auto number = co_await numbers.next()) all += *number;
  co_return all;
}
weft::Task<int> echo_all(weft::Reader<Point>& in, weft::Writer<Point>& out) {
  int echoed = 0;
  while (const auto point = co_await in.next()) {
    const bool written = co_await out.write(*point);
    if (!written) break;
    ++echoed;
  }
  co_return echoed;
}
weft::Result<void> fail(int code, std::string message, int wait_ms) {
  weft::Status status{weft::StatusCode{static_cast<std::uint8_t>(code)}, weft::Layer::kUser, message, 7};
  status.set_retry_after(std::chrono::milliseconds{wait_ms});
  return status;
}
std::size_t attach(weft::CallContext& context, std::uint8_t plus) {
  weft::Buffer taken = context.take_attachment();
  const std::size_t size = taken.size();
  for (std::byte& each : taken.mutable_bytes()) each = std::byte(std::to_integer<int>(each) + plus);
  context.set_attachment(std::move(taken));
  return size;
}
std::string metadata(weft::CallContext& context, const std::string& key) {
  return std::string{context.metadata().find(key).value_or("none")};
}

}  // namespace

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler("math/add", [](int a, int b) { return a + b; });
  server.register_handler("echo/text", [](const std::string& text) { return text; });
  server.register_handler("echo/shape", [](const Shape& shape) { return shape; });
  server.register_handler("echo/points", [](const std::vector<Point>& points) { return points; });
  server.register_handler("echo/everything", [](const Everything& all) { return all; });
  server.register_handler("nothing", [] {});
  server.register_handler<weft::method<&wait_for_ever, "wait">>();
  server.register_handler("waiting", [] { return waiting.load(); });
  server.register_handler("cancelled", [] { return cancelled.load(); });
  server.register_handler<weft::method<&count, "count">>();
  server.register_handler<weft::method<&sum, "sum">>();
  server.register_handler<weft::method<&echo_all, "echo/all">>();
  server.register_handler<weft::method<&fail, "fail">>();
  server.register_handler<weft::method<&attach, "attach">>();
  server.register_handler<weft::method<&metadata, "metadata">>();
  server.register_handler("bye", [](weft::CallContext& context) { context.close_connection(); });
  server.start().value();
  std::printf("%s\n", server.urls().front().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}
