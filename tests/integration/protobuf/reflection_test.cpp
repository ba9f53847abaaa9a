// SPDX-License-Identifier: Apache-2.0
// LG-1: services that the caller was not compiled for, by reflection and JSON.
#include "dropin.pb.h"
#include "integration/protobuf/services_testing.hpp"
#include "weft/protobuf/remote_services.hpp"

namespace weft::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DropInEcho : public dropin::EchoService {
  void Echo(google::protobuf::RpcController*, const dropin::EchoRequest* request,
            dropin::EchoResponse* response, google::protobuf::Closure* done) override {
    response->set_text(request->text() + " by callback");
    done->Run();
  }
};

class Lg1Reflection : public ProtobufTest {
 protected:
  std::string call(std::string method, std::string json) {
    const Result<std::string> answer = await(services_.call(std::move(method), std::move(json)));
    return answer.ok() ? *answer : answer.status().to_string();
  }

  Echo echo_;
  DropInEcho drop_in_;
  Server& server_ = serve_services(echo_, drop_in_);
  protobuf::RemoteServices services_{client(server_)};
};

TEST_F(Lg1Reflection, ListsTheServices) {
  EXPECT_THAT(await(services_.list()).value(),
              ElementsAre("weft.dropin.EchoService", "weft.reflection.v1.Reflection", "weft.test.Echo"));
}

TEST_F(Lg1Reflection, DescribesServicesAndMessages) {
  EXPECT_THAT(await(services_.describe("weft.test.Echo")).value(),
              AllOf(HasSubstr("rpc Say(.weft.test.EchoRequest) returns (.weft.test.EchoResponse)"),
                    HasSubstr("message EchoRequest {"), HasSubstr("message Tree {")));
  EXPECT_THAT(await(services_.describe("weft.test.Tree")).value(), HasSubstr("string leaf = 2;"));
  const Result<std::string> nothing = await(services_.describe("weft.test.Nothing"));
  EXPECT_EQ(nothing.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(nothing.status().message(), HasSubstr("'weft.test.Nothing'"));
}

TEST_F(Lg1Reflection, TellsNothingOfServicesThatWereNotAdded) {
  // This program has weft.test.Shop too.
  EXPECT_EQ(await(services_.describe("weft.test.Shop")).status().code(), StatusCode::kNotFound);
}

TEST_F(Lg1Reflection, CallsByJson) {
  EXPECT_THAT(call("weft.test.Echo/Say", R"({"text": "hi", "copies": 1})"),
              AllOf(HasSubstr(R"("text": "hi")"), HasSubstr(R"("copies": [)")));
  EXPECT_THAT(call("weft.dropin.EchoService/Echo", R"({"text": "hi"})"), HasSubstr("hi by callback"));
}

TEST_F(Lg1Reflection, RefusesBadJsonWithThePlace) {
  EXPECT_THAT(call("weft.test.Echo/Say", R"({"text": hi})"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("weft.test.EchoRequest"), HasSubstr("hi}\n^")));
  EXPECT_THAT(call("weft.test.Echo/Say", R"({"text": "hi)"), HasSubstr("Closing quote expected"));
  EXPECT_THAT(call("weft.test.Echo/Say", R"({"nothing": 1})"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("nothing")));
  EXPECT_THAT(call("weft.test.Echo/Say", R"({"copies": "many"})"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("copies")));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"child":)";
  EXPECT_THAT(call("weft.test.Echo/Grow", deep), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_EQ(echo_.calls, 0);
}

TEST_F(Lg1Reflection, NamesTheMethodsThereAre) {
  EXPECT_THAT(call("weft.test.Echo/Shout", "{}"),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("'Shout'"), HasSubstr("it has Say, Grow")));
  EXPECT_THAT(call("weft.test.Nobody/Say", "{}"),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("weft.test.Nobody")));
  EXPECT_THAT(call("weft.test.Echo.Say", "{}"), HasSubstr("package.Service/Method"));
}

TEST_F(Lg1Reflection, CanBeSwitchedOff) {
  Echo echo;
  Server& quiet = serve_here([&](Server& its) {
    protobuf::Services services{its, {.reflection = false}};
    services.add(echo);
  });
  Client& caller = client(quiet);
  protobuf::RemoteServices services{caller};
  const Result<std::vector<std::string>> names = await(services.list());
  EXPECT_EQ(names.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(names.status().message(), HasSubstr("weft.reflection.v1.Reflection/List"));
  test::EchoStub stub{caller};
  EXPECT_TRUE(await(stub.Say(echo_request("hi"))).ok());
}

}  // namespace
}  // namespace weft::testing
