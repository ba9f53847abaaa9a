// SPDX-License-Identifier: Apache-2.0
// LG-1: services that the caller was not compiled for, by reflection and JSON.
#include <google/protobuf/descriptor.pb.h>

#include "dropin.pb.h"
#include "integration/protobuf/services_testing.hpp"
#include "weft/detail/access/policy.hpp"
#include "weft/detail/protobuf/remote_services.hpp"

namespace weft::testing {

using namespace weft::detail;
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

class ProtobufReflection : public ProtobufTest {
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

TEST_F(ProtobufReflection, ListsTheServices) {
  EXPECT_THAT(await(services_.list()).value(),
              ElementsAre("weft.dropin.EchoService", "weft.reflection.v1.Reflection", "weft.test.Echo"));
}

TEST_F(ProtobufReflection, DescribesServicesAndMessages) {
  EXPECT_THAT(await(services_.describe("weft.test.Echo")).value(),
              AllOf(HasSubstr("rpc Say(.weft.test.EchoRequest) returns (.weft.test.EchoResponse)"),
                    HasSubstr("message EchoRequest {"), HasSubstr("message Tree {")));
  EXPECT_THAT(await(services_.describe("weft.test.Tree")).value(), HasSubstr("string leaf = 2;"));
  const Result<std::string> nothing = await(services_.describe("weft.test.Nothing"));
  EXPECT_EQ(nothing.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(nothing.status().message(), HasSubstr("'weft.test.Nothing'"));
}

// CR-10: descriptions and lists obey the rules of who may call what.
TEST_F(ProtobufReflection, TellsACallerOnlyOfWhatItMayCall) {
  const auto described = [&](std::string_view rules, const char* name, std::string& listed) {
    ServerOptions options;
    options.authorizer = authorize_by(Policy::parse(rules).value());
    Server& guarded = serve_here(std::move(options), [&](Server& its) {
      protobuf::Services all{its};
      all.add(echo_);
      all.add(drop_in_);
    });
    protobuf::RemoteServices services{client(guarded)};
    const auto names = await(services.list());
    listed.clear();
    if (!names.ok()) return std::string{to_string(names.status().code())};
    for (const std::string& each : *names) listed += each + " ";
    const Result<std::string> text = await(services.describe(name));
    return text.ok() ? *text : std::string{to_string(text.status().code())};
  };
  const std::string reflection = "allow anyone weft.reflection.v1.Reflection/*\n";
  std::string listed;
  EXPECT_EQ(described("allow anyone weft.test.Echo/Say", "weft.test.Echo", listed), "UNAUTHENTICATED");
  const std::string echo =
      described(reflection + "allow anyone weft.test.Echo/Say", "weft.test.Echo", listed);
  EXPECT_EQ(listed, "weft.reflection.v1.Reflection weft.test.Echo ");
  EXPECT_THAT(echo, AllOf(HasSubstr("rpc Say("), ::testing::Not(HasSubstr("rpc Grow("))));
  EXPECT_EQ(described(reflection + "allow anyone weft.dropin.*", "weft.test.Echo", listed), "NOT_FOUND");
  EXPECT_EQ(listed, "weft.dropin.EchoService weft.reflection.v1.Reflection ");
  EXPECT_EQ(described(reflection + "allow anyone weft.dropin.*", "weft.test.Tree", listed), "NOT_FOUND")
      << "nor of what only another's messages are made of";
}

TEST_F(ProtobufReflection, TellsNothingOfServicesThatWereNotAdded) {
  // This program has weft.test.Shop too.
  EXPECT_EQ(await(services_.describe("weft.test.Shop")).status().code(), StatusCode::kNotFound);
}

TEST_F(ProtobufReflection, CallsByJson) {
  EXPECT_THAT(call("weft.test.Echo/Say", R"({"text": "hi", "copies": 1})"),
              AllOf(HasSubstr(R"("text": "hi")"), HasSubstr(R"("copies": [)")));
  EXPECT_THAT(call("weft.dropin.EchoService/Echo", R"({"text": "hi"})"), HasSubstr("hi by callback"));
}

TEST_F(ProtobufReflection, CallsWithOptions) {
  const Metadata blue = metadata_of("blue");
  CallOptions options;
  options.metadata = blue;
  EXPECT_TRUE(await(services_.call("weft.test.Echo/Say", "{}", options)).ok());
  EXPECT_EQ(echo_.tenant, "blue");
}

TEST_F(ProtobufReflection, RefusesBadJsonWithThePlace) {
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

TEST_F(ProtobufReflection, NamesTheMethodsThereAre) {
  EXPECT_THAT(call("weft.test.Echo/Shout", "{}"),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("'Shout'"), HasSubstr("it has Say, Grow")));
  EXPECT_THAT(call("weft.test.Nobody/Say", "{}"),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("weft.test.Nobody")));
  EXPECT_THAT(call("weft.test.Echo.Say", "{}"), HasSubstr("package.Service/Method"));
}

/// Describes itself by so many messages, each of which has a field of the next one's type, and a service.
class Liar {
 public:
  explicit Liar(int types) {
    google::protobuf::FileDescriptorSet files;
    google::protobuf::FileDescriptorProto& file = *files.add_file();
    file.set_name("liar.proto");
    file.set_package("liar");
    for (int i = 0; i < types; ++i) {
      google::protobuf::DescriptorProto& type = *file.add_message_type();
      type.set_name("M" + std::to_string(i));
      if (i + 1 < types) add_field(type, i + 1);
    }
    google::protobuf::ServiceDescriptorProto& service = *file.add_service();
    service.set_name("Service");
    google::protobuf::MethodDescriptorProto& method = *service.add_method();
    method.set_name("Call");
    method.set_input_type(".liar.M0");
    method.set_output_type(".liar.M0");
    // As a weft.reflection.v1.DescribeResponse, whose field 1 they are.
    const std::string set = files.SerializeAsString();
    google::protobuf::io::StringOutputStream to{&response_};
    google::protobuf::io::CodedOutputStream out{&to};
    out.WriteTag(1 << 3 | 2);
    out.WriteVarint64(set.size());
    out.WriteString(set);
  }
  void serve_with(Server& server) {
    MethodEntry entry{
        protobuf::make_method("weft.reflection.v1.Reflection/Describe", "weft.reflection.v1.DescribeRequest",
                              "weft.reflection.v1.DescribeResponse"),
        {}};
    entry.kind = HandlerKind::kRecord;
    entry.object = this;
    entry.serve_record = [](const MethodEntry& its, ServedCall& call) {
      const std::string& response = static_cast<Liar*>(its.object)->response_;
      std::byte* body = call.begin_answer(response.size());
      ASSERT_NE(body, nullptr);
      std::ranges::copy(bytes_of(response), body);
      call.end_answer();
    };
    server.register_method(entry, nullptr);
  }

