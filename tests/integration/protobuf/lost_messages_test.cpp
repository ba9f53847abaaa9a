// SPDX-License-Identifier: Apache-2.0
// No reader of a stream of messages takes a part for the whole: the third of five messages is none.
#include "integration/protobuf/services_testing.hpp"
#include "integration/raw_stream_server.hpp"
#include "streams.weft.hpp"

namespace weft::testing::lost_messages_tests {
namespace {

std::string message(std::int64_t value) {
  streams::Number number;
  number.set_value(value);
  return number.SerializeAsString();
}
std::vector<std::string> messages(const std::string& third) {
  return {message(0), message(1), third, message(3), message(4)};
}

struct Outcome {
  int read = 0;
  Status status{};
};

template <typename S>
Task<Outcome> read_all(S* stream) {
  Outcome outcome;
  while (const auto* each = co_await stream->next()) {
    if (each->has_value()) ++outcome.read;
  }
  outcome.status = stream->status();
  co_return outcome;
}

class LostMessages : public ProtobufTest {};

TEST_F(LostMessages, AreReportedToReadersOfAStub) {
  // A message without its required field, and bytes that are no message.
  for (const std::string& malformed : {std::string{}, std::string(12, '\xFF')}) {
    for (const bool after_its_end : {false, true}) {
      RawStreamServer server{messages(malformed), messages(message(2)), {}};
      Client& its = client(server.url());
      streams::NumbersStub stub{its};
      streams::Number request;
      request.set_value(5);
      {
        auto counted = stub.Count(request);
        if (after_its_end) {
          ASSERT_TRUE(turn_until(loop(), [&] { return server.requests() == 1; }));
          for (int turns = 0; turns < 20; ++turns) loop().run_once(1ms);
        }
        const Outcome outcome = loop().block_on(read_all(&counted));
        EXPECT_EQ(outcome.read, 2);
        EXPECT_FALSE(outcome.status.ok());
      }
      auto counted = stub.Count(request);
      const Outcome whole = loop().block_on(read_all(&counted));
      EXPECT_EQ(whole.read, 5);
      EXPECT_TRUE(whole.status.ok()) << whole.status.to_string();
      EXPECT_EQ(server.requests(), 2) << "the connection goes on";
      its.close();
    }
  }
}

}  // namespace
}  // namespace weft::testing::lost_messages_tests
