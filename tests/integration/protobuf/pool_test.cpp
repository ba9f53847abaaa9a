// SPDX-License-Identifier: Apache-2.0
// CR-12, LG-1: stubs and channels of protobuf over a pool of connections.
#include "integration/protobuf/dropin_testing.hpp"
#include "shelf.weft.hpp"
#include "weft/connection_pool.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::testing {

namespace {

/// Answers when it may, and counts what it was asked.
class Shelf : public test::ShelfServer {
 public:
  Task<Result<void>> Look(CallContext&, const test::Book& request, test::Book& response) override {
    ++looks;
    response.set_title(request.title());
    Result<void> opened = co_await gate.wait();
    co_return opened;
  }
  Task<Result<void>> Put(CallContext&, const test::Book& request, test::Book& response) override {
    ++puts;
    response.set_title(request.title());
    Result<void> opened = co_await gate.wait();
    co_return opened;
  }

  int looks = 0;
  int puts = 0;
  Event gate;
};

class ProtobufPools : public ProtobufTest {
 protected:
  ~ProtobufPools() override { pool_.reset(); }

  template <typename Service>
  void serve(Service& service, const std::string& url = kAnyPort) {
    server_.reset();
    server_ = std::make_unique<Server>(ServerOptions{.listen = {url}, .threads = 0, .loop = &loop()});
    protobuf::Services all{*server_};
    all.add(service);
    server_->start().value();
  }
  ConnectionPool& make_pool() {
    PoolOptions options;
    options.client.connect = server_->urls().front();
    pool_ = std::make_unique<ConnectionPool>(loop(), options);
    return *pool_;
  }

  std::unique_ptr<Server> server_;
  std::unique_ptr<ConnectionPool> pool_;
};

/// Keeps the outcomes of one call of each method.
struct Outcomes {
  std::optional<Result<test::Book>> looked;
  std::optional<Result<test::Book>> put;
};

Task<void> look(test::ShelfStub stub, Outcomes* outcomes) {
  test::Book book;
  book.set_title("one");
  outcomes->looked = co_await stub.Look(book);
}
Task<void> put(test::ShelfStub stub, Outcomes* outcomes) {
  test::Book book;
  book.set_title("two");
  outcomes->put = co_await stub.Put(book);
}

TEST_F(ProtobufPools, RepeatAMethodThatItsProtoFileCallsHarmlessAndNoOther) {
  Shelf shelf;
  serve(shelf);
  ConnectionPool& pool = make_pool();
  Outcomes outcomes;
  Scope scope;
  run_in_turn([&] {
    scope.spawn(&look, test::ShelfStub{pool}, &outcomes);
    scope.spawn(&put, test::ShelfStub{pool}, &outcomes);
  });
  ASSERT_TRUE(turn_until(loop(), [&] { return shelf.looks == 1 && shelf.puts == 1; }));
  serve(shelf, pool.options().client.connect);
  ASSERT_TRUE(turn_until(loop(), [&] { return shelf.looks == 2; }));
  shelf.gate.set();
  ASSERT_TRUE(turn_until(loop(), [&] { return scope.count() == 0; }));
  EXPECT_EQ(outcomes.looked->value().title(), "one");
  EXPECT_EQ(outcomes.put->status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(shelf.puts, 1);
}

TEST_F(ProtobufPools, CarryTheStubsThatProtocGenerates) {
  EchoImpl service;
  serve(service);
  ConnectionPool& pool = make_pool();
  protobuf::Channel channel{pool};
  EchoService_Stub stub{&channel};
  EchoRequest request;
  request.set_text("over a pool");
  EchoResponse response;
  protobuf::Controller controller;
  bool called = false;
  const auto note = [](bool* what) { *what = true; };
  run_in_turn([&] {
    stub.Echo(&controller, &request, &response, NewCallback(+note, &called));
    request.set_text("another");  // the call keeps what it needs
  });
  ASSERT_TRUE(turn_until(loop(), [&] { return called; }));
  EXPECT_FALSE(controller.Failed()) << controller.ErrorText();
  EXPECT_EQ(response.text(), "over a pool");
}

}  // namespace

}  // namespace weft::testing
