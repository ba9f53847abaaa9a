// SPDX-License-Identifier: Apache-2.0
// CR-8: attachments over 128 KiB travel in pieces: other frames pass them, they take turns, and a transfer
// that is given up ends on the wire.
#include <algorithm>
#include <memory>
#include <vector>

#include "integration/rpc/raw_peer.hpp"
#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::pieces_tests {
namespace {

constexpr std::size_t kMany = std::size_t{64} << 20;
constexpr std::size_t kSome = std::size_t{2} << 20;
constexpr std::uint64_t kFewBytes = std::uint64_t{16} << 20;

std::size_t take(CallContext& context) {
  return context.attachment().size();
}
std::size_t produce(CallContext& context, std::uint64_t bytes) {
  context.set_attachment(Buffer::adopt(pattern(bytes)));
  return bytes;
}
int small(int number) {
  return number;
}

/// Notes in which order calls began, and what became of their answers.
struct Journal {
  std::size_t take(CallContext& context, int name) {
    order.push_back(name);
    return context.attachment().size();
  }
  int small(int name) {
    order.push_back(name);
    return name;
  }
  std::size_t produce(CallContext& context, std::uint64_t bytes) {
    context.set_attachment(Buffer::adopt(pattern(bytes)));
    context.on_answer_sent([to = answers_sent](bool sent) { to->push_back(sent); });
    return bytes;
  }
  std::size_t produce_and_hang_up(CallContext& context, std::uint64_t bytes) {
    context.close_connection();
    return produce(context, bytes);
  }
  std::size_t produce_some(CallContext& context) {
    produced += kSome;
    return produce(context, kSome);
  }
  std::vector<int> order;
  /// Answers end with their server, which is after this.
  std::shared_ptr<std::vector<bool>> answers_sent = std::make_shared<std::vector<bool>>();
  std::uint64_t produced = 0;
};

class Pieces : public RpcTest {
 protected:
  static void fill(Server& server) {
    server.register_handler<take>();
    server.register_handler<produce>();
    server.register_handler<small>();
  }
  Server& serve_journal() {
    return serve_here([this](Server& server) {
      server.register_handler<&Journal::take>(&journal);
      server.register_handler<&Journal::small>(&journal);
      server.register_handler<&Journal::produce>(&journal);
      server.register_handler<&Journal::produce_and_hang_up>(&journal);
      server.register_handler<&Journal::produce_some>(&journal);
    });
  }

