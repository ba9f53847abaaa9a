// SPDX-License-Identifier: Apache-2.0
// Several connections to one server, shared by all who call it, while the server is restarted.
#include <cstdio>
#include <memory>
#include <string>
#include <weft/weft.hpp>

// begin: idempotent
int price_of(int article) {
  return article * 3;
}
// Asking twice for a price does no harm. The server registers price_of itself.
inline constexpr auto price = weft::idempotent<price_of>;
// end: idempotent

std::unique_ptr<weft::Server> serve(const std::string& url) {
  auto server = std::make_unique<weft::Server>(weft::ServerOptions{.listen = {url}, .threads = 1});
  server->register_handler<price_of>();
  server->start().value();
  return server;
}

// begin: call
weft::Task<int> ask(weft::ConnectionPool& pool, int article) {
  auto answer = co_await pool.call<price>(article);  // weft::Result<int>
  if (!answer.ok()) {
    std::fprintf(stderr, "%s\n", answer.status().to_string().c_str());
    co_return -1;
  }
  co_return *answer;
}
// end: call

int main() {
  auto server = serve("tcp://127.0.0.1:0");
  const std::string url = server->urls().front();

  // begin: pools
  auto loop = weft::Loop::create().value();
  weft::PoolOptions options;
  options.connections_max = 8;
  options.client.call_timeout = std::chrono::seconds{10};
  weft::ConnectionPools pools{*loop, options};  // owned by main; gives one pool for each address
  weft::ConnectionPool& pool = pools.at(url);
  // end: pools

  std::printf("%d\n", loop->block_on(ask(pool, 7)));
  server.reset();
  server = serve(url);  // the pool's connection is gone, which it has not noticed
  std::printf("%d\n", loop->block_on(ask(pool, 14)));
  const bool same = &pools.at(url) == &pool;

  // begin: stats
  const weft::PoolStats stats = pool.stats();
  std::printf("%llu connections came up, %zu is there\n", static_cast<unsigned long long>(stats.connects),
              stats.connections);
  // end: stats
  std::printf("%s\n", same ? "one pool for one address" : "two pools");
  return same ? 0 : 1;
}
