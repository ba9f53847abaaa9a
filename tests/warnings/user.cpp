// SPDX-License-Identifier: Apache-2.0
// A user's source: all public headers, and templates of theirs that are made. CMakeLists.txt has the warnings
// that it is free of.
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/access.hpp"
#include "weft/blocking.hpp"
#include "weft/blocking_client.hpp"
#include "weft/bulk.hpp"
#include "weft/connection_pool.hpp"
#include "weft/file.hpp"
#include "weft/fleet.hpp"
#include "weft/naming.hpp"
#include "weft/networks.hpp"
#include "weft/sender.hpp"
#include "weft/weft.hpp"
#if __has_include(<asio.hpp>)
#include "weft/asio.hpp"
#endif
#if __has_include(<google/protobuf/message.h>)
#include "weft/protobuf.hpp"
#include "weft/protobuf_fleet.hpp"
#endif
#if __has_include(<ucp/api/ucp.h>)
#include "weft/ucx.hpp"
#endif
#if __has_include(<infiniband/verbs.h>)
#include "weft/verbs.hpp"
#endif

struct Order {
  int number = 0;
  std::string name;
  std::vector<std::optional<int>> parts;
  std::map<std::string, float> prices;
  std::variant<int, std::string> address;
  bool paid = false;
  char letter = 'a';
  unsigned short count = 0;
};
Order look(const Order& order, std::string_view name);
weft::Task<Order> join(std::vector<Order> orders);
weft::Stream<Order> list(int from);
weft::Task<int> upload(weft::Reader<Order>& orders, int count);
void later(weft::Reply<Order> reply, std::array<short, 3> numbers);
weft::Result<Order> refuse(weft::CallContext& context, double number);

struct Shop {
  int open(int hour) const;
};

void fill(weft::Server& server, Shop* shop) {
  server.register_handler<look, join, list, upload, later, refuse>();
  server.register_handler<&Shop::open>(shop);
  server.register_handler("twice", [](int number) { return 2 * number; });
}

weft::Task<void> use(weft::Client& client, weft::FleetClient& fleet, weft::ConnectionPool& pool) {
  const Order order;
  const std::vector<Order> orders(3);
  auto seen = co_await client.call<look>(order, "x");
  auto joined = co_await client.call<join>({.timeout = weft::Duration{1}}, orders).with_attachment();
  auto started = client.start<look>(order, "x");
  auto later_seen = co_await std::move(started);
  auto stream = client.open<list>(1);
  while (auto item = co_await stream.next()) {
  }
  auto taking = client.open<upload>(1);
  const bool taken = co_await taking.write(order);
  auto count = co_await taking.finish();
  auto of_fleet = co_await fleet.call<look>(order, "x");
  auto of_pool = co_await pool.call<look>(order, "x");
  if (!seen.ok() || !joined.ok() || !later_seen.ok() || !taken || !count.ok() || !of_fleet.ok() ||
      !of_pool.ok())
    co_return;
}

int blocking(weft::BlockingClient& client) {
  const Order order;
  auto seen = client.call<look>(order, "x");
  return seen.ok() ? seen->number : -1;
}
