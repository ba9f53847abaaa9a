// SPDX-License-Identifier: Apache-2.0
// One port for clients of Weft and for HTTP.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>
#include <weft/http.hpp>
#include <weft/weft.hpp>

// begin: handler
struct Point {
  double x = 0;
  double y = 0;
};

Point centre(const std::vector<Point>& points) {
  Point sum;
  for (const Point& point : points) {
    sum.x += point.x / static_cast<double>(points.size());
    sum.y += point.y / static_cast<double>(points.size());
  }
  return sum;
}
// end: handler

int main(int argc, char** argv) {
  // begin: server
  weft::ServerOptions options{.listen = {argc > 1 ? argv[1] : "tcp://127.0.0.1:0"}};
  options.protocols.push_back(weft::http());
  weft::Server server{std::move(options)};
  server.register_handler<centre>();
  server.start().value();
  // end: server

  weft::BlockingClient client{{.connect = server.urls().front()}};
  const auto middle = client.call<centre>(std::vector<Point>{{0, 0}, {6, 0}, {0, 3}});
  if (!middle.ok()) return 1;
  std::printf("the centre is at %g, %g\n", middle->x, middle->y);
  if (argc == 1) return 0;
  const std::string url = server.urls().front();
  std::printf("curl http://127.0.0.1:%s/functions/centre -d '[[[0,0],[6,0],[0,3]]]'\n",
              url.substr(url.rfind(':') + 1).c_str());
  std::fflush(stdout);
  server.wait();
}
