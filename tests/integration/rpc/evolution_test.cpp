// SPDX-License-Identifier: Apache-2.0
// CR-9: two programs of different age understand each other, or say why they do not.
#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/codec/compatible.hpp"

namespace weft::testing::evolution_tests {

using namespace weft::detail;
namespace {

struct OldOrder {
  std::string item;
  int count = 0;
};
struct NewOrder {
  std::string item;
  int count = 0;
  Compatible<std::string> note;
  Compatible<double, 2> price;
};
struct OldReceipt {
  int number = 0;
};
struct NewReceipt {
  int number = 0;
  Compatible<std::string> text;
};
struct OtherOrder {
  int count = 0;
  std::string item;
};

OldReceipt old_shop(OldOrder order) {
  return {order.count + static_cast<int>(order.item.size())};
}
NewReceipt new_shop(NewOrder order) {
  NewReceipt receipt{order.count + static_cast<int>(order.item.size()), {}};
  receipt.text = order.note.value_or("no note") + (order.price.has_value() ? " priced" : "");
  return receipt;
}
OldReceipt other_shop(OtherOrder order) {
  return {order.count};
}
int count_old(int number) {
  return number;
}
int count_new(int number, Compatible<int> times) {
  return number * times.value_or(1);
}
std::string count_text(std::string text) {
  return text;
}

// Results that grew. Each pair is one function of two releases.
using More = Compatible<std::string>;
struct Sum {
  int value = 0;
  More note;
};
struct Report {
  Compatible<int> warnings;
};

int add_old(int a, int b) {
  return a + b;
}
std::tuple<int, More> add_new(int a, int b) {
  return {a + b, More{"added"}};
}
Sum add_named(int a, int b) {
  return {a + b, "named"};
}
void tell_old(int) {}
std::tuple<std::monostate, More> tell_new(int number) {
  return {std::monostate{}, number != 0 ? More{"told"} : More{}};
}
More tell_bare(int) {
  return "bare";
}
Task<Result<Report>> tell_later(int number) {
  co_return Report{number};
}
OldReceipt order_old(int number) {
  return {number};
}
std::tuple<OldReceipt, More> order_new(int number) {
  return {OldReceipt{number}, More{"ordered"}};
}
std::vector<std::string> list_old(int count) {
  return std::vector<std::string>(static_cast<std::size_t>(count), "a");
}
void list_new(Reply<std::tuple<std::vector<std::string>, More, Compatible<double, 2>>> reply, int count) {
  std::move(reply)(std::tuple{list_old(count), More{}, Compatible<double, 2>{0.5}});
}

using SchemaEvolution = RpcTest;

TEST_F(SchemaEvolution, AnOldCallerIsServedByANewServer) {
  Server& server = serve({.threads = 1}, [](Server& its) {
    its.register_handler<method<new_shop, "shop/order">>();
    its.register_handler<method<count_new, "count">>();
  });
  Client& caller = client(server);
  EXPECT_EQ((call<method<old_shop, "shop/order">>(caller, OldOrder{"apple", 3}).value().number), 8);
  EXPECT_EQ((call<method<count_old, "count">>(caller, 5).value()), 5);
  const NewReceipt receipt =
      call<method<new_shop, "shop/order">>(caller, NewOrder{"apple", 3, "ripe", 1.5}).value();
  EXPECT_EQ(receipt.text, "ripe priced");
  const NewReceipt mixed =
      call<remote<"shop/order", NewReceipt(OldOrder)>>(caller, OldOrder{"apple", 3}).value();
  EXPECT_EQ(mixed.text, "no note");
}

TEST_F(SchemaEvolution, ANewCallerIsServedByAnOldServer) {
  Server& server = serve({.threads = 1}, [](Server& its) {
    its.register_handler<method<old_shop, "shop/order">>();
    its.register_handler<method<count_old, "count">>();
  });
  Client& caller = client(server);
  const NewReceipt receipt =
      call<method<new_shop, "shop/order">>(caller, NewOrder{"apple", 3, "ripe", 1.5}).value();
  EXPECT_EQ(receipt.number, 8);
  EXPECT_FALSE(receipt.text.has_value());
  EXPECT_EQ((call<method<count_new, "count">>(caller, 5, 3).value()), 5);
}

TEST_F(SchemaEvolution, AResultThatGrewReachesCallersOfBefore) {
  Server& server = serve({.threads = 1}, [](Server& its) {
    its.register_handler<method<add_new, "add">, method<add_named, "add named">>();
    its.register_handler<method<tell_new, "tell">, method<tell_bare, "tell bare">>();
    its.register_handler<method<tell_later, "tell later">, method<order_new, "order">>();
    its.register_handler<method<list_new, "list">>();
  });
  Client& caller = client(server);
  EXPECT_EQ((call<method<add_old, "add">>(caller, 1, 2).value()), 3);
  EXPECT_EQ((call<method<add_old, "add named">>(caller, 1, 2).value()), 3);
  EXPECT_TRUE((call<method<tell_old, "tell">>(caller, 1).ok()));
  EXPECT_TRUE((call<method<tell_old, "tell">>(caller, 0).ok()));
  EXPECT_TRUE((call<method<tell_old, "tell bare">>(caller, 1).ok()));
  EXPECT_TRUE((call<method<tell_old, "tell later">>(caller, 1).ok()));
  EXPECT_EQ((call<method<order_old, "order">>(caller, 7).value().number), 7);
  EXPECT_EQ((call<method<list_old, "list">>(caller, 2).value().size()), 2u);

  EXPECT_EQ((call<method<add_new, "add">>(caller, 1, 2).value()), (std::tuple<int, More>{3, "added"}));
  EXPECT_EQ((call<method<add_named, "add named">>(caller, 1, 2).value().note), "named");
  EXPECT_EQ((std::get<1>(call<method<tell_new, "tell">>(caller, 1).value())), "told");
  EXPECT_EQ((call<method<tell_bare, "tell bare">>(caller, 1).value()), "bare");
  EXPECT_EQ((call<method<tell_later, "tell later">>(caller, 4).value().warnings), 4);
  EXPECT_EQ((std::get<1>(call<method<order_new, "order">>(caller, 7).value())), "ordered");
  EXPECT_EQ((std::get<2>(call<method<list_new, "list">>(caller, 2).value())), 0.5);
}

TEST_F(SchemaEvolution, ACallerOfAResultThatGrewFindsTheAdditionsEmptyAtAnOldServer) {
  Server& server = serve({.threads = 1}, [](Server& its) {
    its.register_handler<method<add_old, "add">, method<tell_old, "tell">>();
    its.register_handler<method<order_old, "order">, method<list_old, "list">>();
  });
  Client& caller = client(server);
  EXPECT_EQ((call<method<add_new, "add">>(caller, 1, 2).value()), (std::tuple<int, More>{3, std::nullopt}));
  const Sum sum = call<method<add_named, "add">>(caller, 1, 2).value();
  EXPECT_EQ(sum.value, 3);
  EXPECT_FALSE(sum.note.has_value());
  EXPECT_FALSE((std::get<1>(call<method<tell_new, "tell">>(caller, 1).value()).has_value()));
  EXPECT_FALSE((call<method<tell_bare, "tell">>(caller, 1).value().has_value()));
  EXPECT_FALSE((call<method<tell_later, "tell">>(caller, 1).value().warnings.has_value()));
  const auto [receipt, more] = call<method<order_new, "order">>(caller, 7).value();
  EXPECT_EQ(receipt.number, 7);
  EXPECT_FALSE(more.has_value());
  const auto [list, first, second] = call<method<list_new, "list">>(caller, 2).value();
  EXPECT_EQ(list.size(), 2u);
  EXPECT_FALSE(first.has_value() || second.has_value());
}

TEST_F(SchemaEvolution, AResultOfOneMoreValueThatIsNoAdditionIsAnotherResult) {
  Server& server = serve_here([](Server& its) { its.register_handler<method<add_old, "add">>(); });
  Client& caller = client(server);
  const Status failure = call<remote<"add", std::tuple<int, int>(int, int)>>(caller, 1, 2).status();
  EXPECT_EQ(failure.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string{failure.message()}, ::testing::HasSubstr("({i32, i32})"));
  EXPECT_EQ((call<remote<"add", void(int, int)>>(caller, 1, 2).status().code()),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ((call<remote<"add", More(int, int)>>(caller, 1, 2).status().code()),
            StatusCode::kFailedPrecondition);
}

TEST_F(SchemaEvolution, AnotherSchemaIsAnErrorThatNamesBothSides) {
  Server& server = serve({.threads = 1}, [](Server& its) {
    its.register_handler<method<old_shop, "shop/order">>();
    its.register_handler<method<count_old, "count">>();
  });
  Client& caller = client(server);
  const Status failure = call<method<other_shop, "shop/order">>(caller, OtherOrder{3, "apple"}).status();
  EXPECT_EQ(failure.code(), StatusCode::kFailedPrecondition);
  const std::string text{failure.message()};
  EXPECT_THAT(text, ::testing::HasSubstr("'shop/order'"));
  const MethodKey& ours = detail::method_key<method<old_shop, "shop/order">>;
  const MethodKey& theirs = detail::method_key<method<other_shop, "shop/order">>;
  EXPECT_THAT(text, ::testing::HasSubstr(ours.schema_text(ours)));
  EXPECT_THAT(text, ::testing::HasSubstr(theirs.schema_text(theirs)));
  EXPECT_EQ((call<method<count_text, "count">>(caller, "5").status().code()),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ((call<method<old_shop, "shop/order">>(caller, OldOrder{"pear", 1}).value().number), 5)
      << "the next call on the connection works";
  EXPECT_EQ(caller.stats().connections, 1u);
  EXPECT_EQ(server.stats().calls_refused, 2u);
}

TEST_F(SchemaEvolution, AnotherResultAloneIsAnErrorToo) {
  Server& server = serve_here([](Server& its) { its.register_handler<method<count_old, "count">>(); });
  Client& caller = client(server);
  EXPECT_EQ((call<remote<"count", std::string(int)>>(caller, 1).status().code()),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ((call<remote<"count", int(int)>>(caller, 1).value()), 1);
}

TEST_F(SchemaEvolution, ViewsAndOwnersOfTheSameAreTheSameSchema) {
  Server& server = serve_here([](Server& its) { its.register_handler<method<count_text, "text">>(); });
  EXPECT_EQ((call<remote<"text", std::string_view(std::string_view)>>(client(server), "same").value()),
            "same");
}

}  // namespace
}  // namespace weft::testing::evolution_tests
