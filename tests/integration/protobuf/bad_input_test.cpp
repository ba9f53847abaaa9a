// SPDX-License-Identifier: Apache-2.0
// What a peer may send in place of a message, LG-1: a status that says what and where, and the connection
// lives.
#include "integration/protobuf/services_testing.hpp"

namespace weft::testing {

using namespace weft::detail;
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A call's body that is anything.
struct RawBody {
  using Value = std::string;
  explicit RawBody(std::string_view sent) : request(sent) {}
  std::size_t bytes() const { return request.size(); }
  void write(std::byte* to) const { std::copy_n(bytes_of(request).begin(), request.size(), to); }
  void read(Bytes body, Status&) noexcept { answer = as_text(body); }
  std::string&& take() { return std::move(answer); }
  std::string request;
  std::string answer;
};
static_assert(CallBody<RawBody>);

constexpr MethodKey kSay =
    protobuf::make_method("weft.test.Echo/Say", "weft.test.EchoRequest", "weft.test.EchoResponse");
constexpr MethodKey kGrow = protobuf::make_method("weft.test.Echo/Grow", "weft.test.Tree", "weft.test.Tree");
constexpr MethodKey kBuy =
    protobuf::make_method("weft.test.Shop/Buy", "weft.test.Order", "weft.test.Receipt");

/// Gives a receipt without its number.
class ForgetfulShop : public test::ShopServer {
 public:
  Task<Result<void>> Buy(CallContext&, const test::Order&, test::Receipt&) override {
    co_return Result<void>{};
  }
};

/// Makes a tree of so many levels, as deep as a request may be.
test::Tree deep_tree(int levels) {
  test::Tree tree;
  test::Tree* at = &tree;
  for (int i = 1; i < levels; ++i) at = at->mutable_child();
  return tree;
}

class ProtobufBadInput : public ProtobufTest {
 protected:
  ProtobufBadInput() : client_(client(serve_services(echo_, shop_))) {}

  Result<std::string> send(const MethodKey& method, std::string_view body) {
    AwaitedCall<RawBody, detail::Returns::kResult, detail::WithoutDetails> call{
        client_.target(), method, detail::WithoutDetails{}, body};
    return loop().block_on(std::move(call));
  }
  /// Sends it, expects to be refused by `code`, and that the connection lives.
  std::string refusal(const MethodKey& method, std::string_view body, StatusCode code) {
    const Result<std::string> answer = send(method, body);
    EXPECT_EQ(answer.status().code(), code) << answer.status().to_string();
    test::EchoStub stub{client_};
    EXPECT_TRUE(await(stub.Say(echo_request("still there"))).ok());
    EXPECT_EQ(client_.stats().connections, 1u);
    return answer.ok() ? std::string{} : std::string{answer.status().message()};
  }

