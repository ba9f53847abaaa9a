// SPDX-License-Identifier: Apache-2.0
// CR-8: a handler chooses where the attachment of its request lands, before it arrives, or refuses it.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "integration/rpc/raw_peer.hpp"
#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::incoming_tests {
namespace {

constexpr std::size_t kLarge = std::size_t{64} << 20;
constexpr std::size_t kSome = std::size_t{2} << 20;
constexpr std::uint64_t kLittle = 64 * 1024;

/// A block store whose memory is its own: what is put there has one place from the beginning.
struct Store {
  Task<Result<std::uint64_t>> put(IncomingAttachment& data, std::uint64_t room) {
    ++asked;
    if (data.size() > room) {
      co_return user_error(7, "no room", StatusCode::kResourceExhausted);
    }
    memory.assign(room, std::byte{0xEE});
    Result<void> whole = co_await data.into(memory);
    outcome = whole.status();
    if (!whole.ok()) co_return whole.status();
    co_return data.received();
  }
  Task<Result<std::uint64_t>> put_later(CallContext& context, IncomingAttachment& data, std::uint64_t room) {
    last_call = context.call_id();
    memory.assign(room, std::byte{0xEE});
    ++asked;
    [[maybe_unused]] const Result<void> is_open = co_await open.wait();
    const Result<void> whole = co_await data.into(memory);
    if (!whole.ok()) co_return whole.status();
    co_return data.received();
  }
  /// Receives it into pages of `page` bytes, every second one of the memory.
  Task<Result<std::uint64_t>> put_in_pages(IncomingAttachment& data, std::uint64_t page) {
    const std::size_t pages = (data.size() + page - 1) / page;
    memory.assign(2 * pages * page, std::byte{0xEE});
    const Result<void> whole = co_await data.into(LandingView::strided(memory, pages, page, 2 * page));
    if (!whole.ok()) co_return whole.status();
    co_return data.received();
  }
  Task<Result<std::uint64_t>> put_counted(IncomingAttachment& data) {
    std::vector<std::byte> its(data.size());
    const Result<void> whole = co_await data.into(its, &progress);
    outcome = whole.status();
    if (!whole.ok()) co_return whole.status();
    co_return progress.received();
  }
  /// Receives no more than somewhat over a half.
  Task<Result<std::uint64_t>> put_half(IncomingAttachment& data) {
    memory.assign(data.size(), std::byte{0xEE});
    CancelScope enough;
    progress.on_change([&](const TransferProgress& now) {
      if (now.received() >= memory.size() / 2) enough.cancel(CancelReason::kRequested);
    });
    const Result<void> whole = co_await with_scope(enough, data.into(memory, &progress));
    outcome = whole.status();
    co_return progress.received();
  }
  Task<Result<std::uint64_t>> keep(IncomingAttachment& data) {
    Result<Buffer> whole = co_await data.receive();
    if (!whole.ok()) co_return whole.status();
    kept = *std::move(whole);
    co_return kept.size();
  }
  Task<std::uint64_t> measure(IncomingAttachment& data) { co_return data.size(); }
  Task<Result<std::uint64_t>> twice(IncomingAttachment& data) {
    memory.assign(data.size(), std::byte{0xEE});
    const Result<void> first = co_await data.into(memory);
    const Result<void> second = co_await data.into(memory);
    co_return first.ok() ? second.status() : first.status();
  }
  Task<Result<std::uint64_t>> at_the_second_try(IncomingAttachment& data) {
    std::array<std::byte, 3> little{};
    const Result<void> refused = co_await data.into(little);
    if (refused.ok()) co_return std::uint64_t{0};
    memory.assign(data.size(), std::byte{0xEE});
    const Result<void> whole = co_await data.into(memory);
    if (!whole.ok()) co_return whole.status();
    co_return data.received();
  }
  Task<Result<std::uint64_t>> for_a_while(IncomingAttachment& data) {
    memory.assign(data.size(), std::byte{0xEE});
    const auto first = co_await race(data.into(memory), sleep_for(1ms));
    // Nothing may land here any more.
    std::memset(memory.data(), 0x11, memory.size());
    co_return first.index;
  }
  Task<int> small(int number) { co_return number; }

