// SPDX-License-Identifier: Apache-2.0
// CR-8: attachments over 128 KiB travel in pieces, from lists and to lists, to peers that know them, and no
// more of them wait than may.
#include <algorithm>
#include <memory>
#include <vector>

#include "integration/rpc/raw_peer.hpp"
#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::pieces_tests {
namespace {

constexpr std::size_t kSome = std::size_t{2} << 20;

std::size_t take(CallContext& context) {
  return context.attachment().size();
}
std::size_t produce(CallContext& context, std::uint64_t bytes) {
  context.set_attachment(Buffer::adopt(pattern(bytes)));
  return bytes;
}

/// Counts the bytes of the answers that it makes.
struct Producer {
  std::size_t produce_some(CallContext& context) {
    produced += kSome;
    return produce(context, kSome);
  }
  std::uint64_t produced = 0;
};

class Pieces : public RpcTest {
 protected:
  static void fill(Server& server) {
    server.register_handler<take>();
    server.register_handler<produce>();
  }
  Server& serve_producer() {
    return serve_here(
        [this](Server& server) { server.register_handler<&Producer::produce_some>(&producer); });
  }

  Producer producer;
};

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

TEST_F(Pieces, AreNotSentToAPeerThatDoesNotKnowThem) {
  Server& server = serve_producer();
  RawPeer peer{server.urls().front()};
  wire::Hello hello;
  hello.body_bytes_max = 1u << 20;
  hello.attachment_bytes_max = 1u << 30;
  hello.calls_in_flight_max = 10;
  peer.send(wire::encode_hello(hello));
  constexpr auto kMethod = detail::method_key<&Producer::produce_some>;
  peer.send_request(1, kMethod.id, kMethod.schema, "");
  ASSERT_TRUE(turn_until(loop(), [&] {
    return peer.write_some() && peer.read_some() && !peer.frames_of(wire::FrameType::kAnswer).empty();
  }));
  EXPECT_EQ(peer.frames_of(wire::FrameType::kAnswer).front().following_bytes(), kSome);
}

TEST_F(Pieces, OfAnswersThatNobodyReadsAreBounded) {
  Server& server = serve_producer();
  RawPeer peer{server.urls().front(), 32 * 1024};
  peer.send_hello();
  constexpr auto kMethod = detail::method_key<&Producer::produce_some>;
  for (std::uint32_t i = 0; i < 200; ++i) {
    peer.send_request(wire::make_id(i, 0), kMethod.id, kMethod.schema, "");
  }
  std::uint64_t before = 0;
  do {
    before = producer.produced;
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(peer.write_some());
      loop().run_once(1ms);
    }
  } while (producer.produced != before);
  EXPECT_LE(producer.produced, 70 * kSome);
  EXPECT_GE(producer.produced, 16 * kSome);
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.write_some() && peer.read_some() && peer.answers().size() == 200; }));
}

}  // namespace
}  // namespace weft::testing::pieces_tests
