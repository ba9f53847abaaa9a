// SPDX-License-Identifier: Apache-2.0
// No reader of a stream of messages takes a part for the whole: the third of five messages is none. Readers
// of a stub, of JSON, and of a service.
#include <google/protobuf/descriptor.pb.h>

#include "integration/protobuf/services_testing.hpp"
#include "integration/raw_stream_server.hpp"
#include "integration/raw_uploader.hpp"
#include "streams.weft.hpp"
#include "weft/detail/protobuf/remote_services.hpp"

namespace weft::testing::lost_messages_tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Bodies that are no Number: one without its required field, a number of more than ten bytes, and a field
/// that is longer than the body.
const std::string kMalformed[] = {"", std::string(12, '\xFF'), "\x0a\x05hi"};
constexpr int kMessages = 5;

std::string message(std::int64_t value) {
  streams::Number number;
  number.set_value(value);
  return number.SerializeAsString();
}
std::vector<std::string> messages(const std::string& third) {
  return {message(0), message(1), third, message(3), message(4)};
}
std::string text_message(const std::string& text) {
  streams::Text made;
  made.set_text(text);
  return made.SerializeAsString();
}
std::vector<std::string> text_messages(const std::string& third) {
  return {text_message("0"), text_message("1"), third, text_message("3"), text_message("4")};
}

/// Messages that were read, and the two reports of the end.
struct Seen {
  int read = 0;
  Status status{};
  Status finished{};
};

void expect_lost(const Seen& seen, const std::string& way) {
  EXPECT_EQ(seen.read, 2) << way;
  EXPECT_EQ(seen.status.code(), StatusCode::kInvalidArgument) << way << ": " << seen.status.to_string();
  EXPECT_THAT(seen.status.message(), AllOf(HasSubstr("an item of a stream"), HasSubstr("weft.streams.")))
      << way;
  EXPECT_EQ(seen.finished.code(), seen.status.code()) << way << ": " << seen.finished.to_string();
}
void expect_whole(const Seen& seen, const std::string& way) {
  EXPECT_EQ(seen.read, kMessages) << way;
  EXPECT_TRUE(seen.status.ok()) << way << ": " << seen.status.to_string();
  EXPECT_TRUE(seen.finished.ok()) << way << ": " << seen.finished.to_string();
}

template <typename S>
Task<Seen> read_messages(S* stream) {
  Seen seen;
  while (const auto* each = co_await stream->next()) {
    if (each->ByteSizeLong() != 0) ++seen.read;
  }
  seen.status = stream->status();
  auto finished = co_await stream->finish();
  seen.finished = finished.status();
  co_return seen;
}

/// Reads a stream as JSON. Its next() says that there are no more, and finish() says how it ended.
Task<Seen> read_json(protobuf::RemoteServices* services, std::string method) {
  Seen seen;
  auto stream = co_await services->open(std::move(method), R"({"value": 5})");
  if (!stream.ok()) {
    seen.status = stream.status();
    co_return seen;
  }
  stream->end_writing();
  while (true) {
    const Result<std::optional<std::string>> json = co_await stream->next();
    if (!json.ok()) seen.status = json.status();
    if (!json.ok() || !json->has_value()) break;
    ++seen.read;
  }
  const Result<std::string> finished = co_await stream->finish();
  seen.finished = finished.status();
  if (seen.status.ok()) seen.status = seen.finished;
  co_return seen;
}

class LostMessages : public ProtobufTest {
 protected:
  /// Turns until the one answer of `server` has arrived whole.
  void await_answer(const RawStreamServer& server, Client& its, int requests) {
    ASSERT_TRUE(turn_until(loop(), [&] { return server.requests() == requests; }));
    ASSERT_TRUE(turn_until(loop(), [&] { return its.stats().calls_in_flight == 0; }));
  }
};

TEST_F(LostMessages, AreReportedToReadersOfAStub) {
  for (const std::string& malformed : kMalformed) {
    for (const bool after_its_end : {false, true}) {
      const std::string way = std::to_string(malformed.size()) + " bytes" + (after_its_end ? ", after" : "");
      RawStreamServer server{messages(malformed), messages(message(2)), {}};
      Client& its = client(server.url());
      streams::NumbersStub stub{its};
      streams::Number request;
      request.set_value(kMessages);
      {
        auto counted = stub.Count(request);
        if (after_its_end) await_answer(server, its, 1);
        expect_lost(loop().block_on(read_messages(&counted)), way);
      }
      auto counted = stub.Count(request);
      expect_whole(loop().block_on(read_messages(&counted)), way);
      EXPECT_EQ(server.requests(), 2) << "the connection goes on";
      its.close();
    }
  }
}

TEST_F(LostMessages, AreReportedToReadersThatWriteToo) {
  for (const bool after_its_end : {false, true}) {
    RawStreamServer server{text_messages("\x0a\x05hi"), text_messages(text_message("2")), {}};
    Client& its = client(server.url());
    streams::NumbersStub stub{its};
    {
      auto spelt = stub.Spell();
      if (after_its_end) await_answer(server, its, 1);
      expect_lost(loop().block_on(read_messages(&spelt)), after_its_end ? "after its end" : "at once");
    }
    auto spelt = stub.Spell();
    expect_whole(loop().block_on(read_messages(&spelt)), "the next stream");
    EXPECT_EQ(server.requests(), 2) << "the connection goes on";
    its.close();
  }
}