  std::vector<std::byte> memory;
  Buffer kept;
  TransferProgress progress;
  Event open;
  std::optional<Status> outcome;
  std::uint64_t last_call = 0;
  std::atomic<int> asked = 0;
};

/// A request with an attachment of kSome, which waits to be asked for.
template <typename... Arguments>
std::string announcement(const MethodKey& method, const Arguments&... arguments) {
  std::string body(encoded_size(arguments...), '\0');
  encode_to(reinterpret_cast<std::byte*>(body.data()), body.size(), arguments...);
  const wire::RequestHead head{.body_bytes = static_cast<std::uint32_t>(body.size()),
                               .flags = wire::FrameFlags::kAttachment | wire::FrameFlags::kInPieces |
                                        wire::FrameFlags::kExpectsContinue,
                               .id = 1,
                               .method = method.id,
                               .schema = method.schema,
                               .attachment_bytes = kSome};
  std::string request = header_bytes(head.header());
  append_padded(request, body);
  return request;
}

class Incoming : public RpcTest {
 protected:
  Server& serve_store(ServerOptions options = {}) {
    return serve_here(std::move(options), [this](Server& server) {
      server.register_handler<&Store::put, &Store::put_later, &Store::keep, &Store::measure, &Store::twice,
                              &Store::at_the_second_try, &Store::for_a_while, &Store::small,
                              &Store::put_in_pages, &Store::put_counted, &Store::put_half>(&store);
    });
  }
  bool has_in_front(Bytes bytes) const {
    return same_bytes(Bytes{store.memory}.first(bytes.size()), bytes) &&
           all_are(Bytes{store.memory}.subspan(bytes.size()), std::byte{0xEE});
  }

  Store store;
};

TEST_F(Incoming, LandsInTheMemoryThatItsHandlerChose) {
  for (const bool checksums : {false, true}) {
    Server& server = serve_store({.checksums = checksums});
    Client& caller = client(server);
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{4096}, std::size_t{100'001}, kSome + 5, kLarge}) {
      const std::vector<std::byte> sent = pattern(size);
      const auto stored = call<&Store::put>(caller, CallOptions{.attachment = Bytes{sent}}, size + 100);
      ASSERT_TRUE(stored.ok()) << size << ": " << stored.status().to_string();
      EXPECT_EQ(*stored, size);
      EXPECT_TRUE(has_in_front(sent)) << size;
    }
    EXPECT_EQ(server.stats().protocol_errors, 0u);
  }
}

TEST_F(Incoming, LandsInPagesThatItsHandlerChose) {
  for (const bool checksums : {false, true}) {
    Client& caller = client(serve_store({.checksums = checksums}));
    for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, std::size_t{100'001}, kSome + 5}) {
      for (const std::size_t page : {std::size_t{100}, std::size_t{4096}, kSome}) {
        const std::vector<std::byte> sent = pattern(size);
        const auto stored = call<&Store::put_in_pages>(caller, CallOptions{.attachment = Bytes{sent}}, page);
        ASSERT_TRUE(stored.ok()) << size << ": " << stored.status().to_string();
        for (std::size_t i = 0; i < store.memory.size(); ++i) {
          const std::size_t at = i / (2 * page) * page + i % (2 * page);
          const bool filled = i % (2 * page) < page && at < size;
          ASSERT_EQ(store.memory[i], filled ? sent[at] : std::byte{0xEE}) << size << " " << page << " " << i;
        }
      }
    }
  }
}

TEST_F(Incoming, InPagesOfACallerThatDoesNotKnowIsCopiedThere) {
  Client& caller = client(serve_here([this](Server& its) {
    its.register_handler("put", [this](IncomingAttachment& data) { return store.put_in_pages(data, 1000); });
  }));
  const std::vector<std::byte> sent = pattern(kSome);
  constexpr auto& put = remote<"put", Result<std::uint64_t>()>;
  EXPECT_EQ(call<put>(caller, CallOptions{.attachment = Bytes{sent}}).value(), kSome);
  EXPECT_EQ(store.memory[2000 * 7 + 5], sent[1000 * 7 + 5]);
}

TEST_F(Incoming, IsRefusedBeforeAByteOfItWasSent) {
  Server& server = serve_store();
  Client& caller = client(server);
  const std::vector<std::byte> sent(kLarge);
  const auto refused = call<&Store::put>(caller, CallOptions{.attachment = Bytes{sent}}, kSome);
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.status().native(), 7);
  EXPECT_EQ(call<&Store::small>(caller, 2).value(), 2);
  EXPECT_LT(server.stats().traffic.bytes_received, 1024u);
  EXPECT_EQ(call<&Store::measure>(caller, CallOptions{.attachment = Bytes{sent}}).value(), kLarge);
  EXPECT_LT(server.stats().traffic.bytes_received, 2048u);
}

