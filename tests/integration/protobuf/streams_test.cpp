// SPDX-License-Identifier: Apache-2.0
// LG-1: methods of protobuf that stream, served and called by coroutines, and by JSON.
#include "integration/protobuf/numbers.hpp"
#include "integration/protobuf/services_testing.hpp"
#include "streams.weft.hpp"
#include "weft/detail/protobuf/remote_services.hpp"

namespace weft::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

streams::Number number(std::int64_t value) {
  streams::Number made;
  made.set_value(value);
  return made;
}

template <typename S>
Task<bool> gives_one(S* stream) {
  const auto* item = co_await stream->next();
  co_return item != nullptr;
}

class ProtobufStreams : public ProtobufTest {
 protected:
  Numbers numbers_;
  Server& server_ = serve_services(numbers_);
  Client& client_ = client(server_);
  streams::NumbersStub stub_{client_};
};

TEST_F(ProtobufStreams, OfResponsesAreReadInTheirOrder) {
  auto counted = stub_.Count(number(5000));
  const auto read = [&]() -> Task<std::int64_t> {
    std::int64_t expected = 0;
    while (const auto* each = co_await counted.next()) {
      if (each->value() != expected) co_return -1;
      ++expected;
    }
    co_return expected;
  };
  EXPECT_EQ(await(read()), 5000);
  EXPECT_TRUE(counted.status().ok()) << counted.status().to_string();
}

TEST_F(ProtobufStreams, OfResponsesEndWithTheMethodsFailure) {
  auto counted = stub_.Count(number(-3));
  const auto read = [&]() -> Task<int> {
    int count = 0;
    while (const auto* each = co_await counted.next()) count += static_cast<int>(each->has_value());
    co_return count;
  };
  EXPECT_EQ(await(read()), 3);
  EXPECT_EQ(counted.status().native(), 7);
  EXPECT_THAT(counted.status().message(), HasSubstr("no more of them"));
}

TEST_F(ProtobufStreams, OfRequestsGiveOneResponse) {
  const auto upload = [&]() -> Task<Result<streams::Number>> {
    auto sum = stub_.Sum();
    streams::Number each;
    for (int i = 1; i <= 20000; ++i) {
      each.set_value(i);
      const bool written = co_await sum.write(each);
      if (!written) co_return sum.status();
    }
    Result<streams::Number> answer = co_await sum.finish();
    const Result<streams::Number> again = co_await sum.finish();
    EXPECT_EQ(again.status().code(), StatusCode::kFailedPrecondition) << "a response is given once";
    co_return answer;
  };
  const Result<streams::Number> sum = await(upload());
  ASSERT_TRUE(sum.ok()) << sum.status().to_string();
  EXPECT_EQ(sum->value(), 20000 * 20001 / 2);
}

TEST_F(ProtobufStreams, OfBothSidesTakeTurns) {
  const Metadata blue = metadata_of("blue");
  const auto talk = [&]() -> Task<std::vector<std::string>> {
    CallOptions options;
    options.metadata = blue;
    auto spelt = stub_.Spell(options);
    std::vector<std::string> seen;
    streams::Number each;
    for (int i = 12; i < 15; ++i) {
      each.set_value(i);
      const bool written = co_await spelt.write(each);
      if (!written) break;
      const auto* text = co_await spelt.next();
      if (text == nullptr) break;
      seen.push_back(text->text());
    }
    const Result<void> end = co_await spelt.finish();
    seen.push_back(std::string{end.status().message()});
    co_return seen;
  };
  EXPECT_THAT(await(talk()), ElementsAre("12", HasSubstr("bad luck")));
  EXPECT_EQ(numbers_.tenant, "blue");
}

