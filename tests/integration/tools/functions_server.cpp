// SPDX-License-Identifier: Apache-2.0
// A server with functions of each kind, for the tool's tests: functions_server [URL], or functions_server URL
// hidden for a server that does not describe them, or functions_server URL closed for a server whose callers
// may call `twice` alone.
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/weft.hpp"

namespace shop {

struct Point {
  double x = 0;
  double y = 0;
};

Point middle(const Point& one, const Point& other) {
  return {(one.x + other.x) / 2, (one.y + other.y) / 2};
}
void forget(const std::string&) {}
weft::Result<int> divide(int number, int by) {
  if (by == 0) return weft::user_error(1, "division by zero", weft::StatusCode::kOutOfRange);
  return number / by;
}
std::string tenant(weft::CallContext& context) {
  return std::string{context.metadata().find("tenant").value_or("none")};
}
int twice(int number) {
  return 2 * number;
}
template <typename T>
T same(T value) {
  return value;
}
weft::Stream<int> count_up(int last) {
  for (int i = 1; i <= last; ++i) co_yield i;
}
weft::Task<int> sum(weft::Reader<int>& numbers, int begin) {
  int sum = begin;
  while (const auto number = co_await numbers.next()) sum += *number;
  co_return sum;
}
weft::Task<void> shift(weft::Reader<Point>& in, weft::Writer<Point>& out, double by) {
  while (const auto point = co_await in.next()) {
    const Point shifted{point->x + by, point->y};
    const bool written = co_await out.write(shifted);
    if (!written) break;
  }
}

}  // namespace shop

int main(int argc, char** argv) {
  weft::ServerOptions options{.listen = {argc > 1 ? argv[1] : "tcp://127.0.0.1:0"}};
  const std::string_view how = argc > 2 ? argv[2] : "";
  options.describe_functions = how != "hidden";
  if (how == "closed") {
    options.authorizer = weft::authorize_by([](const weft::Identity&, std::string_view method) noexcept {
      return method == "shop::twice" || method == "weft.functions.v1";
    });
  }
  weft::Server server{std::move(options)};
  server.register_handler<shop::middle, shop::forget, shop::divide, shop::tenant, shop::twice, shop::count_up,
                          shop::sum, shop::shift, shop::same<int>, shop::same<double>>();
  server.start().value();
  std::printf("listening on %s\n", server.urls().front().c_str());
  std::fflush(stdout);
  server.wait();
}