TEST_F(Incoming, WaitsAtItsCallerUntilThereIsMemory) {
  Server& server = serve_store();
  Client& caller = client(server);
  const std::vector<std::byte> sent = pattern(kSome);
  auto waits = caller.start<&Store::put_later>(CallOptions{.attachment = Bytes{sent}}, kSome + 10);
  ASSERT_TRUE(turn_until(loop(), [&] { return store.asked == 1; }));
  EXPECT_EQ(call<&Store::small>(caller, 2).value(), 2);
  EXPECT_LT(server.stats().traffic.bytes_received, 1024u);
  store.open.set();
  EXPECT_EQ(wait_for(std::move(waits)).value(), kSome);
  EXPECT_TRUE(has_in_front(sent));
}

TEST_F(Incoming, ThatFollowsItsRequestIsKeptForAHandlerThatChoosesLater) {
  Client& caller = client(serve_store());
  const std::vector<std::byte> sent = pattern(kLittle);
  auto waits = caller.start<&Store::put_later>(CallOptions{.attachment = Bytes{sent}}, kLittle + 10);
  ASSERT_TRUE(turn_until(loop(), [&] { return store.asked == 1; }));
  EXPECT_EQ(call<&Store::small>(caller, 2).value(), 2);
  store.open.set();
  EXPECT_EQ(wait_for(std::move(waits)).value(), kLittle);
  EXPECT_TRUE(has_in_front(sent));
}

TEST_F(Incoming, IsReceivedIntoMemoryOfTheServer) {
  Client& caller = client(serve_store());
  for (const std::size_t size : {std::size_t{1}, std::size_t{kLittle}, kSome, kLarge}) {
    const std::vector<std::byte> sent = pattern(size);
    EXPECT_EQ(call<&Store::keep>(caller, CallOptions{.attachment = Bytes{sent}}).value(), size);
    EXPECT_TRUE(same_bytes(store.kept.bytes(), sent)) << size;
  }
}

TEST_F(Incoming, InMemoryOfTheServerIsHeldToItsLimits) {
  ServerOptions options;
  options.limits.connection_memory_max = kSome;
  Server& server = serve_store(std::move(options));
  Client& caller = client(server);
  const std::vector<std::byte> sent(kLarge);
  const auto refused = call<&Store::keep>(caller, CallOptions{.attachment = Bytes{sent}});
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(refused.status().message().find("connection_memory_max"), std::string_view::npos);
  EXPECT_EQ(refused.status().retry(), Retry::kNever) << "it never fits";
  EXPECT_LT(server.stats().traffic.bytes_received, 1024u);
  EXPECT_EQ(call<&Store::put>(caller, CallOptions{.attachment = Bytes{sent}}, kLarge).value(), kLarge)
      << "memory of the handler's is the handler's";
}

