// SPDX-License-Identifier: Apache-2.0
// Metadata of answers: initial and trailing, of results and failures, for each kind of handler and of caller.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>
#include <weft/blocking.hpp>

#include "integration/faults/hostile_peer.hpp"
#include "integration/rpc/raw_peer.hpp"
#include "integration/rpc/rpc_testing.hpp"

namespace weft::testing::answer_metadata_tests {

using namespace weft::detail;
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::string_view kBinary{"\0\xff\n any", 7};

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs_of(MetadataView view) {
  Pairs pairs;
  for (const auto& [key, value] : view) pairs.emplace_back(key, value);
  return pairs;
}

void give(CallContext& context) {
  context.add_initial_metadata("server", "one").value();
  context.add_answer_metadata("cost", "3").value();
  context.add_answer_metadata("trace-bin", kBinary).value();
  context.add_answer_metadata("cost", "4").value();
}

int ordinary(CallContext& context) {
  give(context);
  return 7;
}
Task<int> coroutine(CallContext& context) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
  give(context);
  co_return 7;
}
void by_reply(Reply<int> reply, CallContext& context) {
  give(context);
  std::move(reply)(7);
}
Result<int> failing(CallContext& context) {
  give(context);
  return user_error(5, "no", StatusCode::kNotFound).with_details("some details");
}
int plain() {
  return 7;
}
int attached(CallContext& context) {
  give(context);
  context.set_attachment(Buffer::copy_of(Bytes{as_bytes(std::string_view{"attached"})}));
  return 7;
}
std::string too_many(CallContext& context) {
  std::size_t added = 0;
  std::size_t refused = 0;
  for (int i = 0; i < 1000; ++i) {
    (context.add_answer_metadata("k", "v").ok() ? added : refused) += 1;
    (context.add_initial_metadata("k", "v").ok() ? added : refused) += 1;
  }
  return std::to_string(added) + " " + std::to_string(refused);
}
int large(CallContext& context) {
  context.add_answer_metadata("large", std::string(wire::kMetadataBytesMax - 9, 'x')).value();
  return 7;
}
int large_initial(CallContext& context) {
  return context.add_initial_metadata("large", std::string(2000, 'x')).ok() ? 1 : 7;
}
Task<int> count(CallContext& context, Writer<int>& writer) {
  context.add_initial_metadata("first", "a").value();
  context.add_initial_metadata("first", "b").value();
  context.add_answer_metadata("last", "z").value();
  [[maybe_unused]] const auto one = co_await writer.write(1);
  [[maybe_unused]] const auto two = co_await writer.write(2);
  co_return 7;
}
Task<int> wait_long(CallContext& context, [[maybe_unused]] Writer<int>& writer) {
  context.add_initial_metadata("first", "a").value();
  [[maybe_unused]] const auto slept = co_await sleep_for(1h);
  co_return 7;
}
int count_blocking(CallContext& context, BlockingWriter<int>& writer) {
  context.add_initial_metadata("first", "a").value();
  context.add_answer_metadata("last", "z").value();
  writer.write(1);
  return 7;
}
std::string off_the_loop;
void blocking_by_reply(Reply<int> reply, CallContext& context) {
  off_the_loop = std::string{context.add_answer_metadata("k", "v").status().message()} + "; " +
                 std::string{context.add_initial_metadata("k", "v").status().message()};
  std::move(reply)(7);
}
std::string after_the_answer;
void late(Reply<int> reply, CallContext& context) {
  std::move(reply)(7);
  after_the_answer = std::string{context.add_answer_metadata("k", "v").status().message()};
}

/// Keeps the metadata that an interceptor, one of a server or of a client, sees at the end of a call.
template <typename Interceptor>
class WitnessOf final : public Interceptor {
 public:
  void after(const EndedCall& call) noexcept override {
    initial = pairs_of(call.initial_metadata);
    trailing = pairs_of(call.trailing_metadata);
  }
  Pairs initial;
  Pairs trailing;
};
using Witness = WitnessOf<ServerInterceptor>;
using ClientWitness = WitnessOf<ClientInterceptor>;

class AnswersWithMetadata : public RpcTest {
 protected:
  static void fill(Server& its) {
    its.register_handler<ordinary, coroutine, by_reply, failing, plain, attached, too_many, large,
                         large_initial, count, wait_long, late>();
    its.register_handler<method<ordinary, "blocking">>({.blocking = true});
    its.register_handler<count_blocking>({.blocking = true});
    its.register_handler<blocking_by_reply>({.blocking = true});
  }
  Server& serve_all(ServerOptions options = {}) { return serve_here(std::move(options), fill); }
  CallOptions options() { return {.answer_metadata = &metadata_}; }
  void expect_given() const {
    EXPECT_THAT(pairs_of(metadata_.initial()), ElementsAre(Pair("server", "one")));
    EXPECT_THAT(pairs_of(metadata_.trailing()),
                ElementsAre(Pair("cost", "3"), Pair("trace-bin", std::string{kBinary}), Pair("cost", "4")));
  }

