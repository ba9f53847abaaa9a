// SPDX-License-Identifier: Apache-2.0
// Calls and handlers of methods that are known at run time, against typed ones in both directions.
#include "weft/untyped.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "weft/codec.hpp"
#include "weft/detail/functions/handler.hpp"
#include "weft/detail/protobuf/method.hpp"

namespace weft::testing::untyped_tests {

struct Point {
  double x = 0;
  double y = 0;
};
struct Nested {
  std::optional<Point> at;
};
struct Noted {
  int number = 0;
  Compatible<std::string, 2> note;
};
struct Twice {
  Point first;
  Compatible<int, 3> more;
  std::string name;
};
struct Node {
  int value = 0;
  std::vector<Node> children;
};
struct Empty {};

inline Point centre(const std::vector<Point>& points) {
  return points.empty() ? Point{} : points.front();
}
inline std::string repeat(std::string_view text, std::uint32_t times) {
  std::string all;
  for (std::uint32_t i = 0; i < times; ++i) all += text;
  return all;
}
inline Nested nested(const std::optional<Nested>& value) {
  return value.value_or(Nested{});
}
inline Noted noted(int number) {
  return {.number = number, .note = {}};
}
inline Twice twice(const Twice& value, Compatible<int, 2>) {
  return value;
}
inline Node tree(const Node& node) {
  return node;
}
inline std::tuple<Empty, std::tuple<int>> wrapped(std::variant<int, std::string>, Empty) {
  return {};
}
inline std::pair<int, std::string> pair_of(Result<int>) {
  return {};
}
inline void nothing() {}
inline Result<int> fails(int code) {
  return Status{static_cast<StatusCode>(code), Layer::kUser, "as you wish"};
}
inline Stream<int> count_up(int last) {
  for (int i = 1; i <= last; ++i) co_yield i;
}
inline Task<int> sum(Reader<int>& numbers) {
  int sum = 0;
  while (const auto number = co_await numbers.next()) sum += *number;
  co_return sum;
}
inline Task<void> echo_all(Reader<Point>& in, Writer<std::string>& out) {
  while (const auto point = co_await in.next()) {
    const std::string text = std::to_string(static_cast<int>(point->x));
    const bool written = co_await out.write(text);
    if (!written) break;
  }
}
inline std::size_t attach(CallContext& context) {
  Buffer taken = context.take_attachment();
  const std::size_t size = taken.size();
  context.set_attachment(std::move(taken));
  return size;
}

namespace {

using ::testing::HasSubstr;

/// The message of `values`, as a typed caller would write it.
template <typename... Ts>
std::vector<std::byte> message_of(const Ts&... values) {
  std::vector<std::byte> message(detail::encoded_size(values...));
  detail::encode_to(message.data(), message.size(), values...);
  return message;
}
template <typename T>
Result<T> value_of(const Result<Buffer>& message) {
  if (!message.ok()) return message.status();
  detail::DecodeArena arena;
  T value{};
  const Result<void> decoded = detail::decode_from(message->bytes(), arena, value);
  if (!decoded.ok()) return decoded.status();
  return value;
}

template <auto M>
std::string described() {
  const detail::MethodEntry entry = detail::HandlerOf<M>::entry(nullptr, {});
  return entry.described_text(entry);
}
/// The text of the types determines the schema that typed callers send.
template <auto M>
void expect_schema_of() {
  const std::string text = described<M>();
  const Result<UntypedMethod> method = UntypedMethod::function("m", text);
  ASSERT_TRUE(method.ok()) << text << ": " << method.status().to_string();
  EXPECT_EQ(method->key().schema, detail::method_key<M>.schema) << text;
  const std::string plain = detail::method_key<M>.schema_text(detail::method_key<M>);
  const Result<UntypedMethod> without_names = UntypedMethod::function("m", plain);
  ASSERT_TRUE(without_names.ok()) << plain << ": " << without_names.status().to_string();
  EXPECT_EQ(without_names->key().schema, detail::method_key<M>.schema) << plain;
}

TEST(UntypedMethods, HaveTheSchemaOfTypedOnes) {
  expect_schema_of<&centre>();
  expect_schema_of<&repeat>();
  expect_schema_of<&nested>();
  expect_schema_of<&noted>();
  expect_schema_of<&twice>();
  expect_schema_of<&tree>();
  expect_schema_of<&wrapped>();
  expect_schema_of<&pair_of>();
  expect_schema_of<&nothing>();
  expect_schema_of<&fails>();
  expect_schema_of<&count_up>();
  expect_schema_of<&sum>();
  expect_schema_of<&echo_all>();
}

TEST(UntypedMethods, OfProtobufHaveTheKeysOfGeneratedOnes) {
  const auto plain = UntypedMethod::protobuf("demo.Echo/Say", "demo.Request", "demo.Response");
  const auto key = protobuf::make_method("demo.Echo/Say", "demo.Request", "demo.Response");
  EXPECT_EQ(plain.key().id, key.id);
  EXPECT_EQ(plain.key().schema, key.schema);
  EXPECT_FALSE(plain.streams());
  const auto both = UntypedMethod::protobuf("demo.Echo/All", "demo.Request", "demo.Response", true, true);
  EXPECT_EQ(both.key().schema, protobuf::make_method("demo.Echo/All", "demo.Request", "demo.Response", false,
                                                     protobuf::Streams::kBoth)
                                   .schema);
  EXPECT_TRUE(both.streams());
}

TEST(UntypedMethods, AreRefusedForTextThatDescribesNone) {
  for (const char* text : {"", "(i32", "(i32) -> ", "(i32) => (i32)", "(i33) -> (i32)",
                           "({x: i32, x: i32}) -> void", "(^0) -> void", "stream of (i32) -> void"}) {
    EXPECT_FALSE(UntypedMethod::function("m", text).ok()) << text;
  }
  const auto recursive = UntypedMethod::function("m", "() -> ({children: [^0]})");
  EXPECT_EQ(recursive.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string{recursive.status().message()}, HasSubstr("contains itself"));
}

class Untyped : public RpcTest {
 protected:
  static void fill(Server& server) {
    server.register_handler<method<&centre, "centre">, method<&repeat, "repeat">, method<&nothing, "nothing">,
                            method<&fails, "fails">, method<&attach, "attach">, method<&count_up, "count">,
                            method<&sum, "sum">, method<&echo_all, "echo">>();
  }
  UntypedMethod found(Client& client, const std::string& name) {
    auto methods = loop().block_on(describe_methods(client, name));
    EXPECT_EQ(methods.value().size(), 1u) << name;
    return methods->front();
  }
  Result<Buffer> ask(Client& client, const UntypedMethod& method, Bytes request, CallOptions options = {}) {
    return loop().block_on(untyped_call(client, method, request, options));
  }
  template <typename F>
  static void add(Server& server, std::string name, std::string types, F function) {
    const Result<void> added = register_untyped(
        server, UntypedMethod::function(std::move(name), std::move(types)).value(), std::move(function));
    ASSERT_TRUE(added.ok()) << added.status().to_string();
  }
};

TEST_F(Untyped, CallsReachTypedHandlers) {
  Client& caller = client(serve_here(fill));
  const auto first =
      value_of<Point>(ask(caller, found(caller, "centre"), message_of(std::vector<Point>{{1, 2}, {3, 4}})));
  EXPECT_EQ(first.value().x, 1);
  EXPECT_EQ(first->y, 2);
  const auto text = value_of<std::string>(
      ask(caller, UntypedMethod::function("repeat", "(string, u32) -> (string)").value(),
          message_of(std::string_view{"ab"}, std::uint32_t{3})));
  EXPECT_EQ(text.value(), "ababab");
  const auto none = ask(caller, found(caller, "nothing"), {});
  EXPECT_TRUE(none.ok() && none->empty());
}

TEST_F(Untyped, CallsGetTheFailuresOfHandlersAndOfMissingMethods) {
  Client& caller = client(serve_here(fill));
  const auto failed =
      ask(caller, found(caller, "fails"), message_of(static_cast<int>(StatusCode::kAlreadyExists)));
  EXPECT_EQ(failed.status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(failed.status().message(), "as you wish");
  const auto missing = ask(caller, UntypedMethod::function("none", "() -> void").value(), {});
  EXPECT_EQ(missing.status().code(), StatusCode::kUnimplemented);
  const auto other = ask(caller, UntypedMethod::function("centre", "(i32) -> (i32)").value(), message_of(1));
  EXPECT_EQ(other.status().code(), StatusCode::kFailedPrecondition);
}

TEST_F(Untyped, HostileRequestsAreRefusedAndTheConnectionGoesOn) {
  Client& caller = client(serve_here(fill));
  const UntypedMethod centre = found(caller, "centre");
  const auto good = message_of(std::vector<Point>{{1, 2}, {3, 4}});
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto cut = ask(caller, centre, Bytes{good}.first(size));
    EXPECT_EQ(cut.status().code(), StatusCode::kInvalidArgument) << size;
  }
  auto counted = good;
  for (std::size_t i = 0; i < 4; ++i) counted[i] = std::byte{0xff};
  EXPECT_EQ(ask(caller, centre, counted).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(ask(caller, centre, good).ok());
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_F(Untyped, LongRequestsAndAnswersTravelWhole) {
  Client& caller = client(serve_here(fill));
  const std::string text(200'001, 'x');
  const auto request = message_of(std::string_view{text}, std::uint32_t{2});
  const auto answer = value_of<std::string>(ask(caller, found(caller, "repeat"), request));
  EXPECT_EQ(answer.value(), text + text);
}

TEST_F(Untyped, AttachmentsTravelInBothDirections) {
  Client& caller = client(serve_here(fill));
  const UntypedMethod attach = found(caller, "attach");
  const std::string sent(300'000, 'a');
  const auto exchange = [](Client* its, const UntypedMethod* method,
                           Bytes bytes) -> Task<Result<Answer<Buffer>>> {
    CallOptions options;
    options.attachment = bytes;
    auto answer = co_await untyped_call(*its, *method, {}, options).with_attachment();
    co_return answer;
  };
  const auto answer = loop().block_on(exchange(&caller, &attach, bytes_of(sent)));
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(as_text(answer->attachment.bytes()), sent);
  std::vector<std::byte> landing(sent.size());
  CallOptions options;
  options.attachment = bytes_of(sent);
  options.landing = MutableBytes{landing};
  EXPECT_TRUE(ask(caller, attach, {}, options).ok());
  EXPECT_EQ(as_text(landing), sent);
}

TEST_F(Untyped, MethodsLiveAsLongAsTheirCalls) {
  Client& caller = client(serve_here(fill));
  const auto request = message_of(std::string_view{"a"}, std::uint32_t{2});
  const auto drop_early = [](Client* its, Bytes bytes) -> Task<Result<Buffer>> {
    std::optional<UntypedMethod> method{
        UntypedMethod::function("repeat", "(string, u32) -> (string)").value()};
    auto call = untyped_call(*its, *method, bytes);
    method.reset();
    auto answer = co_await std::move(call);
    co_return answer;
  };
  EXPECT_EQ(value_of<std::string>(loop().block_on(drop_early(&caller, request))).value(), "aa");
  UntypedStream stream{caller, UntypedMethod::function("count", "(i32) -> void, stream of (i32)").value(),
                       message_of(2)};
  const auto item = loop().block_on(stream.next());
  EXPECT_EQ(item.value().size(), 4u);
}

TEST_F(Untyped, StreamsGiveItemsAndResults) {
  Client& caller = client(serve_here(fill));
  UntypedStream numbers{caller, found(caller, "count"), message_of(1000)};
  const auto read_all = [](UntypedStream* stream) -> Task<int> {
    int last = 0;
    while (const std::optional<Buffer> item = co_await stream->next()) {
      last = value_of<int>(Buffer::copy_of(item->bytes())).value();
    }
    co_return last;
  };
  EXPECT_EQ(loop().block_on(read_all(&numbers)), 1000);
  EXPECT_TRUE(numbers.status().ok()) << numbers.status().to_string();

  UntypedStream sums{caller, found(caller, "sum"), {}};
  const auto write_all = [](UntypedStream* stream) -> Task<Result<Buffer>> {
    for (int i = 1; i <= 1000; ++i) {
      const auto message = message_of(i);
      const Bytes item{message};
      const bool written = co_await stream->write(item);
      if (!written) break;
    }
    auto result = co_await stream->finish();
    co_return result;
  };
  EXPECT_EQ(value_of<int>(loop().block_on(write_all(&sums))).value(), 500'500);
  EXPECT_EQ(loop().block_on(sums.finish()).status().code(), StatusCode::kFailedPrecondition) << "once";
}

TEST_F(Untyped, StreamsEndByHostileItemsAndByCancel) {
  Client& caller = client(serve_here(fill));
  UntypedStream hostile{caller, found(caller, "echo"), {}};
  const auto write_bad = [](UntypedStream* stream) -> Task<Result<Buffer>> {
    const std::vector<std::byte> three(3);
    const Bytes item{three};
    const bool written = co_await stream->write(item);
    EXPECT_TRUE(written);
    auto result = co_await stream->finish();
    co_return result;
  };
  EXPECT_EQ(loop().block_on(write_bad(&hostile)).status().code(), StatusCode::kInvalidArgument);

  UntypedStream endless{caller, found(caller, "count"), message_of(2'000'000'000)};
  EXPECT_TRUE(loop().block_on(endless.next()).has_value());
  endless.cancel();
  EXPECT_EQ(loop().block_on(endless.finish()).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(value_of<std::string>(
                ask(caller, found(caller, "repeat"), message_of(std::string_view{"a"}, std::uint32_t{2})))
                .value(),
            "aa");
}

constexpr auto kArea = remote<"area", double(Point, std::optional<int>)>;

Task<Result<Buffer>> area(CallContext& context, Bytes request) {
  EXPECT_EQ(context.method(), "area");
  detail::DecodeArena arena;
  Point size;
  std::optional<int> times;
  const Result<void> decoded = detail::decode_from(request, arena, size, times);
  if (!decoded.ok()) co_return decoded.status();
  const auto answer = message_of(size.x * size.y * times.value_or(1));
  co_return Buffer::copy_of(answer);
}

TEST_F(Untyped, HandlersServeTypedClientsAndAreDescribed) {
  const std::string types = "({x: f64, y: f64}, i32?) -> (f64)";
  Server& server = serve_here([&](Server& its) { add(its, "area", types, &area); });
  Client& caller = client(server);
  const Point size{2, 3};
  EXPECT_EQ((call<kArea>(caller, size, std::optional<int>{4}).value()), 24);
  EXPECT_EQ((call<kArea>(caller, size, std::nullopt).value()), 6);
  const UntypedMethod method = found(caller, "area");
  EXPECT_EQ(method.types(), types);
  EXPECT_EQ(method.key().schema, detail::method_key<kArea>.schema);
  EXPECT_EQ(ask(caller, method, message_of(1)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ((call<remote<"area", double(Point)>>(caller, size).status().code()),
            StatusCode::kFailedPrecondition);
}

TEST_F(Untyped, HandlersFailThrowAndAnswerLong) {
  Server& server = serve_here([&](Server& its) {
    add(its, "throw", "() -> void", [](CallContext&, Bytes) -> Task<Result<Buffer>> {
      throw std::runtime_error("no luck");
      co_return Buffer{};
    });
    add(its, "fail", "() -> void", [](CallContext&, Bytes) -> Task<Result<Buffer>> {
      co_return Status{StatusCode::kAborted, Layer::kUser, "not today"};
    });
    add(its, "long", "() -> (string)", [](CallContext& context, Bytes) -> Task<Result<Buffer>> {
      context.set_attachment(Buffer::copy_of(bytes_of("behind")));
      const auto answer = message_of(std::string(300'000, 'l'));
      co_return Buffer::copy_of(answer);
    });
  });
  Client& caller = client(server);
  const auto thrown = call<remote<"throw", void()>>(caller).status();
  EXPECT_EQ(thrown.code(), StatusCode::kUnknown);
  EXPECT_THAT(std::string{thrown.message()}, HasSubstr("no luck"));
  EXPECT_EQ((call<remote<"fail", void()>>(caller).status().code()), StatusCode::kAborted);
  const auto answer = wait_for_answer(caller.start<remote<"long", std::string()>>());
  EXPECT_EQ(answer.value().value.size(), 300'000u);
  EXPECT_EQ(as_text(answer->attachment.bytes()), "behind");
}

TEST_F(Untyped, CancelledCallsCancelTheirHandlers) {
  auto ended = std::make_shared<std::optional<CancelReason>>();
  Server& server = serve_here([&](Server& its) {
    add(its, "wait", "() -> void", [ended](CallContext&, Bytes) -> Task<Result<Buffer>> {
      // The function outlives its coroutines, so they may refer to what it holds.
      const Result<void> slept = co_await sleep_for(std::chrono::hours{1});
      CancelScope* const scope = co_await this_cancel_scope();
      *ended = scope->reason();
      co_return slept.status();
    });
  });
  Client& caller = client(server);
  const UntypedMethod wait = found(caller, "wait");
  const auto cancel_soon = [](Client* its, const UntypedMethod* method) -> Task<Status> {
    CancelScope scope;
    Scope tasks;
    tasks.spawn(
        [](CancelScope* to_cancel) -> Task<void> {
          static_cast<void>(co_await sleep_for(std::chrono::milliseconds{1}));
          to_cancel->cancel(CancelReason::kRequested);
        },
        &scope);
    auto call = untyped_call(*its, *method, {});
    const Result<Buffer> answer = co_await with_scope(scope, std::move(call));
    co_await tasks.join();
    co_return answer.status();
  };
  EXPECT_EQ(loop().block_on(cancel_soon(&caller, &wait)).code(), StatusCode::kCancelled);
  EXPECT_TRUE(turn_until(loop(), [&] { return ended->has_value(); }));
  EXPECT_EQ(*ended, CancelReason::kPeerCancelled);
  ended->reset();
  CallOptions options;
  options.timeout = std::chrono::milliseconds{5};
  EXPECT_EQ(ask(caller, wait, {}, options).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(turn_until(loop(), [&] { return ended->has_value(); }));
}

TEST_F(Untyped, AClientServesItsServerToo) {
  Server& server = serve_here([](Server& its) {
    its.register_handler("ask_back", [](CallContext& context, int number) -> Task<Result<int>> {
      Peer peer = context.peer();
      auto answer = co_await peer.call<remote<"plus_one", int(int)>>(number);
      co_return answer;
    });
  });
  Client& caller = client(server);
  const auto added = register_untyped(caller, UntypedMethod::function("plus_one", "(i32) -> (i32)").value(),
                                      [](CallContext&, Bytes request) -> Task<Result<Buffer>> {
                                        const auto number = value_of<int>(Buffer::copy_of(request));
                                        if (!number.ok()) co_return number.status();
                                        const auto answer = message_of(*number + 1);
                                        co_return Buffer::copy_of(answer);
                                      });
  ASSERT_TRUE(added.ok());
  EXPECT_EQ((call<remote<"ask_back", int(int)>>(caller, 41).value()), 42);
}

TEST_F(Untyped, HandlersOfStreamsAreRefused) {
  Server server{{.listen = {kAnyPort}}};
  const auto refused =
      register_untyped(server, UntypedMethod::function("s", "() -> void, stream of (i32)").value(), &area);
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(server.methods().empty());
}

}  // namespace
}  // namespace weft::testing::untyped_tests