TEST_F(Incoming, InMemoryOfTheServerCountsOnceInItsConnection) {
  ServerOptions options;
  options.limits.connection_memory_max = 3 * kSome / 2;
  Client& caller = client(serve_store(std::move(options)));
  const std::vector<std::byte> sent(kSome);
  for (int i = 0; i < 3; ++i) {
    const auto kept = call<&Store::keep>(caller, CallOptions{.attachment = Bytes{sent}});
    EXPECT_TRUE(kept.ok()) << i << " " << kept.status().to_string();
    store.kept = Buffer{};
  }
}

TEST_F(Incoming, OfACallerThatDoesNotKnowOfTheChoiceIsThereBeforeTheHandlerRuns) {
  Server& server = serve_here([this](Server& its) {
    its.register_handler(
        "store/put", [this](IncomingAttachment& data, std::uint64_t room) { return store.put(data, room); });
    its.register_handler("store/keep", [this](IncomingAttachment& data) { return store.keep(data); });
  });
  Client& caller = client(server);
  for (const std::size_t size : {std::size_t{1}, std::size_t{kLittle}, kSome}) {
    const std::vector<std::byte> sent = pattern(size);
    const CallOptions options{.attachment = Bytes{sent}};
    constexpr auto& put = remote<"store/put", Result<std::uint64_t>(std::uint64_t)>;
    EXPECT_EQ(call<put>(caller, options, kLarge).value(), size);
    EXPECT_TRUE(has_in_front(sent)) << size;
    constexpr auto& keep = remote<"store/keep", Result<std::uint64_t>()>;
    EXPECT_EQ(call<keep>(caller, options).value(), size);
    EXPECT_TRUE(same_bytes(store.kept.bytes(), sent)) << size;
  }
  const std::vector<std::byte> sent = pattern(kSome);
  constexpr auto& knows = remote<"store/put", Result<std::uint64_t>(IncomingAttachment&, std::uint64_t)>;
  const std::uint64_t before = server.stats().traffic.bytes_received;
  EXPECT_FALSE(call<knows>(caller, CallOptions{.attachment = Bytes{sent}}, 10).ok());
  EXPECT_LT(server.stats().traffic.bytes_received, before + 1024);
}

TEST_F(Incoming, ThatIsThereIsCopiedALittleInEachTurn) {
  Client& caller = client(serve_here([this](Server& its) {
    its.register_handler("put", [this](IncomingAttachment& data) { return store.put(data, kLarge); });
  }));
  const std::vector<std::byte> sent = pattern(kLarge);
  constexpr auto& put = remote<"put", Result<std::uint64_t>()>;
  auto copied = caller.start<put>(CallOptions{.attachment = Bytes{sent}});
  ASSERT_TRUE(turn_until(loop(), [&] { return store.asked == 1; }));
  EXPECT_FALSE(store.outcome.has_value()) << "other connections go on meanwhile";
  EXPECT_EQ(wait_for(std::move(copied)).value(), kLarge);
  EXPECT_TRUE(has_in_front(sent));
  {
    auto dropped = caller.start<put>(CallOptions{.attachment = Bytes{sent}});
    ASSERT_TRUE(turn_until(loop(), [&] { return store.asked == 2; }));
  }
  store.outcome.reset();
  ASSERT_TRUE(turn_until(loop(), [&] { return store.outcome.has_value(); }));
  EXPECT_EQ(store.outcome->code(), StatusCode::kCancelled);
}

TEST_F(Incoming, OfARequestWithoutOneIsEmpty) {
  Client& caller = client(serve_store());
  EXPECT_EQ(call<&Store::measure>(caller).value(), 0u);
  EXPECT_EQ(call<&Store::put>(caller, 10).value(), 0u);
  EXPECT_EQ(call<&Store::keep>(caller).value(), 0u);
}

