// SPDX-License-Identifier: Apache-2.0
// CR-4: what travels beside the arguments of a call, and with the calls that its handler makes.
#include "integration/rpc/raw_peer.hpp"
#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::metadata_tests {

using namespace weft::detail;
namespace {

std::string told(const CallContext& context) {
  std::string text;
  for (const auto& [key, value] : context.metadata()) {
    text += std::string{key} + "=" + std::string{value} + ";";
  }
  return text;
}

std::string tell(CallContext& context) {
  return told(context);
}
std::string tell_beside(CallContext& context, std::string_view text) {
  return told(context) + std::string{text};
}
Task<std::string> tell_later(CallContext& context, std::string text) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
  co_return told(context) + text;
}
std::size_t take_attachment(CallContext& context) {
  return told(context) == "tenant=blue;" ? context.attachment().size() : 0;
}
std::size_t length(std::string_view text) {
  return text.size();
}
void tell_by_reply(Reply<std::string> reply, CallContext& context) {
  std::move(reply)(told(context));
}

/// Calls on, in all the ways a coroutine can.
struct Relay {
  Client* next = nullptr;
  Metadata own{};

  Task<Result<std::string>> pass() { co_return co_await next->call<tell>(); }
  Task<Result<std::string>> pass_under_a_deadline() {
    co_return co_await with_deadline(Deadline::after(next->loop().now(), 1min), pass());
  }
  Task<Result<std::string>> pass_its_own() {
    CallOptions options;
    options.metadata = own;
    co_return co_await next->call<tell>(options);
  }
};

class CallMetadata : public RpcTest {
 protected:
  CallMetadata() {
    blue_.set("tenant", "blue").value();
    options_.metadata = blue_;
  }
  Server& serve_all() {
    return serve_here([](Server& its) {
      its.register_handler<tell>();
      its.register_handler<tell_beside>();
      its.register_handler<tell_later>();
      its.register_handler<tell_by_reply>();
      its.register_handler<take_attachment>();
      its.register_handler<length>();
      its.register_handler<method<tell, "blocking">>({.blocking = true});
    });
  }
  Server& serve_relay(Relay& relay) {
    return serve_here([&](Server& its) {
      its.register_handler<&Relay::pass>(&relay);
      its.register_handler<&Relay::pass_under_a_deadline>(&relay);
      its.register_handler<&Relay::pass_its_own>(&relay);
    });
  }
  template <typename Made>
  auto await(Made made) {
    return loop().block_on(std::move(made));
  }

  Metadata blue_;
  CallOptions options_;
};

TEST_F(CallMetadata, ReachesHandlersOfEveryKind) {
  Client& caller = client(serve_all());
  EXPECT_EQ(await(caller.call<tell>(options_)).value(), "tenant=blue;");
  EXPECT_EQ(await(caller.call<tell_beside>(options_, "beside")).value(), "tenant=blue;beside");
  EXPECT_EQ(await(caller.call<tell_later>(options_, "later")).value(), "tenant=blue;later");
  EXPECT_EQ(await(caller.call<tell_by_reply>(options_)).value(), "tenant=blue;");
  EXPECT_EQ((await(caller.call<method<tell, "blocking">>(options_)).value()), "tenant=blue;");
  EXPECT_EQ(await(caller.call<length>(options_, "nobody asks")).value(), 11u);
  EXPECT_EQ(await(caller.call<tell>()).value(), "");
}