  AnswerMetadata metadata_;
};

TEST_F(AnswersWithMetadata, ComeFromEachKindOfHandler) {
  Client& caller = client(serve_all());
  const auto check = [&](const Result<int>& result) {
    EXPECT_EQ(result.value(), 7);
    expect_given();
    metadata_ = {};
  };
  check(call<ordinary>(caller, options()));
  check(call<coroutine>(caller, options()));
  check(call<by_reply>(caller, options()));
  check(call<method<ordinary, "blocking">>(caller, options()));
}

TEST_F(AnswersWithMetadata, ComeWithAFailureAndItsDetails) {
  Client& caller = client(serve_all());
  const Result<int> result = call<failing>(caller, options());
  EXPECT_EQ(result.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(result.status().details(), "some details");
  expect_given();
}

TEST_F(AnswersWithMetadata, ComeWithAnAttachment) {
  Client& caller = client(serve_all());
  const Result<Answer<int>> answer = wait_for_answer(caller.start<attached>(options()));
  EXPECT_EQ(answer.value().value, 7);
  EXPECT_EQ(as_text(answer.value().attachment.bytes()), "attached");
  expect_given();
}

TEST_F(AnswersWithMetadata, AreDroppedForACallerThatNamesNoObject) {
  Client& caller = client(serve_all());
  EXPECT_EQ(call<ordinary>(caller).value(), 7);
  EXPECT_EQ(call<coroutine>(caller).value(), 7);
}

TEST_F(AnswersWithMetadata, AreClearedByACallWithout) {
  Client& caller = client(serve_all());
  EXPECT_EQ(call<ordinary>(caller, options()).value(), 7);
  EXPECT_EQ(call<plain>(caller, options()).value(), 7);
  EXPECT_TRUE(metadata_.empty());
  EXPECT_EQ(call<ordinary>(caller, options()).value(), 7);
  CallOptions expired = options();
  expired.timeout = -1ms;
  EXPECT_FALSE(call<plain>(caller, expired).ok());
  EXPECT_TRUE(metadata_.empty()) << "the call was not even sent";
}

TEST_F(AnswersWithMetadata, StayAfterTheirClientAsLongAsACopyDoes) {
  {
    BlockingClient caller{{.connect = serve({}, fill).urls().front()}};
    EXPECT_EQ(caller.call<ordinary>(options()).value(), 7);
  }
  expect_given();
}

TEST_F(AnswersWithMetadata, HaveALimitForEachKind) {
  Client& caller = client(serve_all());
  EXPECT_EQ(call<too_many>(caller, options()).value(), "128 1872");
  EXPECT_EQ(pairs_of(metadata_.initial()).size(), kMetadataPairsMax);
  EXPECT_EQ(pairs_of(metadata_.trailing()).size(), kMetadataPairsMax);
}

TEST_F(AnswersWithMetadata, FailACallWhoseCallerTakesShorterBodies) {
  Client& caller = client(serve_all(), {.limits = {.body_bytes_max = 1024}});
  const Result<int> result = call<large>(caller, options());
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string{result.status().message()}, HasSubstr("the metadata of the answer"));
  EXPECT_EQ(call<plain>(caller).value(), 7) << "the connection is well";
  EXPECT_EQ(call<large>(client(serve_all()), options()).value(), 7);
  EXPECT_EQ(metadata_.trailing().bytes().size(), wire::kMetadataBytesMax);
}

TEST_F(AnswersWithMetadata, AreRefusedAfterTheAnswer) {
  Client& caller = client(serve_all());
  EXPECT_EQ(call<late>(caller, options()).value(), 7);
  EXPECT_TRUE(metadata_.empty());
  ASSERT_TRUE(turn_until(loop(), [] { return !after_the_answer.empty(); }));
  EXPECT_THAT(after_the_answer, HasSubstr("sent already"));
}

TEST_F(AnswersWithMetadata, AreRefusedToABlockingHandlerWithAReply) {
  Client& caller = client(serve_all());
  EXPECT_EQ(call<blocking_by_reply>(caller, options()).value(), 7);
  EXPECT_TRUE(metadata_.empty());
  EXPECT_THAT(off_the_loop, AllOf(HasSubstr("; "), HasSubstr("a blocking handler with a Reply")));
}

TEST_F(AnswersWithMetadata, ThatTheCallerHasNoRoomForFailTheCallAlsoWhenTheyAreInitial) {
  Client& caller = client(serve_all(), {.limits = {.body_bytes_max = 1024}});
  const Result<int> result = call<large_initial>(caller, options());
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string{result.status().message()}, HasSubstr("the metadata of the answer"));
  EXPECT_EQ(call<plain>(caller).value(), 7) << "the connection is well";
}

