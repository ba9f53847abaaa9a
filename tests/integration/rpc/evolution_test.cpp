// SPDX-License-Identifier: Apache-2.0
// CR-9: two programs of different age understand each other, or say why they do not.
#include "integration/rpc/rpc_testing.hpp"
#include "weft/codec/compatible.hpp"

namespace weft::testing {
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
  const MethodKey& ours = method_key<method<old_shop, "shop/order">>;
  const MethodKey& theirs = method_key<method<other_shop, "shop/order">>;
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
}  // namespace weft::testing
