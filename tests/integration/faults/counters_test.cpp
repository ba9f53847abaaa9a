// SPDX-License-Identifier: Apache-2.0
// Faults, F6: each refused input increments the counter that names its reason, and is logged at most once a
// second per peer.
#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "weft/detail/transport/memory.hpp"

namespace weft::faults::counters_tests {

using namespace weft::detail;
namespace {

using wire::FrameType;

Task<int> add_later(int a, int b) {
  co_return a + b;
}
void add_and_reply(Reply<int> reply, int a, int b) {
  std::move(reply)(a + b);
}
std::size_t size_of(std::string_view text) {
  return text.size();
}
Task<int> until_cancelled(int value) {
  [[maybe_unused]] const auto outcome = co_await sleep_for(1h);
  co_return value;
}

void fill(Server& server) {
  server.register_handler<&add>();
  server.register_handler<&add_later>();
  server.register_handler<&add_and_reply>();
  server.register_handler<method<&add, "blocking">>({.blocking = true});
  server.register_handler<method<&add_and_reply, "blocking reply">>({.blocking = true});
  server.register_handler<&size_of>({.body_bytes_max = 100});
  server.register_handler<&attachment_size>({.attachment_bytes_max = 3000});
  server.register_handler<&until_cancelled>();
}

class Counters : public FaultTest {
 protected:
  Server& serve_all() {
    ServerOptions options;
    options.limits.body_bytes_max = 4096;
    options.limits.attachment_bytes_max = 10'000;
    options.limits.connection_memory_max = 2000;
    options.limits.calls_in_flight_max = 1;
    return serve(std::move(options), &fill);
  }
  /// `bytes` raise the counter of `why` by one, and no other.
  void expect_counted(const Server& server, const std::string& bytes, RefusalReason why) {
    RefusalCounts expected = server.stats().refused;
    ++expected[why];
    HostilePeer peer{server.urls().front()};
    ASSERT_TRUE(peer.send(bytes));
    EXPECT_TRUE(eventually([&] { return server.stats().refused[why] == expected[why]; })) << to_string(why);
    EXPECT_EQ(server.stats().refused.counts, expected.counts) << to_string(why);
    if (ends_connection(why)) {
      EXPECT_TRUE(peer.closed_by_other_side()) << to_string(why);
    }
    peer.close();
    ASSERT_TRUE(at_rest(server));
  }
};

TEST_F(Counters, NameTheReasonForWhichAConnectionWasEnded) {
  Server& server = serve_all();
  const std::string hello = hello_bytes();
  const auto spoilt = [&](auto spoil) {
    wire::FrameHeader header = request_header<&add>(1);
    spoil(header);
    return hello + header_bytes(header);
  };
  expect_counted(server, "GET / HTTP/1.1\r\n\r\n", RefusalReason::kBadHello);
  expect_counted(server, hello_bytes(std::uint64_t{1} << 40), RefusalReason::kBadHello);
  wire::Hello demanding;
  demanding.features_supported = demanding.features_required = std::uint64_t{1} << 40;
  expect_counted(server, wire::encode_hello(demanding), RefusalReason::kHelloMismatch);
  expect_counted(server, hello + control_bytes(static_cast<FrameType>(99)), RefusalReason::kUnknownType);
  expect_counted(server, spoilt([](auto& h) { h.flags = 0x08; }), RefusalReason::kUnknownFlags);
  expect_counted(server, spoilt([](auto& h) { h.body_bytes = 4097; }), RefusalReason::kBodyTooLarge);
  expect_counted(server, spoilt([](auto& h) { h.flags = 1, h.attachment_bytes = 10'001; }),
                 RefusalReason::kAttachmentTooLarge);
  expect_counted(server, spoilt([](auto& h) { h.attachment_bytes = 8; }), RefusalReason::kUnexpectedField);
  expect_counted(server, spoilt([](auto& h) { h.typed16 = 4095; }), RefusalReason::kMetadataTooLarge);
  std::string padded = hello + request_bytes<&size_of>(1, std::string_view{"five!"});
  padded.back() = 1;
  expect_counted(server, padded, RefusalReason::kPadding);
  expect_counted(server, hello_bytes(wire::Features::kChecksum) + request_bytes<&add>(1, 2, 3) + "no sum..",
                 RefusalReason::kChecksum);
  EXPECT_EQ(server.stats().protocol_errors, 11u);
  EXPECT_EQ(server.stats().calls_refused, 0u);
}

TEST_F(Counters, NameTheReasonForWhichACallWasRefused) {
  Server& server = serve_all();
  const std::string hello = hello_bytes();
  const std::string no_arguments(3, '\xFF');
  expect_counted(server, hello + request_bytes<remote<"nothing", int(int)>>(1, 1),
                 RefusalReason::kUnknownMethod);
  expect_counted(server, hello + request_bytes<remote<"blocking", int(int)>>(1, 1),
                 RefusalReason::kWrongSchema);
  for (const wire::FrameHeader& header :
       {request_header<&add>(1), request_header<&add_later>(1), request_header<&add_and_reply>(1),
        request_header<method<&add, "blocking">>(1),
        request_header<method<&add_and_reply, "blocking reply">>(1)}) {
    expect_counted(server, hello + frame_bytes(header, no_arguments), RefusalReason::kBadArguments);
  }
  expect_counted(server, hello + request_bytes<&size_of>(1, std::string(101, 'x')),
                 RefusalReason::kOverMethodsBody);
  expect_counted(server, hello + frame_bytes(request_header<&attachment_size>(1), "", std::string(3001, 'x')),
                 RefusalReason::kOverMethodsAttachment);
  expect_counted(server, hello + frame_bytes(request_header<&add>(1), "", "attached"),
                 RefusalReason::kAttachmentNotTaken);
  expect_counted(server, hello + frame_bytes(request_header<&attachment_size>(1), "", std::string(2001, 'x')),
                 RefusalReason::kOverConnectionMemory);
  expect_counted(server,
                 hello + request_bytes<&until_cancelled>(1, 1) + request_bytes<&until_cancelled>(2, 2),
                 RefusalReason::kOverCallsInFlight);
  EXPECT_EQ(server.stats().calls_refused, 12u);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

struct Lines final : Logger {
  void write(LogLevel, std::string_view message) override { lines.emplace_back(message); }
  std::vector<std::string> lines;
};

// On a clock that stands still: a second is one when the test says so.
TEST(LogOfFaults, HasOneLineASecondOfEachPeer) {
  ManualClock clock;
  Lines log;
  const std::unique_ptr<Loop> loop = Loop::create({.clock = &clock}).value();
  Transports transports;
  transports.add(std::make_unique<MemoryNetwork>());
  ServerOptions options;
  options.listen = {"memory://server"};
  options.threads = 0;
  options.loop = loop.get();
  options.logger = &log;
  Server server{std::move(options), transports};
  server.register_handler<&add>();
  server.start().value();
  Client client{*loop, {.connect = "memory://server"}, transports};
  const auto call_nothing = [&] {
    const auto result = loop->block_on(outcome_of(client.start<remote<"nothing", int()>>()));
    EXPECT_EQ(result.status().code(), StatusCode::kUnimplemented);
  };
  for (int i = 0; i < 100; ++i) call_nothing();
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("unknown method"), std::string::npos) << log.lines[0];
  clock.advance(1s);
  call_nothing();
  ASSERT_EQ(log.lines.size(), 2u);
  EXPECT_NE(log.lines[1].find("99 more"), std::string::npos) << log.lines[1];
  EXPECT_EQ(server.stats().refused[RefusalReason::kUnknownMethod], 101u) << "all are counted";
}

}  // namespace
}  // namespace weft::faults::counters_tests