TEST_F(AnswersWithMetadata, OfAStreamComeBeforeItsItemsAndAtItsEnd) {
  Client& caller = client(serve_all());
  const auto read = [&](Client& its) -> Task<void> {
    auto stream = its.open<count>(options());
    EXPECT_EQ(co_await stream.next(), 1);
    EXPECT_THAT(pairs_of(metadata_.initial()), ElementsAre(Pair("first", "a"), Pair("first", "b")));
    EXPECT_EQ(co_await stream.next(), 2);
    const Result<int> result = co_await stream.finish();
    EXPECT_EQ(result.value(), 7);
  };
  loop().block_on(read(caller));
  EXPECT_THAT(pairs_of(metadata_.initial()), ElementsAre(Pair("first", "a"), Pair("first", "b")));
  EXPECT_THAT(pairs_of(metadata_.trailing()), ElementsAre(Pair("last", "z")));
}

TEST_F(AnswersWithMetadata, ReachThreadsThatWait) {
  Server& server = serve({}, fill);
  BlockingClient caller{{.connect = server.urls().front()}};
  EXPECT_EQ(caller.call<coroutine>(options()).value(), 7);
  expect_given();
  auto stream = caller.open<count>(options());
  EXPECT_EQ(stream.next(), 1);
  EXPECT_EQ(stream.finish().value(), 7);
  EXPECT_THAT(pairs_of(metadata_.initial()), ElementsAre(Pair("first", "a"), Pair("first", "b")));
  EXPECT_THAT(pairs_of(metadata_.trailing()), ElementsAre(Pair("last", "z")));
  auto blocking = caller.open<count_blocking>(options());
  EXPECT_EQ(blocking.finish().value(), 7);
  EXPECT_THAT(pairs_of(metadata_.initial()), ElementsAre(Pair("first", "a")));
  EXPECT_THAT(pairs_of(metadata_.trailing()), ElementsAre(Pair("last", "z")));
}

TEST_F(AnswersWithMetadata, OfAStreamThatItsThreadCancelsDoNoHarm) {
  Server& server = serve({}, fill);
  BlockingClient caller{{.connect = server.urls().front()}};
  EXPECT_EQ(caller.call<ordinary>(options()).value(), 7);
  auto stream = caller.open<wait_long>(options());
  stream.cancel();
  EXPECT_EQ(stream.finish().status().code(), StatusCode::kCancelled);
}

TEST_F(AnswersWithMetadata, AreSeenByInterceptorsOfBothSides) {
  const auto witness = std::make_shared<Witness>();
  const auto client_witness = std::make_shared<ClientWitness>();
  ServerOptions with_witness;
  with_witness.interceptors = {witness};
  Client& caller = client(serve_all(std::move(with_witness)), {.interceptors = {client_witness}});
  const auto expect_seen = [&] {
    EXPECT_THAT(witness->initial, ElementsAre(Pair("server", "one")));
    EXPECT_EQ(witness->trailing.size(), 3u);
    EXPECT_EQ(client_witness->initial, witness->initial);
    EXPECT_EQ(client_witness->trailing, witness->trailing);
  };
  EXPECT_EQ(call<coroutine>(caller).value(), 7);
  expect_seen();
  EXPECT_FALSE(call<failing>(caller).ok());
  expect_seen();
  EXPECT_EQ(call<plain>(caller).value(), 7);
  EXPECT_THAT(witness->trailing, IsEmpty());
  EXPECT_THAT(client_witness->trailing, IsEmpty());
}

TEST_F(AnswersWithMetadata, AreNotSentToABuildThatDoesNotReadThem) {
  Server& server = serve_all();
  RawPeer peer{server.urls().front()};
  peer.send(hello_bytes(0, wire::Features::kAll & ~wire::Features::kAnswerMetadata));
  const MethodKey method = method_key<ordinary>;
  peer.send_request(wire::make_id(0, 0), method.id, method.schema, {});
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.write_some() && peer.read_some() && peer.answers().size() == 1; }));
  EXPECT_TRUE(wire::AnswerView{peer.answers().front()}.succeeded());
  EXPECT_THAT(peer.frames_of(wire::FrameType::kAnswerMetadata), IsEmpty());
}

TEST_F(AnswersWithMetadata, AreFramesInFrontOfTheAnswer) {
  Server& server = serve_all();
  RawPeer peer{server.urls().front()};
  peer.send_hello();
  const MethodKey method = method_key<ordinary>;
  peer.send_request(wire::make_id(3, 1), method.id, method.schema, {});
  ASSERT_TRUE(turn_until(
      loop(), [&] { return peer.write_some() && peer.read_some() && peer.answers().size() == 1; }));
  const auto frames = peer.frames_of(wire::FrameType::kAnswerMetadata);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_TRUE(wire::AnswerMetadataView{frames[0]}.is_initial());
  EXPECT_FALSE(wire::AnswerMetadataView{frames[1]}.is_initial());
  EXPECT_EQ(frames[1].id, wire::make_id(3, 1));
}