TEST_F(Incoming, ThatDoesNotFitIsAFailureOfTheHandlers) {
  Client& caller = client(serve_here([](Server& server) {
    server.register_handler("too/small", [](IncomingAttachment& data) -> Task<Result<void>> {
      std::array<std::byte, 10> memory{};
      co_return co_await data.into(memory);
    });
  }));
  constexpr auto& too_small = remote<"too/small", Result<void>(IncomingAttachment&)>;
  const std::vector<std::byte> sent(kSome);
  for (const std::size_t size : {std::size_t{11}, kSome}) {
    const auto failed = call<too_small>(caller, CallOptions{.attachment = Bytes{sent}.first(size)});
    EXPECT_EQ(failed.status().code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(failed.status().retry(), Retry::kNever);
    EXPECT_NE(failed.status().message().find("does not fit into the 10 bytes"), std::string_view::npos);
  }
}

TEST_F(Incoming, IsReceivedOnce) {
  Client& caller = client(serve_store());
  const std::vector<std::byte> sent = pattern(kSome);
  for (const std::size_t size : {std::size_t{kLittle}, kSome}) {
    const auto failed = call<&Store::twice>(caller, CallOptions{.attachment = Bytes{sent}.first(size)});
    EXPECT_EQ(failed.status().code(), StatusCode::kInvalidArgument) << failed.status().to_string();
    EXPECT_NE(failed.status().message().find("is received once, by into() or receive()"),
              std::string_view::npos)
        << failed.status().to_string();
  }
}

// What is refused on the spot has received nothing.
TEST_F(Incoming, IsReceivedIntoOtherMemoryWhenTheFirstWasTooSmall) {
  Client& caller = client(serve_store());
  const std::vector<std::byte> sent = pattern(kSome);
  for (const std::size_t size : {std::size_t{kLittle}, kSome}) {
    const auto taken =
        call<&Store::at_the_second_try>(caller, CallOptions{.attachment = Bytes{sent}.first(size)});
    ASSERT_TRUE(taken.ok()) << taken.status().to_string();
    EXPECT_EQ(*taken, size);
    EXPECT_TRUE(same_bytes(store.memory, Bytes{sent}.first(size)));
  }
}

TEST_F(Incoming, ThatIsCancelledGivesItsMemoryBackAndTheConnectionStays) {
  Server& server = serve_store();
  Client& caller = client(server);
  ASSERT_TRUE(connect(caller).ok());
  const std::vector<std::byte> sent(kLarge);
  {
    auto dropped = caller.start<&Store::put>(CallOptions{.attachment = Bytes{sent}}, kLarge);
    while (server.stats().traffic.bytes_received < kSome) loop().run_once(1ms);
  }
  ASSERT_TRUE(turn_until(loop(), [&] { return store.outcome.has_value(); }));
  EXPECT_EQ(store.outcome->code(), StatusCode::kCancelled);
  store.memory.clear();
  store.memory.shrink_to_fit();  // the sanitizer sees it when something still lands here
  EXPECT_EQ(call<&Store::small>(caller, 2).value(), 2);
  EXPECT_LT(server.stats().traffic.bytes_received, kLarge / 2);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Incoming, ThatLostItsRaceLandsNoMore) {
  Server& server = serve_store();
  Client& caller = client(server);
  const std::vector<std::byte> sent(std::size_t{256} << 20);
  const auto first = call<&Store::for_a_while>(caller, CallOptions{.attachment = Bytes{sent}});
  EXPECT_EQ(first.value(), 1u) << "a quarter of a GiB takes longer than a millisecond";
  EXPECT_EQ(call<&Store::small>(caller, 2).value(), 2);
  EXPECT_TRUE(all_are(store.memory, std::byte{0x11}));
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

TEST_F(Incoming, ThatIsCancelledByWhoCountsItEndsAndItsCountStays) {
  Server& server = serve_store();
  Client& caller = client(server);
  const std::vector<std::byte> sent(kLarge, std::byte{0x22});
  const auto half = call<&Store::put_half>(caller, CallOptions{.attachment = Bytes{sent}});
  ASSERT_TRUE(half.ok()) << half.status().to_string();
  EXPECT_EQ(store.outcome->code(), StatusCode::kCancelled);
  EXPECT_GE(*half, kLarge / 2);
  EXPECT_LT(*half, kLarge);
  EXPECT_EQ(store.progress.received(), *half);
  EXPECT_TRUE(all_are(Bytes{store.memory}.first(*half), std::byte{0x22}));
  EXPECT_EQ(call<&Store::small>(caller, 2).value(), 2);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

TEST_F(Incoming, IsCountedByAProgressThatCountsNothingElse) {
  Client& caller = client(serve_store());
  const std::vector<std::byte> sent(kSome);
  CallOptions slow{.attachment = Bytes{sent}};
  slow.attachment_rate = 100'000;
  {
    auto first = caller.start<&Store::put_counted>(slow);
    ASSERT_TRUE(turn_until(loop(), [&] { return store.progress.received() != 0; }));
    const auto second = call<&Store::put_counted>(caller, CallOptions{.attachment = Bytes{sent}});
    EXPECT_EQ(second.status().code(), StatusCode::kInvalidArgument) << second.status().to_string();
    EXPECT_TRUE(store.progress.is_taken()) << "the first one's";
    store.outcome.reset();
  }
  ASSERT_TRUE(turn_until(loop(), [&] { return store.outcome.has_value(); }));
  EXPECT_FALSE(store.progress.is_taken()) << "the call was dropped";
  const std::uint64_t received = store.progress.received();
  EXPECT_LT(received, kSome);
  EXPECT_EQ(call<&Store::small>(caller, 2).value(), 2);
  EXPECT_EQ(store.progress.received(), received);
  EXPECT_EQ(call<&Store::put_counted>(caller, CallOptions{.attachment = Bytes{sent}}).value(), kSome);
}

TEST_F(Incoming, EndsWithItsConnection) {
  Server& server = serve_store();
  Client& caller = client(server);
  ASSERT_TRUE(connect(caller).ok());
  const std::vector<std::byte> sent(kLarge);
  auto lost = caller.start<&Store::put>(CallOptions{.attachment = Bytes{sent}}, kLarge);
  while (server.stats().traffic.bytes_received < kSome) loop().run_once(1ms);
  caller.close();
  ASSERT_TRUE(turn_until(loop(), [&] { return store.outcome.has_value(); }));
  EXPECT_EQ(store.outcome->code(), StatusCode::kUnavailable);
  EXPECT_FALSE(wait_for(std::move(lost)).ok());
}

TEST_F(Incoming, OfALostConnectionMayHaveBeenServed) {
  Server& server = serve_store();
  Client& caller = client(server);
  const std::vector<std::byte> sent(kLarge);
  auto lost = caller.start<&Store::put_later>(CallOptions{.attachment = Bytes{sent}}, kLarge);
  ASSERT_TRUE(turn_until(loop(), [&] { return store.asked == 1; }));
  server.stop(Duration::zero());
  const auto outcome = wait_for(std::move(lost));
  EXPECT_FALSE(outcome.ok());
  EXPECT_FALSE(outcome.status().unprocessed()) << "its handler ran: " << outcome.status().to_string();
}

TEST_F(Incoming, PiecesThatNobodyAskedForAreDropped) {
  Server& server = serve_store();
  RawPeer peer{server.urls().front()};
  peer.send_hello();
  constexpr auto kMethod = detail::method_key<&Store::put_later>;
  const std::string whole(kSome, 'x');
  peer.send(announcement(kMethod, std::uint64_t{kSome}));
  const wire::PieceHead piece{.id = 1, .offset = 0, .bytes = kSome, .last = true};
  peer.send(frame_bytes(piece.header(), {}, whole));
  peer.send(control_bytes(wire::FrameType::kPing, 5));
  ASSERT_TRUE(turn_until(loop(), [&] {
    return peer.write_some() && peer.read_some() && !peer.frames_of(wire::FrameType::kPong).empty();
  }));
  EXPECT_TRUE(peer.frames_of(wire::FrameType::kContinue).empty());
  store.open.set();
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.read_some() && !peer.frames_of(wire::FrameType::kContinue).empty(); }));
  EXPECT_TRUE(all_are(store.memory, std::byte{0xEE}));
  peer.send(frame_bytes(piece.header(), {}, whole));
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.write_some() && peer.read_some() && peer.answers().size() == 1; }));
  EXPECT_EQ(store.memory[kSome - 1], std::byte{'x'});
}

