// SPDX-License-Identifier: Apache-2.0
// CR-8: attachments in both directions: not serialised, gathered, and landed where the caller says.
#include <algorithm>
#include <array>
#include <cstring>
#include <latch>

#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::attachment_tests {
namespace {

constexpr std::size_t kLarge = std::size_t{8} << 20;
/// The longest that is handed up with its request.
constexpr std::size_t kShort = 16 * 1024 - 1;

std::uint64_t sum_of(Bytes bytes) {
  std::uint64_t sum = 0;
  for (const std::byte byte : bytes) sum = sum * 31 + static_cast<std::uint64_t>(byte);
  return sum;
}

std::uint64_t sum_up(CallContext& context) {
  return sum_of(context.attachment());
}
Task<std::uint64_t> sum_up_later(CallContext& context) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
  co_return sum_of(context.attachment());
}
std::uint64_t give_back(CallContext& context, int) {
  Buffer taken = context.take_attachment();
  const std::size_t size = taken.size();
  context.set_attachment(std::move(taken));
  return size;
}
std::size_t produce(CallContext& context, std::uint64_t bytes, std::uint32_t seed) {
  context.set_attachment(Buffer::adopt(pattern(bytes, seed)));
  return bytes;
}
Result<int> produce_and_fail(CallContext& context) {
  context.set_attachment(Buffer::adopt(pattern(100'000)));
  return user_error(5, "changed my mind");
}
void produce_by_reply(Reply<int> reply, CallContext& context) {
  context.set_attachment(Buffer::adopt(std::string{"with a reply"}));
  std::move(reply)(1);
}
int no_attachment_please(int number) {
  return number;
}
/// The caller's memory is looked at, not copied: it has to live until the call has ended.
struct Album {
  Event open;
  int inside = 0;
  Task<std::uint64_t> keep(CallContext& context) {
    ++inside;
    [[maybe_unused]] const Result<void> passed = co_await open.wait();
    co_return sum_of(context.attachment());
  }
  /// Goes on although its caller has given it up.
  Task<void> look_again(CallContext& context) {
    ++inside;
    while (!open.is_set()) co_await yield();
    seen = sum_of(context.attachment());
    --inside;
  }
  std::uint64_t seen = 0;
};

void fill(Server& server) {
  server.register_handler<sum_up>();
  server.register_handler<sum_up_later>();
  server.register_handler<give_back>();
  server.register_handler<produce>();
  server.register_handler<produce_and_fail>();
  server.register_handler<produce_by_reply>();
  server.register_handler<no_attachment_please>();
  server.register_handler<method<give_back, "back/blocking">>({.blocking = true});
  server.register_handler<method<sum_up, "sum/small">>({.attachment_bytes_max = 1000});
}

class Attachments : public RpcTest {
 protected:
  template <auto M, typename... Arguments>
  auto exchange(Client& caller, const CallOptions& options, Arguments&&... arguments) {
    return wait_for_answer(caller.template start<M>(options, std::forward<Arguments>(arguments)...));
  }
};

TEST_F(Attachments, OfEverySizeReachTheHandlerWhole) {
  Client& caller = client(serve({.threads = 1}, fill));
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{16383},
                                 std::size_t{16384}, std::size_t{65537}, std::size_t{1'000'003}, kLarge}) {
    const std::vector<std::byte> memory = pattern(size);
    const CallOptions options{.attachment = Bytes{memory}};
    EXPECT_EQ(call<sum_up>(caller, options).value(), sum_of(memory)) << size;
    EXPECT_EQ(call<sum_up_later>(caller, options).value(), sum_of(memory)) << size;
  }
  EXPECT_EQ(call<sum_up>(caller, CallOptions{}).value(), 0u);
  EXPECT_EQ(call<sum_up>(caller, CallOptions{.attachment = Bytes{}}).value(), 0u);
}

TEST_F(Attachments, OfManyPiecesAreGatheredInOrder) {
  Client& caller = client(serve({.threads = 1}, fill));
  const std::vector<std::byte> whole = pattern(3'000'001);
  std::vector<Bytes> pieces;
  std::size_t at = 0;
  for (const std::size_t size : {1u, 20'000u, 0u, 3u, 16'384u, 100u, 1'000'000u}) {
    pieces.push_back(Bytes{whole}.subspan(at, size));
    at += size;
  }
  pieces.push_back(Bytes{whole}.subspan(at));
  const CallOptions options{.attachment = std::span<const Bytes>{pieces}};
  EXPECT_EQ(call<sum_up>(caller, options).value(), sum_of(whole));
  EXPECT_EQ(call<sum_up>(caller, options).value(), sum_of(whole));
}

TEST_F(Attachments, LandInTheCallersBuffer) {
  Client& caller = client(serve({.threads = 1}, fill));
  std::vector<std::byte> landing(kLarge + 10, std::byte{0xEE});
  for (const std::size_t size : {std::size_t{3}, std::size_t{70'000}, kLarge}) {
    auto answer = exchange<produce>(caller, {.landing = landing}, size, 9u);
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(answer->value, size);
    EXPECT_EQ(answer->attachment_bytes, size);
    EXPECT_TRUE(answer->attachment.empty());
    EXPECT_TRUE(same_bytes(MutableBytes{landing}.first(size), pattern(size, 9)));
    EXPECT_EQ(landing[size], std::byte{0xEE}) << "nothing is written behind what came";
    std::ranges::fill(landing, std::byte{0xEE});
  }
}

TEST_F(Attachments, ComeInABufferOfOursWhenSmallAndUnnamed) {
  Client& caller = client(serve({.threads = 1}, fill));
  auto answer = exchange<produce>(caller, {}, 100'000u, 3u);
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(same_bytes(answer->attachment.bytes(), pattern(100'000, 3)));
  auto replied = exchange<produce_by_reply>(caller, {});
  EXPECT_EQ(as_text(replied.value().attachment.bytes()), "with a reply");
  auto failed = exchange<produce_and_fail>(caller, {});
  EXPECT_EQ(failed.status().native(), 5);
  auto none = exchange<no_attachment_please>(caller, {}, 3);
  EXPECT_EQ(none.value().value, 3);
  EXPECT_EQ(none.value().attachment_bytes, 0u);
}

TEST_F(Attachments, GoThereAndBackThroughEveryKindOfHandler) {
  Client& caller = client(serve({.threads = 1}, fill));
  for (const std::size_t size : {std::size_t{128}, kShort, kLarge}) {
    const std::vector<std::byte> memory = pattern(size, 77);
    std::vector<std::byte> landing(size);
    const CallOptions options{.attachment = Bytes{memory}, .landing = landing};
    EXPECT_EQ(exchange<give_back>(caller, options, 1).value().attachment_bytes, size);
    EXPECT_TRUE(landing == memory);
    std::ranges::fill(landing, std::byte{0});
    EXPECT_EQ((exchange<method<give_back, "back/blocking">>(caller, options, 1).value().value), size);
    EXPECT_TRUE(landing == memory);
  }
}

TEST_F(Attachments, ThatAreShortAreTheSameToAHandlerUntilItTakesThem) {
  const std::vector<std::byte> memory = pattern(kShort);
  Client& caller = client(serve_here([&memory](Server& server) {
    server.register_handler("look_and_take", [&memory](CallContext& context) {
      const bool there = same_bytes(context.attachment(), memory);
      const Buffer taken = context.take_attachment();
      return there && same_bytes(taken.bytes(), memory) && context.attachment().empty() &&
             context.take_attachment().empty();
    });
  }));
  const CallOptions options{.attachment = Bytes{memory}};
  EXPECT_TRUE((call<remote<"look_and_take", bool()>>(caller, options).value()));
}

TEST_F(Attachments, ThatAreShortComeWithWhatTheCallCarries) {
  Client& caller = client(serve_here([](Server& server) {
    server.register_handler("what_it_carries", [](CallContext& context, std::string_view text) {
      return std::string{text} + std::string{context.metadata().find("who").value_or("nobody")} +
             std::string{as_text(context.attachment())} +
             (context.deadline().is_infinite() ? " for ever" : " in time");
    });
  }));
  Metadata who;
  ASSERT_TRUE(who.set("who", "weaver").ok());
  const std::string yarn = "yarn";
  const CallOptions options{.timeout = 1h, .attachment = as_bytes(yarn), .metadata = who};
  using Carried = std::string(std::string_view);
  EXPECT_EQ((call<remote<"what_it_carries", Carried>>(caller, options, "the ").value()),
            "the weaveryarn in time");
}

TEST_F(Attachments, WorkWithChecksumsAndOverUnixSockets) {
  const std::string url = "unix:///tmp/weft-cr8-" + std::to_string(::getpid()) + ".sock";
  Client& caller = client(serve({.listen = {url}, .checksums = true}, fill));
  const std::vector<std::byte> memory = pattern(1'000'001, 5);
  std::vector<std::byte> landing(memory.size());
  const CallOptions options{.attachment = Bytes{memory}, .landing = landing};
  EXPECT_TRUE(exchange<give_back>(caller, options, 1).ok());
  EXPECT_TRUE(landing == memory);
}

// The server stands still until its client cannot send any more. One whose memory changes then, and is not
// shared, ends its connection, so the test would see it.
TEST_F(Attachments, OfSharedMemoryMayChangeUntilTheyHaveLeft) {
  constexpr int kStill = 200;
  for (const bool shared : {true, false}) {
    std::latch released{1};
    Server& server = serve({.checksums = true}, [&released](Server& its) {
      fill(its);
      its.register_handler("stand_still", [&released] { released.wait(); });
    });
    Client& caller = client(server);
    std::vector<std::byte> memory(4 * kLarge);
    Call<void> still = caller.start<remote<"stand_still", void()>>();
    const AttachmentView lent{memory};
    const CallOptions options{.attachment = shared ? lent.shared() : lent};
    Call<std::uint64_t> call = caller.start<sum_up>(options);
    std::uint64_t sent = 0;
    for (int turns = 0; turns < kStill; ++turns) {
      loop().run_once(1ms);  // so that pieces no longer wait for company
      const std::uint64_t so_far = caller.stats().traffic.bytes_sent;
      if (so_far < 1'000'000 || so_far != sent) turns = 0;
      sent = so_far;
    }
    EXPECT_LT(sent, memory.size());
    std::ranges::fill(memory, std::byte{9});
    released.count_down();
    const Status outcome = wait_for(std::move(call)).status();
    EXPECT_EQ(outcome.ok(), shared) << outcome.to_string();
    static_cast<void>(wait_for(std::move(still)));
  }
}

TEST_F(Attachments, ThatDoNotFitTheLandingFailThatCallOnly) {
  Client& caller = client(serve_here(fill));
  std::vector<std::byte> landing(1000, std::byte{0xEE});
  Call<std::size_t> too_large = caller.start<produce>(CallOptions{.landing = landing}, kLarge, 1u);
  Call<std::size_t> neighbour = caller.start<produce>(CallOptions{}, 1000u, 2u);
  const Status failure = wait_for(std::move(too_large)).status();
  EXPECT_EQ(failure.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string{failure.message()}, ::testing::HasSubstr("landing"));
  EXPECT_TRUE(all_are(landing, std::byte{0xEE}));
  EXPECT_TRUE(same_bytes(wait_for_answer(std::move(neighbour)).value().attachment.bytes(), pattern(1000, 2)));
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Attachments, ThatAreLargeAndWereNotAskedForAreRefused) {
  ClientOptions options;
  options.limits.unrequested_attachment_bytes_max = 10'000;
  Client& caller = client(serve_here(fill), std::move(options));
  const Status refused = call<produce>(caller, 10'001u, 1u).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string{refused.message()},
              ::testing::HasSubstr("by CallOptions::landing, or raise "
                                   "ClientOptions::limits.unrequested_attachment"));
  EXPECT_TRUE(call<produce>(caller, 10'000u, 1u).ok());
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Attachments, OfAnswersAreDroppedWhereOnlyTheResultIsAskedForWhateverItsOptions) {
  ClientOptions options;
  options.limits.unrequested_attachment_bytes_max = 10'000;
  Client& caller = client(serve_here(fill), std::move(options));
  EXPECT_EQ(loop().block_on(caller.call<produce>(kLarge, 1u)).value(), kLarge);
  EXPECT_EQ(loop().block_on(caller.call<produce>(CallOptions{.timeout = 1h}, kLarge, 1u)).value(), kLarge);
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Attachments, ThatAHandlerKeptOutliveTheServer) {
  struct Store {
    std::size_t put(CallContext& context) {
      kept = context.take_attachment();
      return kept.size();
    }
    Buffer kept;
  } store;
  for (const std::size_t size : {std::size_t{5}, kShort, kLarge}) {
    const std::vector<std::byte> memory = pattern(size);
    {
      Server server{{.listen = {kAnyPort}, .threads = 0, .loop = &loop()}};
      server.register_handler<&Store::put>(&store);
      server.start().value();
      Client caller{loop(), {.connect = server.urls().front()}};
      const CallOptions with_attachment{.attachment = Bytes{memory}};
      EXPECT_EQ(loop().block_on(caller.call<&Store::put>(with_attachment)).value(), size);
    }
    EXPECT_TRUE(same_bytes(store.kept.bytes(), memory));
  }
}

TEST_F(Attachments, ThatAreShortStayForACoroutineWhoseConnectionIsGone) {
  Album album;
  Server& server = serve_here([&album](Server& its) { its.register_handler<&Album::look_again>(&album); });
  const std::vector<std::byte> memory = pattern(kShort);
  {
    Client caller{loop(), {.connect = server.urls().front()}};
    const Call<void> dropped = caller.start<&Album::look_again>(CallOptions{.attachment = Bytes{memory}});
    ASSERT_TRUE(turn_until(loop(), [&] { return album.inside == 1; }));
  }
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 0; }));
  album.open.set();
  ASSERT_TRUE(turn_until(loop(), [&] { return album.inside == 0; }));
  EXPECT_EQ(album.seen, sum_of(memory));
}

TEST_F(Attachments, OfAnswersAreHeldWithinTheClientsMemoryAndOutliveTheClient) {
  ClientOptions options;
  options.limits.process_memory_max = 25'000;
  Server& server = serve_here(fill);
  Buffer kept;
  {
    Client caller{loop(), {.connect = server.urls().front(), .limits = options.limits}};
    Result<Answer<std::size_t>> first = exchange<produce>(caller, {}, 10'000u, 1u);
    Result<Answer<std::size_t>> second = exchange<produce>(caller, {}, 10'000u, 2u);
    const Status third = exchange<produce>(caller, {}, 10'000u, 3u).status();
    EXPECT_EQ(third.code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(third.message(), ::testing::HasSubstr("process_memory_max"));
    EXPECT_TRUE(call<produce>(caller, 100u, 1u).ok()) << "an attachment that nobody takes is not kept";
    second->attachment = Buffer{};
    EXPECT_TRUE(exchange<produce>(caller, {}, 10'000u, 3u).ok());
    EXPECT_EQ(caller.stats().connections, 1u);
    kept = std::move(first->attachment);
  }
  const std::vector<std::byte> expected = pattern(10'000, 1);
  EXPECT_TRUE(same_bytes(kept.bytes(), expected));
}

TEST_F(Attachments, OverTheCallersLimitFailThatCallOnly) {
  ClientOptions options;
  options.limits.attachment_bytes_max = 10'000;
  Client& caller = client(serve_here(fill), std::move(options));
  EXPECT_EQ(call<produce>(caller, 20'000u, 1u).status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(call<produce>(caller, 10'000u, 1u).ok());
  EXPECT_EQ(caller.stats().connections, 1u)
      << "an answer over the caller's limit is refused where it is made";
}

TEST_F(Attachments, AreRefusedForHandlersThatCannotTakeThem) {
  Client& caller = client(serve_here(fill));
  const std::vector<std::byte> memory = pattern(1'000'000);
  const Status refused =
      call<no_attachment_please>(caller, CallOptions{.attachment = Bytes{memory}}, 1).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string{refused.message()}, ::testing::HasSubstr("CallContext"));
  EXPECT_EQ(
      (call<method<sum_up, "sum/small">>(caller, CallOptions{.attachment = Bytes{memory}}).status().code()),
      StatusCode::kResourceExhausted);
  EXPECT_EQ(call<no_attachment_please>(caller, 1).value(), 1);
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Attachments, OverTheServersLimitAreNotEvenSent) {
  ServerOptions options;
  options.limits.attachment_bytes_max = 1000;
  Client& caller = client(serve_here(std::move(options), fill));
  const std::vector<std::byte> memory = pattern(1001);
  EXPECT_EQ(call<sum_up>(caller, CallOptions{.attachment = Bytes{memory}}).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_TRUE(call<sum_up>(caller, CallOptions{.attachment = Bytes{memory}.first(1000)}).ok());
}

TEST_F(Attachments, OfDroppedCallsLeaveTheConnectionUsable) {
  Server& server = serve_here(fill);
  Client& caller = client(server);
  EXPECT_TRUE(connect(caller).ok());
  for (const bool in_pieces : {false, true}) {
    auto memory = std::make_unique<std::vector<std::byte>>(pattern(kLarge));
    std::array<Bytes, 4> pieces;
    for (std::size_t i = 0; i < 4; ++i) pieces[i] = Bytes{*memory}.subspan(i * (kLarge / 4), kLarge / 4);
    CallOptions options{.attachment = Bytes{*memory}};
    if (in_pieces) options.attachment = std::span<const Bytes>{pieces};
    {
      const Call<std::uint64_t> dropped = caller.start<sum_up>(options);
      EXPECT_FALSE(dropped.done());
    }
    // The call is gone, so its memory is the caller's again, however much of it is unsent.
    std::ranges::fill(*memory, std::byte{0});
    memory.reset();
    EXPECT_EQ(call<no_attachment_please>(caller, 4).value(), 4);
  }
  EXPECT_EQ(caller.stats().connections, 1u);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

TEST_F(Attachments, OfCallsThatTimeOutMidwayLeaveTheConnectionUsable) {
  Client& caller = client(serve_here(fill));
  EXPECT_TRUE(connect(caller).ok());
  const std::vector<std::byte> memory = pattern(kLarge);
  std::vector<Call<std::uint64_t>> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back(caller.start<sum_up_later>(CallOptions{.timeout = 1us, .attachment = Bytes{memory}}));
  }
  for (const auto& result : loop().block_on(await_all(calls))) {
    EXPECT_EQ(result.status().code(), StatusCode::kDeadlineExceeded);
  }
  EXPECT_EQ(call<sum_up>(caller, CallOptions{.attachment = Bytes{memory}}).value(), sum_of(memory));
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Attachments, ALandingIsTheCallersAgainOnceItsCallWasDropped) {
  Server& server = serve({.threads = 1}, fill);
  Client& caller = client(server);
  EXPECT_TRUE(connect(caller).ok());
  for (int turns = 0; turns < 12; ++turns) {
    auto landing = std::make_unique<std::vector<std::byte>>(kLarge);
    {
      const Call<std::size_t> dropped = caller.start<produce>(CallOptions{.landing = *landing}, kLarge, 1u);
      for (int i = 0; i < turns && !dropped.done(); ++i) loop().run_once(1ms);
    }
    landing.reset();  // the sanitizer sees it when something still lands here
    EXPECT_EQ(call<no_attachment_please>(caller, turns).value(), turns);
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Attachments, BelongToTheCallUntilItEndsAlsoWhenTheConnectionDies) {
  Album album;
  auto server = std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}, .threads = 0, .loop = &loop()});
  server->register_handler<&Album::keep>(&album);
  server->start().value();
  Client& caller = client(*server);
  const std::vector<std::byte> memory = pattern(kLarge);
  std::vector<Call<std::uint64_t>> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(caller.start<&Album::keep>(CallOptions{.attachment = Bytes{memory}}));
  }
  ASSERT_TRUE(turn_until(loop(), [&] { return album.inside >= 1; }));
  server.reset();
  for (const auto& result : loop().block_on(await_all(calls))) {
    EXPECT_EQ(result.status().code(), StatusCode::kUnavailable);
  }
}

}  // namespace
}  // namespace weft::testing::attachment_tests