 private:
  static void add_field(google::protobuf::DescriptorProto& type, int of) {
    google::protobuf::FieldDescriptorProto& field = *type.add_field();
    field.set_name("next");
    field.set_number(1);
    field.set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
    field.set_type(google::protobuf::FieldDescriptorProto::TYPE_MESSAGE);
    field.set_type_name(".liar.M" + std::to_string(of));
  }
  std::string response_;
};

TEST_F(ProtobufReflection, OfMessagesThatReferToEachOtherDeeplyWorks) {
  Liar liar{5000};
  protobuf::RemoteServices services{client(serve_here([&](Server& its) { liar.serve_with(its); }))};
  EXPECT_THAT(await(services.describe("liar.Service")).value(), HasSubstr("message M4999"));
  EXPECT_EQ(await(services.call("liar.Service/Call", "{}")).status().code(), StatusCode::kUnimplemented);
}

TEST_F(ProtobufReflection, OfMoreMessagesThanAreSafeIsRefused) {
  Liar liar{5001};
  protobuf::RemoteServices services{client(serve_here([&](Server& its) { liar.serve_with(its); }))};
  const Result<std::string> answer = await(services.describe("liar.Service"));
  EXPECT_EQ(answer.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(answer.status().message(), HasSubstr("more than 5000 message types"));
}

TEST_F(ProtobufReflection, DescribesWhatSeveralServicesObjectsAdded) {
  Echo echo;
  Client& caller = client(serve_here([&](Server& its) {
    protobuf::Services{its}.add(echo);
    protobuf::Services{its};
  }));
  protobuf::RemoteServices services{caller};
  EXPECT_THAT(await(services.list()).value(),
              ::testing::ElementsAre("weft.reflection.v1.Reflection", "weft.test.Echo"));
  const std::string method = await(services.describe("weft.test.Echo/Say")).value();
  EXPECT_THAT(method, HasSubstr("// weft.test.Echo.Say\n"));
  EXPECT_THAT(method, HasSubstr("// weft.test.EchoRequest\nmessage EchoRequest {"));
  EXPECT_THAT(await(services.describe("weft.test.Echo/Sing")).status().message(),
              HasSubstr("it has Say, Grow"));
}

TEST_F(ProtobufReflection, JsonThatIsCutShortIsRefusedInOneLine) {
  Echo echo;
  protobuf::RemoteServices services{client(serve_services(echo))};
  for (const char* const json : {"{\"text\":", "[]", "{\"text\": }"}) {
    const Status status = await(services.call("weft.test.Echo/Say", json)).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << json;
    EXPECT_THAT(status.message(), HasSubstr("not from this JSON: ")) << json;
    EXPECT_THAT(status.message(), ::testing::Not(::testing::AnyOf(HasSubstr(": :"), HasSubstr("\n\n^"))))
        << json;
  }
}

TEST_F(ProtobufReflection, CanBeSwitchedOff) {
  Echo echo;
  Server& quiet = serve_here([&](Server& its) {
    protobuf::Services services{its, {.reflection = false}};
    services.add(echo);
  });
  Client& caller = client(quiet);
  protobuf::RemoteServices services{caller};
  const Result<std::vector<std::string>> names = await(services.list());
  EXPECT_EQ(names.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(names.status().message(), HasSubstr("reflection is switched off"));
  test::EchoStub stub{caller};
  EXPECT_TRUE(await(stub.Say(echo_request("hi"))).ok());
}

}  // namespace
}  // namespace weft::testing