/// The answer of a server's reflection that describes `file`, as a weft.reflection.v1.DescribeResponse, whose
/// first field the files are.
std::string description_of(const google::protobuf::FileDescriptor& file) {
  google::protobuf::FileDescriptorSet files;
  file.CopyTo(files.add_file());
  const std::string body = files.SerializeAsString();
  std::string answer = "\x0a";
  std::size_t left = body.size();
  for (; left >= 0x80; left >>= 7) answer += static_cast<char>(left | 0x80);
  return answer + static_cast<char>(left) + body;
}

TEST_F(LostMessages, AreReportedToReadersOfJson) {
  const std::string description = description_of(*streams::Number::descriptor()->file());
  for (const std::string& malformed : kMalformed) {
    RawStreamServer server{{{.items = {}, .result = description, .streams = false},
                            {.items = messages(malformed), .result = {}},
                            {.items = messages(message(2)), .result = {}},
                            {.items = text_messages("\x0a\x05hi"), .result = {}},
                            {.items = text_messages(text_message("2")), .result = {}}}};
    Client& its = client(server.url());
    protobuf::RemoteServices services{its};
    const std::string way = std::to_string(malformed.size()) + " bytes";
    expect_lost(loop().block_on(read_json(&services, "weft.streams.Numbers/Count")), way);
    expect_whole(loop().block_on(read_json(&services, "weft.streams.Numbers/Count")), way);
    expect_lost(loop().block_on(read_json(&services, "weft.streams.Numbers/Spell")), way);
    expect_whole(loop().block_on(read_json(&services, "weft.streams.Numbers/Spell")), way);
    EXPECT_EQ(server.requests(), 5) << "the connection goes on";
    its.close();
  }
}

/// A service that never asks how reading ended before it answers.
class HastyNumbers : public streams::NumbersServer {
 public:
  Task<Result<void>> Double(CallContext&, const streams::Number&, streams::Number&) override {
    co_return Result<void>{};
  }
  Task<Result<void>> Count(CallContext&, const streams::Number&,
                           protobuf::Writer<streams::Number>&) override {
    co_return Result<void>{};
  }
  Task<Result<void>> Sum(CallContext&, protobuf::Reader<streams::Number>& requests,
                         streams::Number& response) override {
    seen = {};
    std::int64_t sum = 0;
    while (const auto* each = co_await requests.next()) {
      sum += each->value();
      ++seen.read;
    }
    seen.status = requests.status();
    response.set_value(sum);
    co_return Result<void>{};
  }
  Task<Result<void>> Spell(CallContext&, protobuf::Reader<streams::Number>& requests,
                           protobuf::Writer<streams::Text>& responses) override {
    seen = {};
    streams::Text text;
    while (const auto* each = co_await requests.next()) {
      ++seen.read;
      text.set_text(std::to_string(each->value()));
      const bool written = co_await responses.write(text);
      if (!written) break;
    }
    seen.status = requests.status();
    co_return Result<void>{};
  }

  Seen seen;
};

constexpr MethodKey kSum = protobuf::make_method("weft.streams.Numbers/Sum", "weft.streams.Number",
                                                 "weft.streams.Number", false, protobuf::Streams::kRequests);
constexpr MethodKey kSpell = protobuf::make_method("weft.streams.Numbers/Spell", "weft.streams.Number",
                                                   "weft.streams.Text", false, protobuf::Streams::kBoth);

std::uint64_t failures_of(const Server& server, std::string_view name) {
  for (const MethodStats& method : server.stats().methods) {
    if (method.name == name) return method.failures();
  }
  ADD_FAILURE() << "no method " << name;
  return 0;
}

TEST_F(LostMessages, FailTheCallWhateverTheServiceReturns) {
  HastyNumbers service;
  Server& server = serve_services(service);
  std::uint64_t lost = 0;
  for (const std::string& malformed : kMalformed) {
    RawUploader peer{server.urls().front(), loop()};
    ++lost;
    for (const MethodKey& method : {kSum, kSpell}) {
      const std::string way = std::string{method.name} + ", " + std::to_string(malformed.size()) + " bytes";
      const RawUploader::Answer answer = peer.upload(method, messages(malformed));
      EXPECT_EQ(answer.code, StatusCode::kInvalidArgument) << way;
      EXPECT_THAT(answer.text, AllOf(HasSubstr("an item of a stream"), HasSubstr("weft.streams.Number")));
      service.seen.finished = service.seen.status;
      expect_lost(service.seen, way);
      EXPECT_EQ(failures_of(server, method.name), lost) << way;

      EXPECT_EQ(peer.upload(method, messages(message(2))).code, StatusCode::kOk) << way;
      expect_whole(service.seen, way);
      EXPECT_EQ(failures_of(server, method.name), lost) << way;
    }
  }
}

}  // namespace
}  // namespace weft::testing::lost_messages_tests
