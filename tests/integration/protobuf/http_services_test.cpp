// SPDX-License-Identifier: Apache-2.0
// CR-11: methods of protobuf services are called by HTTP with protobuf's JSON.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <weft/http.hpp>

#include "integration/http/raw_http.hpp"
#include "integration/protobuf/dropin_testing.hpp"
#include "integration/protobuf/numbers.hpp"
#include "integration/protobuf/services_testing.hpp"

namespace weft::testing {
namespace {

class Shop final : public test::ShopServer {
 public:
  Task<Result<void>> Buy(CallContext&, const test::Order& request, test::Receipt& response) override {
    if (request.item() != "nothing") response.set_number(request.id());
    co_return Result<void>{};
  }
};

class HttpServices : public ::testing::Test {
 protected:
  HttpServices() {
    protobuf::Services services{server_};
    services.add(echo_);
    services.add(shop_);
    services.add(numbers_);
    services.add(generic_);
    server_.start().value();
    client_.emplace(server_.urls().front());
  }
  HttpAnswer call(std::string_view path, std::string_view json, std::string_view headers = {}) {
    return client_->call(path, json, headers);
  }

  Echo echo_;
  Shop shop_;
  Numbers numbers_;
  EchoImpl generic_;
  Server server_{{.listen = {"tcp://127.0.0.1:0"}, .protocols = {http()}}};
  std::optional<RawHttp> client_;
};

TEST_F(HttpServices, MethodsAreCalledWithTheJsonOfProtobuf) {
  const HttpAnswer said = call("/weft.test.Echo/Say", R"({"text": "h\u00e9", "copies": 2})");
  EXPECT_EQ(said.status, 200);
  EXPECT_EQ(said.body, "{\"text\":\"h\xC3\xA9\",\"copies\":[\"h\xC3\xA9\",\"h\xC3\xA9\"]}");
  EXPECT_EQ(call("/weft.test.Echo/Say", "").body, "{}") << "no body is an empty message";
  EXPECT_EQ(call("/weft.test.Echo/Grow", R"({"child": {"leaf": "a"}})").body,
            R"({"child":{"child":{"leaf":"a"}}})");
  EXPECT_EQ(call("/weft.streams.Numbers/Double", R"({"value": "4611686018427387903"})").body,
            R"({"value":"9223372036854775806"})")
      << "integers of 64 bits are strings";
  EXPECT_EQ(call("/weft.test.Shop/Buy", R"({"id": 7, "parts": [{"name": "wheel"}]})").body,
            R"({"number":7})");
}

TEST_F(HttpServices, ServicesThatProtocGeneratedAreCalledToo) {
  EXPECT_EQ(call("/weft.dropin.EchoService/Echo", R"({"text": "a"})").body, R"({"text":"a"})");
  EXPECT_EQ(call("/weft.dropin.EchoService/Echo", R"({"text": "refuse"})").status, 500);
  EXPECT_EQ(call("/weft.dropin.EchoService/Echo", R"({"text": "throw"})").status, 500);
}

TEST_F(HttpServices, DeadlinesAndMetadataReachTheMethod) {
  EXPECT_EQ(call("/weft.test.Echo/Say", "{}", "Weft-Timeout-Ms: 60000\r\nWeft-Meta-Tenant: blue\r\n").status,
            200);
  EXPECT_EQ(echo_.tenant, "blue");
  EXPECT_FALSE(echo_.deadline.is_infinite());
}

TEST_F(HttpServices, FaultsOfARequestAreNamed) {
  const HttpAnswer unknown = call("/weft.test.Echo/Say", R"({"txt": "a"})");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_NE(unknown.body.find("txt"), std::string::npos) << unknown.body;
  EXPECT_NE(unknown.body.find("weft.test.EchoRequest"), std::string::npos) << unknown.body;
  EXPECT_EQ(call("/weft.test.Echo/Say", R"({"text": 7})").status, 400);
  EXPECT_EQ(call("/weft.test.Echo/Say", "{").status, 400);
  EXPECT_EQ(call("/weft.test.Echo/Say", "{\"text\": \"\xFF\"}").status, 400);
  EXPECT_EQ(call("/weft.test.Echo/Say", R"({"copies": 4294967296})").status, 400);
  const HttpAnswer missing = call("/weft.test.Shop/Buy", R"({"item": "wheel"})");
  EXPECT_EQ(missing.status, 400);
  EXPECT_NE(missing.body.find("id"), std::string::npos) << missing.body;
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"child":)";
  EXPECT_EQ(call("/weft.test.Echo/Grow", deep).status, 400);
  EXPECT_EQ(call("/weft.test.Echo/Say", "{}").status, 200) << "the connection goes on";
  EXPECT_EQ(echo_.calls, 1);
}

TEST_F(HttpServices, AnAnswerWithoutARequiredFieldFails) {
  const HttpAnswer answer = call("/weft.test.Shop/Buy", R"({"id": 7, "item": "nothing"})");
  EXPECT_EQ(answer.status, 500) << answer.body;
}

TEST_F(HttpServices, StreamsAreLinesOfMessages) {
  EXPECT_EQ(call("/weft.streams.Numbers/Count", R"({"value": "2"})").status, 200);
  EXPECT_EQ(client_->read_chunk(), "{\"item\":{\"value\":\"0\"}}\n");
  EXPECT_EQ(client_->read_chunk(), "{\"item\":{\"value\":\"1\"}}\n");
  EXPECT_EQ(client_->read_chunk(), "{\"result\":null}\n");
  EXPECT_EQ(client_->read_chunk(), "");
  EXPECT_EQ(call("/weft.streams.Numbers/Sum", "{\"value\": 3}\n{\"value\": 4}\n").body, R"({"value":"7"})");
  EXPECT_EQ(call("/weft.streams.Numbers/Sum", "").body, R"({"value":"0"})");
  EXPECT_EQ(call("/weft.streams.Numbers/Sum", "{\"value\": 3}\n{\"valu\": 4}\n").status, 400);
  EXPECT_EQ(call("/weft.streams.Numbers/Spell", "{\"value\": 3}").status, 200);
  EXPECT_EQ(client_->read_chunk(), "{\"item\":{\"text\":\"3\"}}\n");
  EXPECT_EQ(client_->read_chunk(), "{\"result\":null}\n");
  EXPECT_EQ(client_->read_chunk(), "");
}

TEST_F(HttpServices, UnknownMethodsAreRefused) {
  EXPECT_EQ(call("/weft.test.Echo/Nothing", "{}").status, 501);
  EXPECT_EQ(call("/weft.test.Nothing/Say", "{}").status, 501);
  EXPECT_EQ(call("/weft.test.Echo/", "{}").status, 404);
  EXPECT_EQ(call("//Say", "{}").status, 404);
  EXPECT_EQ(call("/weft.test.Echo/Say/more", "{}").status, 404);
}

/// Answers with an item before it reads one.
class Eager final : public Numbers {
 public:
  Task<Result<void>> Spell(CallContext&, protobuf::Reader<streams::Number>&,
                           protobuf::Writer<streams::Text>& responses) override {
    streams::Text text;
    text.set_text("first");
    [[maybe_unused]] const bool written = co_await responses.write(text);
    [[maybe_unused]] const auto slept = co_await sleep_for(std::chrono::hours{1});
    co_return Result<void>{};
  }
};

TEST(HttpEarlyAnswers, AnAnswerThatHasBegunReplacesContinue) {
  Eager eager;
  Server server{{.listen = {"tcp://127.0.0.1:0"}, .protocols = {http()}}};
  protobuf::Services services{server};
  services.add(eager);
  server.start().value();
  RawHttp client{server.urls().front()};
  client.send(
      "POST /weft.streams.Numbers/Spell HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read().status, 200);
  EXPECT_EQ(client.read_chunk(), "{\"item\":{\"text\":\"first\"}}\n");
  client.send("0");
  server.stop(std::chrono::seconds{0});
  EXPECT_NE(client.read_chunk().find("\"error\""), std::string::npos);
}

}  // namespace
}  // namespace weft::testing