/// A server that answers one request with frames of the test's.
class AnswersOnce {
 public:
  explicit AnswersOnce(std::function<std::string(std::uint64_t id)> frames)
      : thread_([this, frames = std::move(frames)] {
          faults::HostilePeer peer = listener_.accept();
          peer.send(hello_bytes());
          if (!peer.receive_hello()) return;
          for (;;) {
            const auto head = peer.receive(wire::kHeaderBytes);
            if (!head) return;
            const wire::FrameHeader header = wire::load_header(as_bytes(*head).data());
            if (!peer.receive(wire::head_bytes(header.body_bytes, false) - wire::kHeaderBytes)) return;
            if (header.type == wire::FrameType::kRequest) peer.send(frames(header.id));
          }
        }) {}
  ~AnswersOnce() { thread_.join(); }
  std::string url() const { return listener_.url(); }

 private:
  faults::HostileListener listener_;
  std::thread thread_;
};

std::string metadata_frame(std::uint64_t id, std::string_view body, bool initial = false) {
  return frame_bytes(wire::AnswerMetadataHead{.id = id, .initial = initial}.header(), body);
}
std::string answer_frame(std::uint64_t id) {
  return frame_bytes(wire::AnswerHead{.id = id}.header(), faults::body_of(7));
}

TEST_F(AnswersWithMetadata, ThatAreMalformedFailTheCallAndNotTheConnection) {
  const std::string pair{"\x01\0\x01\0kv", 6};
  const std::vector<std::pair<std::string, std::string>> bad{
      {std::string{"\x01\0\xFF\xFFkv", 6}, "malformed"},
      {std::string{"\0\0\x01\0v", 5}, "malformed"},
      {pair + "x", "malformed"},
      {std::string(wire::kMetadataBytesMax + 1, 'x'), "the metadata of the answer"},
      {std::string(1u << 20, 'x'), "the metadata of the answer"}};
  std::atomic<std::size_t> at = 0;
  std::string twice;
  for (std::size_t i = 0; i < kMetadataPairsMax / 2 + 1; ++i) twice += pair;
  AnswersOnce server{[&](std::uint64_t id) {
    if (at == bad.size()) return metadata_frame(id, twice) + metadata_frame(id, twice) + answer_frame(id);
    if (at > bad.size()) return metadata_frame(id + 1, pair) + metadata_frame(id, pair) + answer_frame(id);
    return metadata_frame(id, bad[at].first) + metadata_frame(id, pair) + answer_frame(id);
  }};
  {
    Client caller{loop(), {.connect = server.url()}};
    for (; at < bad.size(); ++at) {
      const Result<int> result = call<plain>(caller, options());
      EXPECT_FALSE(result.ok()) << at;
      EXPECT_THAT(std::string{result.status().message()}, HasSubstr(bad[at].second)) << at;
      EXPECT_TRUE(metadata_.empty());
    }
    const Result<int> result = call<plain>(caller, options());
    EXPECT_THAT(std::string{result.status().message()}, HasSubstr("exceed 64 pairs"));
    ++at;
    EXPECT_EQ(call<plain>(caller, options()).value(), 7);
    EXPECT_THAT(pairs_of(metadata_.trailing()), ElementsAre(Pair("k", "v")));
    EXPECT_EQ(caller.stats().connections, 1u);
  }
}

TEST_F(AnswersWithMetadata, ThatAreMalformedLeaveTheCallersValueAlone) {
  AnswersOnce server{[](std::uint64_t id) { return metadata_frame(id, "x") + answer_frame(id); }};
  int kept = 5;
  {
    Client caller{loop(), {.connect = server.url()}};
    const auto ask = [&]() -> Task<Result<void>> {
      co_return co_await caller.call<plain>(options()).into(kept);
    };
    EXPECT_FALSE(loop().block_on(ask()).ok());
  }
  EXPECT_EQ(kept, 5);
}

TEST_F(AnswersWithMetadata, AreWrittenToNoObjectOfACallThatWasGivenUp) {
  Client& caller = client(serve_all());
  ASSERT_TRUE(connect(caller).ok());
  {
    AnswerMetadata gone;
    auto given_up = caller.start<coroutine>(CallOptions{.answer_metadata = &gone});
  }
  EXPECT_EQ(call<coroutine>(caller, options()).value(), 7);
  expect_given();
}

}  // namespace
}  // namespace weft::testing::answer_metadata_tests