TEST_F(ProtobufStreams, ThatAreDroppedAreCancelled) {
  {
    auto endless = stub_.Count(number(1'000'000'000));
    EXPECT_TRUE(await(gives_one(&endless)));
  }
  EXPECT_TRUE(turn_until(loop(), [&] { return !numbers_.stopped.ok(); }));
  EXPECT_EQ(numbers_.stopped.code(), StatusCode::kCancelled);
}

TEST_F(ProtobufStreams, MessagesWithoutARequiredFieldAreNotSent) {
  auto counted = stub_.Count(streams::Number{});
  EXPECT_TRUE(counted.done());
  EXPECT_EQ(counted.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(counted.status().message(), HasSubstr("weft.streams.Number"));

  const auto write = [&]() -> Task<Result<streams::Number>> {
    auto sum = stub_.Sum();
    const streams::Number lacks;
    const bool written = co_await sum.write(lacks);
    EXPECT_FALSE(written);
    Result<streams::Number> answer = co_await sum.finish();
    co_return answer;
  };
  EXPECT_EQ(await(write()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(turn_until(loop(), [&] { return !numbers_.stopped.ok(); }));
}

TEST_F(ProtobufStreams, AnswersWithoutARequiredFieldAreTheServersFault) {
  numbers_.leaves_out = true;
  auto sum = stub_.Sum();
  const auto finish = [&]() -> Task<Result<streams::Number>> {
    Result<streams::Number> answer = co_await sum.finish();
    co_return answer;
  };
  EXPECT_EQ(await(finish()).status().code(), StatusCode::kInternal);
}

TEST_F(ProtobufStreams, AreNotCalledAsMethodsOfOneMessage) {
  static constexpr weft::detail::MethodKey kAsUnary =
      protobuf::make_method("weft.streams.Numbers/Count", "weft.streams.Number", "weft.streams.Number");
  const streams::Number request = number(1);
  protobuf::UnaryCall<const streams::Number&, streams::Number> call{client_, kAsUnary, {}, request};
  const Status status = await(std::move(call)).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("stream of weft.streams.Number"));
}

TEST_F(ProtobufStreams, AreSaidByReflection) {
  protobuf::RemoteServices services{client_};
  EXPECT_THAT(await(services.streams_of("weft.streams.Numbers")).value(),
              ElementsAre("Count (weft.streams.Number) returns (stream weft.streams.Number)",
                          "Sum (stream weft.streams.Number) returns (weft.streams.Number)",
                          "Spell (stream weft.streams.Number) returns (stream weft.streams.Text)"));
  EXPECT_EQ(await(services.streams("weft.streams.Numbers/Sum")).value(), protobuf::Streams::kRequests);
  EXPECT_EQ(await(services.streams("weft.streams.Numbers/Double")).value(), protobuf::Streams::kNone);
  EXPECT_EQ(await(services.call("weft.streams.Numbers/Sum", "{}")).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(await(services.open("weft.streams.Numbers/Double", "{}")).status().code(),
            StatusCode::kFailedPrecondition);
}

TEST_F(ProtobufStreams, AreCalledByJson) {
  protobuf::RemoteServices services{client_};
  const auto talk = [&]() -> Task<std::vector<std::string>> {
    std::vector<std::string> seen;
    auto spelt = co_await services.open("weft.streams.Numbers/Spell", "");
    if (!spelt.ok()) co_return seen;
    for (const char* const json : {R"({"value": 1})", R"({"value": "x"})", R"({"value": 2})"}) {
      const Result<bool> written = co_await spelt->write(json);
      if (!written.ok()) {
        seen.push_back(written.status().to_string());
        continue;
      }
      const Result<std::optional<std::string>> text = co_await spelt->next();
      seen.push_back(text.ok() ? text->value_or("none") : text.status().to_string());
    }
    spelt->end_writing();
    const Result<std::optional<std::string>> end = co_await spelt->next();
    if (end.ok() && !end->has_value()) seen.emplace_back("end");
    const Result<std::string> finished = co_await spelt->finish();
    if (finished.ok()) seen.push_back("well" + *finished);
    co_return seen;
  };
  EXPECT_THAT(await(talk()), ElementsAre(R"({"text":"1"})", HasSubstr("INVALID_ARGUMENT"), R"({"text":"2"})",
                                         "end", "well"));
  const auto sum = [&]() -> Task<Result<std::string>> {
    auto opened = co_await services.open("weft.streams.Numbers/Sum", "");
    if (!opened.ok()) co_return opened.status();
    for (int i = 0; i < 3; ++i) {
      const Result<bool> written = co_await opened->write(R"({"value": 14})");
      if (!written.ok()) co_return written.status();
    }
    Result<std::string> finished = co_await opened->finish();
    co_return finished;
  };
  const Result<std::string> answer = await(sum());
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_THAT(*answer, HasSubstr(R"("value": "42")"));
}

}  // namespace
}  // namespace weft::testing
