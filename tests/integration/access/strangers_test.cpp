// SPDX-License-Identifier: Apache-2.0
// CR-10: peers without a right who want to find out, or to cost, more than they may.
#include "integration/access/access_testing.hpp"
#include "support/heap_count.hpp"

namespace weft::testing::access {
namespace {

constexpr std::size_t kHuge = std::size_t{48} << 20;

class Strangers : public AccessTest {
 protected:
  Server& guard_one(std::string_view rules = "allow token:ann *", std::optional<Rate> rate = {}) {
    rules_ = std::make_shared<TestRules>(rules);
    ServerOptions options;
    options.authenticator = tokens_;
    options.authorizer = rules_;
    options.logger = &log_;
    options.limits.body_bytes_max = 64u << 20;
    if (rate) options.caller_rates.push_back({.rate = *rate});
    return serve_here(std::move(options), [](Server& its) {
      its.register_handler<size_of>();
      its.register_handler<method<plain, "other">>({.body_bytes_max = 100});
      its.register_handler<who, attached>();
    });
  }
  struct Request {
    std::string body;
    std::string attachment{};
    std::uint16_t metadata_bytes = 0;
  };
  /// All that a peer hears of a request to `method`, by its answer's end.
  std::string heard(const Server& server, std::uint64_t method, std::uint32_t schema,
                    const Request& request) {
    RawPeer peer{server.urls().front()};
    peer.send_hello();
    peer.send_request(wire::make_id(3, 0), method, schema, request.body, request.attachment,
                      request.metadata_bytes);
    EXPECT_TRUE(turn_until(loop(), [&] {
      return !(peer.write_some() && peer.read_some()) || (peer.all_written() && !peer.answers().empty());
    }));
    return peer.received();
  }
  /// Metadata, its padding, and `rest`.
  static Request with_token(const std::string& token, const std::string& rest) {
    Metadata metadata;
    metadata.set("authorization", "Bearer " + token).value();
    Request request{std::string{as_text(metadata.view().bytes())}};
    request.metadata_bytes = static_cast<std::uint16_t>(request.body.size());
    request.body.resize(wire::padded(request.body.size()));
    request.body += rest;
    return request;
  }
};

TEST_F(Strangers, HearTheSameOfMethodsThatThereAreAndThatThereAreNot) {
  Server& server = guard_one();
  const auto there = detail::method_key<size_of>;
  const auto limited = detail::method_key<method<plain, "other">>;
  const std::string large(200'000, 'x');
  const std::vector<Request> requests = {{"x"},                                           // a small one
                                         {large},                                         // over a chunk
                                         {std::string{"\x01\0\x01\0kv\0\0x", 9}, {}, 7},  // bad metadata
                                         {large, {}, 7000},  // the same, over a chunk
                                         {"x", large},       // with an attachment
                                         {large, large},
                                         with_token("mallory", "x"),
                                         with_token("mallory", large),
                                         with_token("bob", "x"),
                                         with_token("bob", large)};
  for (const Request& request : requests) {
    const std::string of_none = heard(server, 12345, 6789, request);
    EXPECT_EQ(heard(server, there.id, there.schema, request), of_none);
    EXPECT_EQ(heard(server, there.id, there.schema + 1, request), of_none) << "another schema";
    EXPECT_EQ(heard(server, limited.id, limited.schema, request), of_none) << "over the method's limit";
  }
  EXPECT_EQ(server.stats().methods[0].answered, 0u);
}

TEST_F(Strangers, AreToldNoMoreByTheirRates) {
  Server& server = guard_one("allow token:ann *", Rate{.per_second = 0.001, .burst = 1});
  const auto there = detail::method_key<size_of>;
  heard(server, 1, 1, {"x"});
  EXPECT_EQ(heard(server, there.id, there.schema, {"x"}), heard(server, 12345, 6789, {"x"}));
  EXPECT_EQ(refused(server, RefusalReason::kOverCallerRate), 2u) << "who tries names pays for each of them";
}

TEST_F(Strangers, CannotHaveAHugeBodyKept) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the heap is the sanitizer's";
  Server& server = guard_one();
  const auto key = detail::method_key<size_of>;
  const auto peak_of = [&](const Request& request) {
    RawPeer peer{server.urls().front()};
    peer.send_hello();
    peer.send_request(wire::make_id(3, 0), key.id, key.schema, request.body, {}, request.metadata_bytes);
    const std::size_t before = heap_bytes();
    restart_heap_peak();
    EXPECT_TRUE(turn_until(loop(), [&] {
      peer.write_some();
      peer.read_some();
      return peer.all_written() && !peer.answers().empty();
    }));
    return heap_peak_bytes() - before;
  };
  std::string body(kHuge, 'x');
  const std::uint32_t length = kHuge - 8;
  std::memcpy(body.data(), &length, sizeof length);
  EXPECT_LT(peak_of({body}), std::size_t{4} << 20) << "nobody";
  EXPECT_LT(peak_of(with_token("mallory", body)), std::size_t{4} << 20) << "a token that is not good";
  EXPECT_LT(peak_of(with_token("bob", body)), std::size_t{4} << 20) << "somebody without the right";
  EXPECT_GT(peak_of(with_token("ann", body)), kHuge / 2) << "the one who may, for comparison";
}

TEST_F(Strangers, WhoSendTheirMetadataByteByByteAreJudgedWhenItIsThere) {
  Server& server = guard_one();
  const auto key = detail::method_key<size_of>;
  for (const char* token : {"ann", "bob"}) {
    std::string text(100'000, 'x');
    const std::uint32_t length = 99'996;
    std::memcpy(text.data(), &length, sizeof length);
    const Request request = with_token(token, text);
    const wire::RequestHead head{.metadata_bytes = request.metadata_bytes,
                                 .id = wire::make_id(1, 0),
                                 .method = key.id,
                                 .schema = key.schema};
    const std::string bytes = frame_bytes(head.header(), request.body, {});
    RawPeer peer{server.urls().front()};
    peer.send_hello();
    for (std::size_t at = 0; at < 100; ++at) {
      peer.send(bytes.substr(at, 1));
      peer.write_some();
      loop().run_until_idle();
    }
    peer.send(bytes.substr(100));
    ASSERT_TRUE(
        turn_until(loop(), [&] { return peer.write_some() && peer.read_some() && !peer.answers().empty(); }));
    EXPECT_EQ(wire::AnswerView{peer.answers().front()}.succeeded(), token == std::string{"ann"});
  }
}

TEST_F(Strangers, WithTooMuchMetadataLoseTheirConnection) {
  Server& server = guard_one();
  const auto key = detail::method_key<size_of>;
  heard(server, key.id, key.schema, {std::string(70'000, 'x'), {}, 65'535});
  EXPECT_TRUE(turn_until(loop(), [&] { return refused(server, RefusalReason::kMetadataTooLarge) == 1; }));
  EXPECT_EQ(tokens_->asked, 0);
}

TEST_F(Strangers, WhoEndWithinARequestLeaveNothingBehind) {
  Server& server = guard_one();
  const auto key = detail::method_key<size_of>;
  for (const std::size_t part : {45u, 60u, 70'000u}) {
    const Request request = with_token("bob", std::string(200'000, 'x'));
    const wire::RequestHead head{.metadata_bytes = request.metadata_bytes,
                                 .id = wire::make_id(1, 0),
                                 .method = key.id,
                                 .schema = key.schema};
    RawPeer peer{server.urls().front()};
    peer.send_hello();
    peer.send(frame_bytes(head.header(), request.body, {}).substr(0, part));
    peer.write_some();
    loop().run_until_idle();
  }
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 0; }));
  EXPECT_EQ(server.stats().calls_running, 0u);
  EXPECT_EQ(call<who>(client(server), with("ann")).value(), "token:ann");
}

TEST_F(Strangers, FindNothingOfTokensInTheLog) {
  Server& server = guard_one();
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(call<who>(client(server), with("hush-hush-" + std::to_string(i))).ok());
  }
  EXPECT_FALSE(log_.text.empty());
  EXPECT_THAT(log_.text, Not(HasSubstr("hush-hush")));
}

}  // namespace
}  // namespace weft::testing::access