// Nothing of what the handler waits for can come any more, however long it may take.
TEST_F(Incoming, EndsAtOnceWhenItsPeerHasEndedItsSide) {
  ServerOptions options;
  options.limits.frame_timeout = 24h;
  Server& server = serve_store(std::move(options));
  const std::string requests[] = {announcement(detail::method_key<&Store::put>, std::uint64_t{kSome}),
                                  announcement(detail::method_key<&Store::keep>)};
  for (const std::string& request : requests) {
    for (const std::uint64_t begun : {0u, 8u}) {
      RawPeer peer{server.urls().front()};
      peer.send_hello();
      peer.send(request);
      ASSERT_TRUE(turn_until(loop(), [&] {
        return peer.write_some() && peer.read_some() && !peer.frames_of(wire::FrameType::kContinue).empty();
      }));
      const wire::PieceHead piece{.id = 1, .offset = 0, .bytes = begun};
      if (begun != 0) peer.send(frame_bytes(piece.header(), {}, std::string(begun, 'x')));
      ASSERT_TRUE(peer.write_some() && peer.all_written());
      peer.end_sending();
      bool open = true;
      ASSERT_TRUE(turn_until(loop(), [&] {
        open = open && peer.read_some();
        return !open;
      })) << "the server ends its side too";
      ASSERT_EQ(peer.answers().size(), 1u);
      EXPECT_EQ(wire::AnswerView{peer.answers().front()}.code(),
                static_cast<unsigned>(StatusCode::kUnavailable));
    }
  }
  EXPECT_TRUE(store.kept.empty());
}