TEST_F(CallMetadata, StaysWithLargeBodiesAndAttachments) {
  Client& caller = client(serve_all());
  const std::string large(100'000, 'x');
  EXPECT_EQ(await(caller.call<tell_beside>(options_, large)).value(), "tenant=blue;" + large);
  EXPECT_EQ(await(caller.call<tell_later>(options_, large)).value(), "tenant=blue;" + large);
  const std::vector<std::byte> bytes = pattern(50'000);
  options_.attachment = Bytes{bytes};
  EXPECT_EQ(await(caller.call<take_attachment>(options_)).value(), bytes.size());
}

TEST_F(CallMetadata, OfAnySizeUpToTheLimitArrivesWhole) {
  Client& caller = client(serve_all());
  for (const std::size_t bytes : {0u, 1u, 2u, 7u, 8u, 255u, 4000u, 8187u}) {
    Metadata metadata;
    const std::string value(bytes, 'v');
    metadata.set("k", value).value();
    options_.metadata = metadata;
    EXPECT_EQ(await(caller.call<tell_beside>(options_, "and this")).value(), "k=" + value + ";and this");
  }
}

TEST_F(CallMetadata, WaitsWithItsCallForAConnection) {
  Server& server = serve_all();
  Client& caller = client(server);
  Call<std::string> first = caller.start<tell>(options_);
  Call<std::string> second = caller.start<tell_later>(options_, "x");
  EXPECT_EQ(await(std::move(first)).value(), "tenant=blue;");
  EXPECT_EQ(await(std::move(second)).value(), "tenant=blue;x");
}

TEST_F(CallMetadata, GoesOnWithTheCallsOfAHandler) {
  Server& there = serve_all();
  Relay relay{&client(there)};
  relay.own.set("mine", "yes").value();
  Relay nothing{&client(there)};
  Client& caller = client(serve_relay(relay));
  EXPECT_EQ(await(caller.call<&Relay::pass>(options_)).value(), "tenant=blue;");
  EXPECT_EQ(await(caller.call<&Relay::pass_under_a_deadline>(options_)).value(), "tenant=blue;");
  EXPECT_EQ(await(caller.call<&Relay::pass_its_own>(options_)).value(), "mine=yes;");
  EXPECT_EQ(await(client(serve_relay(nothing)).call<&Relay::pass_its_own>(options_)).value(), "")
      << "an empty one is one of its own";
  EXPECT_EQ(await(caller.call<&Relay::pass>()).value(), "");
}

TEST_F(CallMetadata, EndsWithAClientThatCarriesNone) {
  ClientOptions quiet;
  quiet.carries_metadata = false;
  Relay relay{&client(serve_all(), quiet)};
  Client& caller = client(serve_relay(relay));
  EXPECT_EQ(await(caller.call<&Relay::pass>(options_)).value(), "");
  relay.own = blue_;
  EXPECT_EQ(await(caller.call<&Relay::pass_its_own>()).value(), "tenant=blue;");
}

TEST_F(CallMetadata, DoesNotCountAgainstAMethodsLimit) {
  Server& server = serve_here([](Server& its) { its.register_handler<tell_beside>({.body_bytes_max = 16}); });
  Client& caller = client(server);
  EXPECT_EQ(await(caller.call<tell_beside>(options_, "short")).value(), "tenant=blue;short");
  EXPECT_EQ(await(caller.call<tell_beside>(options_, std::string(17, 'x'))).status().code(),
            StatusCode::kResourceExhausted);
}

TEST_F(CallMetadata, IsChargedToTheMemoryOfItsConnection) {
  ServerOptions server_options;
  server_options.limits.connection_memory_max = 20'000;
  Server& server =
      serve_here(std::move(server_options), [](Server& its) { its.register_handler<tell_later>(); });
  Client& caller = client(server);
  ASSERT_TRUE(connect(caller).ok());
  Metadata metadata;
  metadata.set("k", std::string(8000, 'v')).value();
  options_.metadata = metadata;
  std::vector<Call<std::string>> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(caller.start<tell_later>(options_, "x"));
  std::size_t refused = 0;
  for (const auto& answer : await(await_all(calls))) refused += answer.ok() ? 0 : 1;
  EXPECT_EQ(refused, 2u);
  EXPECT_TRUE(await(caller.call<tell_later>(options_, "x")).ok()) << "what is over is given back";
}

TEST_F(CallMetadata, CountsAgainstTheServersLimitOfABody) {
  ServerOptions server_options;
  server_options.limits.body_bytes_max = 1000;
  Server& server =
      serve_here(std::move(server_options), [](Server& its) { its.register_handler<tell_beside>(); });
  Client& caller = client(server);
  ASSERT_TRUE(connect(caller).ok());
  Metadata metadata;
  metadata.set("k", std::string(995, 'v')).value();
  options_.metadata = metadata;
  const Result<std::string> answer = await(caller.call<tell_beside>(options_, "x"));
  EXPECT_EQ(answer.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(answer.status().message(), ::testing::HasSubstr("the server's limit of 1000"));
}

TEST_F(CallMetadata, ThatIsNoneIsRefusedAndTheConnectionLives) {
  Server& server = serve_all();
  RawPeer peer{server.urls().front()};
  peer.send_hello();
  std::uint32_t asked = 0;
  const auto ask = [&](const MethodKey& method, std::string_view metadata_and_zeros, std::uint16_t bytes) {
    peer.send_request(wire::make_id(asked++, 0), method.id, method.schema, metadata_and_zeros, {}, bytes);
  };
  const MethodKey methods[] = {detail::method_key<tell>, detail::method_key<tell_by_reply>};
  for (const MethodKey& method : methods) {
    ask(method, std::string_view{"\x01\0\x01\0kvx\0", 8}, 7);  // a pair and a byte
    ask(method, std::string_view{"\x01\0\xFF\xFFkv\0\0", 8}, 6);
    ask(method, std::string_view{"\0\0\x01\0v\0\0\0", 8}, 5);  // no key
    ask(method, std::string_view{"\x01\0\x01\0kv\0x", 8}, 6);  // padding
  }
  ask(detail::method_key<tell>, std::string_view{"\x01\0\x01\0kv\0\0", 8}, 6);
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.write_some() && peer.read_some() && peer.answers().size() == asked; }));
  for (std::size_t i = 0; i + 1 < asked; ++i) {
    EXPECT_EQ(wire::AnswerView{peer.answers()[i]}.code(), static_cast<unsigned>(StatusCode::kInvalidArgument))
        << i;
  }
  EXPECT_TRUE(wire::AnswerView{peer.answers().back()}.succeeded());
  EXPECT_EQ(server.stats().refused[RefusalReason::kBadMetadata], asked - 1);
}

}  // namespace
}  // namespace weft::testing::metadata_tests