  Journal journal;
};

TEST_F(Pieces, LetSmallCallsPass) {
  Client& caller = client(serve_journal());
  ASSERT_TRUE(connect(caller).ok());
  const std::vector<std::byte> memory(kMany);
  auto large = caller.start<&Journal::take>(CallOptions{.attachment = Bytes{memory}}, 1);
  auto little = caller.start<&Journal::small>(2);
  EXPECT_EQ(wait_for(std::move(little)).value(), 2);
  EXPECT_EQ(wait_for(std::move(large)).value(), kMany);
  EXPECT_EQ(journal.order, (std::vector<int>{2, 1}));
}

TEST_F(Pieces, OfSeveralAttachmentsTakeTurns) {
  Client& caller = client(serve_journal());
  ASSERT_TRUE(connect(caller).ok());
  const std::vector<std::byte> memory(kMany);
  auto large = caller.start<&Journal::take>(CallOptions{.attachment = Bytes{memory}}, 1);
  auto medium = caller.start<&Journal::take>(CallOptions{.attachment = Bytes{memory}.first(kSome)}, 2);
  EXPECT_EQ(wait_for(std::move(medium)).value(), kSome);
  EXPECT_FALSE(large.done());
  EXPECT_EQ(wait_for(std::move(large)).value(), kMany);
  EXPECT_EQ(journal.order, (std::vector<int>{2, 1}));
}

TEST_F(Pieces, OfAnswersTakeTurnsAndLandInTheirOwnPlaces) {
  Client& caller = client(serve_journal());
  std::vector<std::byte> first(kMany);
  std::vector<std::byte> second(kSome + 1);
  auto large = caller.start<&Journal::produce>(CallOptions{.landing = first}, kMany);
  auto medium = caller.start<&Journal::produce>(CallOptions{.landing = second}, kSome + 1);
  EXPECT_EQ(wait_for(std::move(medium)).value(), kSome + 1);
  EXPECT_FALSE(large.done());
  EXPECT_EQ(wait_for(std::move(large)).value(), kMany);
  EXPECT_TRUE(same_bytes(first, pattern(kMany)));
  EXPECT_TRUE(same_bytes(second, pattern(kSome + 1)));
  ASSERT_TRUE(turn_until(loop(), [&] { return journal.answers_sent->size() == 2; }));
  EXPECT_EQ(*journal.answers_sent, (std::vector<bool>{true, true}));
}

TEST_F(Pieces, OfARequestThatIsCancelledStayAway) {
  Server& server = serve_journal();
  Client& caller = client(server);
  ASSERT_TRUE(connect(caller).ok());
  std::vector<std::byte> memory(kMany);
  {
    auto dropped = caller.start<&Journal::take>(CallOptions{.attachment = Bytes{memory}}, 1);
    while (server.stats().traffic.bytes_received < kSome) loop().run_once(1ms);
  }
  std::ranges::fill(memory, std::byte{1});  // it is the caller's again
  EXPECT_EQ(call<&Journal::small>(caller, 2).value(), 2);
  EXPECT_EQ(journal.order, (std::vector<int>{2}));
  EXPECT_LT(server.stats().traffic.bytes_received, kFewBytes);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  EXPECT_EQ(call<&Journal::take>(caller, CallOptions{.attachment = Bytes{memory}}, 3).value(), kMany);
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Pieces, OfAnAnswerThatIsCancelledStayAway) {
  Server& server = serve_journal();
  Client& caller = client(server);
  std::vector<std::byte> landing(kMany);
  {
    auto dropped = caller.start<&Journal::produce>(CallOptions{.landing = landing}, kMany);
    while (caller.stats().traffic.bytes_received < kSome) loop().run_once(1ms);
  }
  landing.clear();
  landing.shrink_to_fit();  // the sanitizer sees it when something still lands here
  EXPECT_EQ(call<&Journal::small>(caller, 2).value(), 2);
  ASSERT_TRUE(turn_until(loop(), [&] { return !journal.answers_sent->empty(); }));
  EXPECT_EQ(*journal.answers_sent, (std::vector<bool>{false}));
  EXPECT_LT(server.stats().traffic.bytes_sent, kFewBytes);
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Pieces, OfAnAnswerThatNobodyTakesAreNotSent) {
  Server& server = serve_journal();
  Client& caller = client(server);
  EXPECT_EQ(loop().block_on(caller.call<&Journal::produce>(kMany)).value(), kMany);
  std::vector<std::byte> too_small(10);
  EXPECT_EQ(call<&Journal::produce>(caller, CallOptions{.landing = too_small}, kMany).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(call<&Journal::small>(caller, 2).value(), 2);
  EXPECT_LT(server.stats().traffic.bytes_sent, kFewBytes);
}

TEST_F(Pieces, OfARequestThatIsRefusedAreNotSent) {
  Server& server = serve_here(fill);
  Client& caller = client(server);
  const std::vector<std::byte> memory(kMany);
  EXPECT_EQ(call<small>(caller, CallOptions{.attachment = Bytes{memory}}, 1).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(call<small>(caller, 1).value(), 1);
  EXPECT_LT(server.stats().traffic.bytes_received, kFewBytes);
}

TEST_F(Pieces, OfAnswersLandInListsAndAtDistances) {
  for (const bool checksums : {false, true}) {
    Client& caller = client(serve({.threads = 1, .checksums = checksums}, fill));
    for (const std::size_t size : {std::size_t{10}, std::size_t{100'000}, kSome + 3}) {
      for (const std::size_t page : {std::size_t{1000}, std::size_t{4096}, std::size_t{200'000}}) {
        const std::size_t pages = size / page + 1;
        std::vector<std::byte> memory(pages * (page + 1), std::byte{0xEE});
        std::vector<MutableBytes> list;
        for (std::size_t i = pages; i > 0; --i) {  // the last page first
          list.push_back(MutableBytes{memory}.subspan((i - 1) * (page + 1), page));
        }
        EXPECT_EQ(call<produce>(caller, CallOptions{.landing = list}, size).value(), size);
        const std::vector<std::byte> sent = pattern(size);
        for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(list[i / page][i % page], sent[i]) << i;
        EXPECT_EQ(memory[page], std::byte{0xEE});
        const CallOptions columns{.landing = LandingView::strided(memory, pages, page, page + 1)};
        EXPECT_EQ(call<produce>(caller, columns, size).value(), size);
        for (std::size_t i = 0; i < size; ++i)
          ASSERT_EQ(memory[i / page * (page + 1) + i % page], sent[i]) << i;
        EXPECT_EQ(memory[page], std::byte{0xEE});
      }
    }
  }
}

TEST_F(Pieces, OfManyBlocksAreGatheredFromListsAndDistances) {
  Client& caller = client(serve_here([](Server& its) {
    its.register_handler("back",
                         [](CallContext& context) { context.set_attachment(context.take_attachment()); });
  }));
  constexpr auto& back = remote<"back", void()>;
  const std::vector<std::byte> memory = pattern(2 * kSome);
  std::vector<std::byte> landing(kSome);
  const auto columns = AttachmentView::strided(memory, kSome / 4096, 4096, 8192);
  ASSERT_TRUE(call<back>(caller, CallOptions{.attachment = columns, .landing = landing}).ok());
  for (std::size_t i = 0; i < kSome; ++i) ASSERT_EQ(landing[i], memory[i / 4096 * 8192 + i % 4096]) << i;
}

TEST_F(Pieces, OfBlocksThatLeaveTheirMemoryAreRefusedBeforeAnythingIsSent) {
  Server& server = serve_here(fill);
  Client& caller = client(server);
  ASSERT_TRUE(connect(caller).ok());
  const std::uint64_t before = server.stats().traffic.bytes_received;
  std::vector<std::byte> memory(1000);
  const CallOptions too_far{.attachment = AttachmentView::strided(memory, 2, 10, 991)};
  EXPECT_EQ(call<take>(caller, too_far).status().code(), StatusCode::kInvalidArgument);
  const CallOptions overlapping{.landing = LandingView::strided(memory, 2, 10, 5)};
  EXPECT_EQ(call<produce>(caller, overlapping, 5).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(server.stats().traffic.bytes_received, before);
}

TEST_F(Pieces, CarryChecksums) {
  Client& caller = client(serve({.threads = 1, .checksums = true}, fill));
  std::vector<std::byte> landing(kSome + 3);
  EXPECT_EQ(call<produce>(caller, CallOptions{.landing = landing}, kSome + 3).value(), kSome + 3);
  EXPECT_TRUE(same_bytes(landing, pattern(kSome + 3)));
  EXPECT_EQ(call<take>(caller, CallOptions{.attachment = Bytes{landing}}).value(), kSome + 3);
}

TEST_F(Pieces, AreSentBeforeTheirConnectionEnds) {
  Client& caller = client(serve_journal());
  std::vector<std::byte> landing(kMany);
  EXPECT_EQ(call<&Journal::produce_and_hang_up>(caller, CallOptions{.landing = landing}, kMany).value(),
            kMany);
  EXPECT_TRUE(same_bytes(landing, pattern(kMany)));
}

TEST_F(Pieces, AreNotSentToAPeerThatDoesNotKnowThem) {
  Server& server = serve_journal();
  RawPeer peer{server.urls().front()};
  wire::Hello hello;
  hello.body_bytes_max = 1u << 20;
  hello.attachment_bytes_max = 1u << 30;
  hello.calls_in_flight_max = 10;
  peer.send(wire::encode_hello(hello));
  constexpr auto kMethod = detail::method_key<&Journal::produce_some>;
  peer.send_request(1, kMethod.id, kMethod.schema, "");
  ASSERT_TRUE(turn_until(loop(), [&] {
    return peer.write_some() && peer.read_some() && !peer.frames_of(wire::FrameType::kAnswer).empty();
  }));
  EXPECT_EQ(peer.frames_of(wire::FrameType::kAnswer).front().following_bytes(), kSome);
}

TEST_F(Pieces, OfAnswersThatNobodyReadsAreBounded) {
  Server& server = serve_journal();
  RawPeer peer{server.urls().front(), 32 * 1024};
  peer.send_hello();
  constexpr auto kMethod = detail::method_key<&Journal::produce_some>;
  for (std::uint32_t i = 0; i < 200; ++i) {
    peer.send_request(wire::make_id(i, 0), kMethod.id, kMethod.schema, "");
  }
  std::uint64_t before = 0;
  do {
    before = journal.produced;
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(peer.write_some());
      loop().run_once(1ms);
    }
  } while (journal.produced != before);
  EXPECT_LE(journal.produced, 70 * kSome);
  EXPECT_GE(journal.produced, 16 * kSome);
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.write_some() && peer.read_some() && peer.answers().size() == 200; }));
}

}  // namespace
}  // namespace weft::testing::pieces_tests