TEST_F(Incoming, IsNotAskedForWhenItsPeerHasEndedItsSide) {
  Server& server = serve_store();
  RawPeer peer{server.urls().front()};
  peer.send_hello();
  peer.send(announcement(detail::method_key<&Store::put_later>, std::uint64_t{kSome}));
  ASSERT_TRUE(turn_until(loop(), [&] { return peer.write_some() && store.asked == 1; }));
  peer.end_sending();
  // It asks whether the peer is still there.
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.read_some() && !peer.frames_of(wire::FrameType::kPing).empty(); }));
  store.open.set();
  ASSERT_TRUE(turn_until(loop(), [&] { return peer.read_some() && peer.answers().size() == 1; }));
  EXPECT_EQ(wire::AnswerView{peer.answers().front()}.code(), static_cast<unsigned>(StatusCode::kUnavailable));
  EXPECT_TRUE(peer.frames_of(wire::FrameType::kContinue).empty());
}

TEST_F(Incoming, ThatDoesNotComeIsGivenUp) {
  ServerOptions options;
  options.limits.frame_timeout = 50ms;
  Server& server = serve_store(std::move(options));
  RawPeer peer{server.urls().front()};
  peer.send_hello();
  constexpr auto kMethod = detail::method_key<&Store::keep>;
  peer.send(announcement(kMethod));
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.write_some() && peer.read_some() && peer.answers().size() == 1; }));
  EXPECT_EQ(wire::AnswerView{peer.answers().front()}.code(), static_cast<unsigned>(StatusCode::kUnavailable));
  EXPECT_TRUE(store.kept.empty());
  EXPECT_EQ(server.stats().refused[RefusalReason::kAttachmentStalled], 1u);
}

}  // namespace
}  // namespace weft::testing::incoming_tests