  Echo echo_;
  ForgetfulShop shop_;
  Client& client_;
};

// What the server sends is not the caller's fault. Grow() adds a level.
TEST_F(ProtobufBadInput, AnAnswerThatCannotBeReadIsTheServersFault) {
  test::EchoStub stub{client_};
  const test::Tree as_deep_as_may_be = deep_tree(101);
  EXPECT_TRUE(await(stub.Grow(deep_tree(100))).ok());
  const Result<test::Tree> answer = await(stub.Grow(as_deep_as_may_be));
  EXPECT_EQ(answer.status().code(), StatusCode::kInternal) << answer.status().to_string();
  EXPECT_THAT(answer.status().message(),
              AllOf(HasSubstr("the server's answer cannot be read"), HasSubstr("nested more than 100 deep")));
  EXPECT_TRUE(await(stub.Say(echo_request("still there"))).ok());
  EXPECT_EQ(client_.stats().connections, 1u);
}

/// A varint.
std::string varint(std::size_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}

/// Trees in trees.
std::string nested(int levels) {
  std::vector<std::string> heads;
  std::size_t size = 0;
  for (int i = 0; i < levels; ++i) {
    heads.push_back("\x0a" + varint(size));
    size += heads.back().size();
  }
  std::string bytes;
  for (auto head = heads.rbegin(); head != heads.rend(); ++head) bytes += *head;
  return bytes;
}

TEST_F(ProtobufBadInput, OfAMessageThatEndsTooSoonNamesTheFieldAndTheByte) {
  EXPECT_THAT(refusal(kSay, "\x0a\x05hi", StatusCode::kInvalidArgument),
              AllOf(HasSubstr("weft.test.Echo/Say"), HasSubstr("weft.test.EchoRequest.text"),
                    HasSubstr("byte 1 of 4"), HasSubstr("longer than what is left")));
}

TEST_F(ProtobufBadInput, OfRubbishSaysWhatIsWrong) {
  EXPECT_THAT(refusal(kSay, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", StatusCode::kInvalidArgument),
              HasSubstr("more than ten bytes"));
  EXPECT_THAT(refusal(kSay, std::string_view{"\x00\x00", 2}, StatusCode::kInvalidArgument),
              HasSubstr("tag is invalid"));
  EXPECT_THAT(refusal(kSay, "\x0f", StatusCode::kInvalidArgument), HasSubstr("no known wire type"));
  EXPECT_THAT(refusal(kSay, "\x0c", StatusCode::kInvalidArgument),
              HasSubstr("a group ends that was not begun"));
  EXPECT_THAT(refusal(kSay, "\x10", StatusCode::kInvalidArgument),
              AllOf(HasSubstr("EchoRequest.copies"), HasSubstr("the bytes end inside a number")));
}

TEST_F(ProtobufBadInput, OfTextThatIsNotUtf8NamesTheByte) {
  EXPECT_THAT(refusal(kSay,
                      "\x0a\x03"
                      "a\xff"
                      "b",
                      StatusCode::kInvalidArgument),
              AllOf(HasSubstr("EchoRequest.text"), HasSubstr("not UTF-8"), HasSubstr("byte 3 of 5")));
  EXPECT_THAT(refusal(kSay, "\x0a\x03\xed\xa0\x80", StatusCode::kInvalidArgument), HasSubstr("not UTF-8"));
}

TEST_F(ProtobufBadInput, OfNestingWithoutEndIsRefusedWithAnEndToo) {
  for (const int levels : {101, 1000, 100'000}) {
    EXPECT_THAT(refusal(kGrow, nested(levels), StatusCode::kInvalidArgument),
                AllOf(HasSubstr("weft.test.Tree.child.child"), HasSubstr("nested more than 100 deep")));
  }
}

TEST_F(ProtobufBadInput, OfARequiredFieldThatIsMissingNamesIt) {
  EXPECT_THAT(refusal(kBuy, "", StatusCode::kInvalidArgument),
              AllOf(HasSubstr("weft.test.Order"), HasSubstr("required fields are missing: id")));
}

TEST_F(ProtobufBadInput, OfManyRequiredFieldsThatAreMissingNamesThree) {
  std::string parts;
  for (int i = 0; i < 100'000; ++i) parts += std::string_view{"\x1a\x00", 2};
  const std::string text = refusal(kBuy, parts, StatusCode::kInvalidArgument);
  EXPECT_THAT(text,
              HasSubstr("required fields are missing: id, parts[0].name, parts[1].name, and maybe more"));
  EXPECT_LT(text.size(), 200u);
  EXPECT_THAT(
      refusal(kBuy, std::string_view{"\x08\x01\x1a\x05\x0a\x01x\x12\x00", 9}, StatusCode::kInvalidArgument),
      HasSubstr("are missing: parts[0].within.name"));
}

// What is whole stands in front of what is not, so that a search for names looks at all of it.
TEST_F(ProtobufBadInput, OfARequiredFieldThatIsMissingFarInsideIsRefusedWithoutALongSearch) {
  std::string parts{"\x08\x01", 2};
  for (int i = 0; i < 500'000; ++i) parts += std::string_view{"\x1a\x02\x0a\x00", 4};
  parts += std::string_view{"\x1a\x00", 2};
  EXPECT_THAT(refusal(kBuy, parts, StatusCode::kInvalidArgument), HasSubstr("are missing: deep inside"));
}

TEST_F(ProtobufBadInput, OfAMethodOrServiceThatIsNotThereNamesIt) {
  constexpr MethodKey kNone = protobuf::make_method("weft.test.Nobody/Say", "a.A", "b.B");
  EXPECT_THAT(refusal(kNone, "", StatusCode::kUnimplemented), HasSubstr("weft.test.Nobody/Say"));
}

TEST_F(ProtobufBadInput, OfOtherMessagesNamesBothSides) {
  constexpr MethodKey kOther =
      protobuf::make_method("weft.test.Echo/Say", "weft.test.Tree", "weft.test.EchoResponse");
  EXPECT_THAT(refusal(kOther, "", StatusCode::kFailedPrecondition),
              AllOf(HasSubstr("protobuf weft.test.EchoRequest -> weft.test.EchoResponse"),
                    HasSubstr("protobuf weft.test.Tree -> weft.test.EchoResponse")));
  constexpr MethodKey kFunction = detail::method_key<remote<"weft.test.Echo/Say", int(int)>>;
  EXPECT_THAT(refusal(kFunction, "", StatusCode::kFailedPrecondition), HasSubstr("(i32) -> (i32)"));
}

TEST_F(ProtobufBadInput, IsCountedByTheServer) {
  Echo echo;
  Server& server = serve_services(echo);
  Client& caller = client(server);
  AwaitedCall<RawBody, detail::Returns::kResult, detail::WithoutDetails> call{
      caller.target(), kSay, detail::WithoutDetails{}, "\x0a\x05hi"};
  EXPECT_FALSE(loop().block_on(std::move(call)).ok());
  EXPECT_EQ(server.stats().refused[RefusalReason::kBadArguments], 1u);
  EXPECT_EQ(echo.calls, 0);
}

TEST_F(ProtobufBadInput, RequestsWithoutARequiredFieldAreNotSent) {
  test::ShopStub stub{client_};
  const Result<test::Receipt> answer = await(stub.Buy(test::Order{}));
  EXPECT_EQ(answer.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(answer.status().message(), HasSubstr("required fields are missing: id"));
  EXPECT_EQ(client_.stats().connections, 0u);
}

TEST_F(ProtobufBadInput, AnswersWithoutARequiredFieldAreTheHandlersFault) {
  test::ShopStub stub{client_};
  test::Order order;
  order.set_id(1);
  const Result<test::Receipt> answer = await(stub.Buy(order));
  EXPECT_EQ(answer.status().code(), StatusCode::kInternal);
  EXPECT_THAT(answer.status().message(), HasSubstr("required fields are missing: number"));
}

class ProtobufLimits : public ProtobufTest {};

TEST_F(ProtobufLimits, OfTheServerRefuseARequestBeforeItIsSent) {
  Echo echo;
  ServerOptions options;
  options.limits.body_bytes_max = 1000;
  Server& server = serve_here(std::move(options), [&](Server& its) {
    protobuf::Services services{its};
    services.add(echo);
  });
  test::EchoStub stub{client(server)};
  EXPECT_TRUE(await(stub.Say(echo_request("connects"))).ok());
  const Result<test::EchoResponse> answer = await(stub.Say(echo_request(std::string(1001, 'x'))));
  EXPECT_EQ(answer.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(answer.status().message(), HasSubstr("the server's limit of 1000"));
  EXPECT_EQ(echo.calls, 1);
}

TEST_F(ProtobufLimits, OfAServiceNameTheMethod) {
  Echo echo;
  Server& server = serve_here([&](Server& its) {
    protobuf::Services services{its};
    services.add(echo, {.body_bytes_max = 100});
  });
  test::EchoStub stub{client(server)};
  const Result<test::EchoResponse> answer = await(stub.Say(echo_request(std::string(101, 'x'))));
  EXPECT_EQ(answer.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(answer.status().message(), HasSubstr("of method 'weft.test.Echo/Say'"));
  EXPECT_TRUE(await(stub.Say(echo_request("short"))).ok());
}

TEST_F(ProtobufLimits, OfTheCallerRefuseAnAnswer) {
  Echo echo;
  Server& server = serve_services(echo);
  ClientOptions options;
  options.limits.body_bytes_max = 1000;
  test::EchoStub stub{client(server, options)};
  const Result<test::EchoResponse> answer = await(stub.Say(echo_request(std::string(400, 'x'), 3)));
  EXPECT_EQ(answer.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(answer.status().message(), HasSubstr("the caller's limit of 1000"));
}

TEST_F(ProtobufLimits, OfMemoryCountWhatLargeRequestsBecame) {
  Echo echo;
  ServerOptions options;
  options.limits.connection_memory_max = 50'000;
  Server& server = serve_here(std::move(options), [&](Server& its) {
    protobuf::Services services{its};
    services.add(echo);
  });
  test::EchoStub stub{client(server)};
  EXPECT_TRUE(await(stub.Say(echo_request(std::string(40'000, 'x')))).ok());
  const Result<test::EchoResponse> answer = await(stub.Say(echo_request(std::string(60'000, 'x'))));
  EXPECT_THAT(answer.status().message(), HasSubstr("connection_memory_max"));
  EXPECT_TRUE(await(stub.Say(echo_request(std::string(40'000, 'x')))).ok()) << "what is over is given back";
}

}  // namespace
}  // namespace weft::testing
