// SPDX-License-Identifier: Apache-2.0
// Long arguments are sent from where the caller has them, and results that show the request's bytes from
// where those were received. What arrives is what copies would have been, and the caller's memory is the
// caller's again when the call has ended, however it ends.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "integration/rpc/raw_peer.hpp"
#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/base/lent_runs.hpp"

namespace weft::testing::lent_bodies_tests {
namespace {

constexpr std::size_t kLong = LentRuns::kRunBytesMin;

struct Page {
  std::string name;
  std::vector<std::uint32_t> words;
};

std::string text_of(std::size_t size, std::uint32_t seed = 1) {
  const std::vector<std::byte> bytes = pattern(size, seed);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view echo(std::string_view text) {
  return text;
}
/// Something of the handler's own stands between two views of the request.
std::tuple<std::string_view, std::string, std::string_view> halves(std::string_view text) {
  return {text.substr(0, text.size() / 2), "between", text.substr(text.size() / 2)};
}
inline constexpr auto kHalves =
    remote<"halves", std::tuple<std::string, std::string, std::string>(std::string_view)>;
std::span<const double> echo_numbers(std::span<const double> numbers) {
  return numbers;
}
Task<std::string_view> echo_later(std::string_view text) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
  co_return text;
}
std::string_view echo_attached(CallContext& context, std::string_view text) {
  context.set_attachment(context.take_attachment());
  return text;
}
std::uint64_t count(const Page& page) {
  return page.name.size() + page.words.size();
}
std::string make(std::uint64_t size) {
  return text_of(size);
}
Task<Result<Page>> make_later(std::uint64_t size) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
  co_return Page{text_of(size), std::vector<std::uint32_t>(size, 7)};
}
std::string make_attached(CallContext& context, std::uint64_t size) {
  context.set_attachment(context.take_attachment());
  return text_of(size);
}
void make_by_reply(Reply<std::string> reply, std::uint64_t size) {
  std::move(reply)(text_of(size));
}
void echo_by_reply(Reply<std::string_view> reply, std::string_view text) {
  std::move(reply)(text);
}
struct Link {
  std::string text;
  std::vector<Link> next;
};
int follow(const Link& first) {
  int links = 0;
  for (const Link* link = &first; !link->next.empty(); link = &link->next.front()) ++links;
  return links;
}
int refuse(std::string_view) {
  throw user_error(3, "not this one");
}

void fill(Server& server) {
  server.register_handler<echo, echo_numbers, echo_later, echo_by_reply, refuse, count, follow>();
  server.register_handler<echo_attached, make, make_attached, make_later, make_by_reply>();
  server.register_handler<method<&halves, "halves">>();
  server.register_handler<method<&echo, "echo/worker">>({.blocking = true});
  server.register_handler<method<&make, "make/worker">>({.blocking = true});
}

/// Larger bodies than are usual, so that sockets are full with less.
RpcLimits limits() {
  RpcLimits its;
  its.body_bytes_max = 16 << 20;
  return its;
}

class LentBodies : public RpcTest {
 protected:
  Server& roomy_server(ServerOptions options = {.threads = 1}) {
    options.limits = limits();
    return serve(std::move(options), fill);
  }
  template <typename Fill>
  Server& roomy_server_here(Fill its_fill) {
    ServerOptions options;
    options.limits = limits();
    return serve_here(std::move(options), its_fill);
  }
  Client& roomy_client(const std::string& url, bool checksums = false) {
    ClientOptions options;
    options.limits = limits();
    options.checksums = checksums;
    return client(url, std::move(options));
  }
  Client& roomy_client(const Server& server) { return roomy_client(server.urls().front()); }
  /// Takes the client's connection in and says a hello there, until some of the first call has come; `peer`
  /// is the caller's then.
  void accept_one_that_reads_nothing(SilentListener& listener, int& peer) {
    ASSERT_TRUE(turn_until(loop(), [&] { return listener.has_waiting(); }));
    peer = listener.accept_fd();
    const std::string hello = hello_bytes();
    ASSERT_EQ(::send(peer, hello.data(), hello.size(), MSG_NOSIGNAL), static_cast<ssize_t>(hello.size()));
    char part[4096];
    ASSERT_TRUE(turn_until(
        loop(), [&] { return ::recv(peer, part, sizeof part, MSG_DONTWAIT | MSG_PEEK) == sizeof part; }));
  }
  template <auto M, typename... Arguments>
  auto ask(Client& caller, const Arguments&... arguments) {
    return loop().block_on(caller.call<M>(arguments...));
  }
  /// Results that are the handlers' own.
  void expect_made(Client& caller) {
    for (const std::uint64_t size : {kLong - 1, kLong, kLong + 3, std::size_t{1'000'003}}) {
      const std::string text = text_of(size);
      EXPECT_EQ(ask<make>(caller, size).value(), text) << size;
      EXPECT_EQ(ask<make_by_reply>(caller, size).value(), text) << size;
      EXPECT_EQ((ask<remote<"make/worker", std::string(std::uint64_t)>>(caller, size).value()), text) << size;
      const Page page = ask<make_later>(caller, size).value();
      EXPECT_EQ(page.name, text) << size;
      EXPECT_EQ(page.words, std::vector<std::uint32_t>(size, 7)) << size;
    }
  }
  void expect_echoes(Client& caller) {
    for (const std::size_t size :
         {kLong - 1, kLong, kLong + 3, std::size_t{1'000'003}, std::size_t{8} << 20}) {
      const std::string text = text_of(size, static_cast<std::uint32_t>(size));
      EXPECT_EQ(ask<echo>(caller, text).value(), text) << size;
      EXPECT_EQ(ask<echo_later>(caller, text).value(), text) << size;
      EXPECT_EQ(ask<echo_by_reply>(caller, text).value(), text) << size;
      EXPECT_EQ((ask<remote<"echo/worker", std::string(std::string_view)>>(caller, text).value()), text)
          << size;
      const auto [first, between, second] = ask<kHalves>(caller, text).value();
      EXPECT_EQ(first + second, text) << size;
      EXPECT_EQ(between, "between");
    }
    expect_made(caller);
    const Page page{text_of(kLong), std::vector<std::uint32_t>(kLong)};
    EXPECT_EQ(ask<count>(caller, page).value(), 2 * kLong);
    const std::vector<double> numbers(kLong, 0.5);
    EXPECT_EQ(ask<echo_numbers>(caller, std::span<const double>{numbers}).value(), numbers);
    EXPECT_EQ(ask<refuse>(caller, text_of(kLong)).status().native(), 3);
  }
};

TEST_F(LentBodies, ArriveWholeOverEveryTransportAndWithChecksums) {
  const std::string path = "unix://" + ::testing::TempDir() + "weft_lent_bodies";
  Server& server = roomy_server({.listen = {kAnyPort, path}, .threads = 1});
  for (const std::string& url : server.urls()) {
    expect_echoes(roomy_client(url));
    expect_echoes(roomy_client(url, true));
  }
  expect_echoes(
      roomy_client(roomy_server({.listen = {"memory://lent_bodies"}, .threads = 0, .loop = &loop()})));
}

Task<void> echo_once(Client* caller, std::size_t size, int* good) {
  const std::string text = text_of(size, static_cast<std::uint32_t>(size));
  const Result<std::string> answer = co_await caller->call<echo>(text);
  if (answer.ok() && *answer == text) ++*good;
}

Task<void> echo_many(Client* caller, int calls, int* good) {
  Scope scope;
  for (int i = 0; i < calls; ++i) {
    const std::size_t odd = static_cast<std::size_t>(i);
    scope.spawn(&echo_once, caller, i % 3 == 0 ? 100 : kLong * (1 + odd % 7) + odd, good);
  }
  co_await scope.join();
}

Task<void> join(Scope* scope) {
  co_await scope->join();
}

// Many at once, so that answers wait for room, and frames of all sizes stand between each other.
TEST_F(LentBodies, PassEachOtherInOrder) {
  Client& caller = roomy_client(roomy_server());
  int good = 0;
  loop().block_on(echo_many(&caller, 200, &good));
  EXPECT_EQ(good, 200);
}

TEST_F(LentBodies, HaveAttachmentsAndMetadataBesideThem) {
  Client& caller = roomy_client(roomy_server());
  const std::string text = text_of(kLong * 3 + 1);
  for (const std::size_t size : {std::size_t{100}, std::size_t{50'000}, std::size_t{1'000'000}}) {
    const std::vector<std::byte> attached = pattern(size);
    std::vector<std::byte> landing(size);
    Metadata metadata;
    metadata.set("name", "value").value();
    const CallOptions options{.attachment = Bytes{attached}, .landing = landing, .metadata = metadata};
    const auto answer = loop().block_on(caller.call<echo_attached>(options, text).with_attachment());
    ASSERT_TRUE(answer.ok()) << answer.status().to_string();
    EXPECT_EQ(answer->value, text);
    EXPECT_EQ(landing, attached);
    std::ranges::fill(landing, std::byte{});
    const auto made = loop().block_on(caller.call<make_attached>(options, text.size()).with_attachment());
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    EXPECT_EQ(made->value, text_of(text.size()));
    EXPECT_EQ(landing, attached);
  }
}

/// Counts texts that are not what their sender had when the call began.
struct Checks {
  int good = 0;
  int bad = 0;
  Task<bool> check(std::string_view text, std::uint32_t seed) {
    const bool is_good = text == text_of(text.size(), seed);
    ++(is_good ? good : bad);
    co_return is_good;
  }
};

Task<void> call_and_forget(Client* caller, std::size_t size, std::uint32_t seed, int* ended) {
  auto memory = std::make_unique<std::string>(text_of(size, seed));
  [[maybe_unused]] const Result<bool> outcome =
      co_await caller->call<&Checks::check>(std::string_view{*memory}, seed);
  // The sanitizer sees it when anybody still reads, and the handler when it was another's meanwhile.
  std::ranges::fill(*memory, '!');
  memory.reset();
  ++*ended;
}

TEST_F(LentBodies, AreTheCallersAgainWhenTheirCallIsGivenUpAtAnyTime) {
  Checks checks;
  Server& server = roomy_server_here([&](Server& its) { its.register_handler<&Checks::check>(&checks); });
  Client& caller = roomy_client(server);
  ASSERT_TRUE(connect(caller).ok());
  int ended = 0;
  int begun = 0;
  std::uint32_t seed = 0;
  for (const std::size_t size : {kLong, kLong * 6 + 5, std::size_t{9} << 20}) {
    for (int turns = 0; turns < 14; ++turns) {
      Scope scope;
      scope.spawn(&call_and_forget, &caller, size, ++seed, &ended);
      ++begun;
      for (int i = 0; i < turns; ++i) loop().run_once(Duration::zero());
      scope.cancel(CancelReason::kRequested);
      loop().block_on(join(&scope));
    }
  }
  EXPECT_EQ(ended, begun);
  EXPECT_EQ(checks.bad, 0);
  EXPECT_GT(checks.good, 0);
  EXPECT_EQ(caller.stats().connections, 1u);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

Task<void> lose_the_race(Client* caller, std::size_t size, std::uint32_t seed) {
  // The call has the text itself.
  [[maybe_unused]] const auto winner =
      co_await race(caller->call<&Checks::check>(text_of(size, seed), seed), caller->call<echo>("short"));
}

// A text that was given to the call goes with it, not before.
TEST_F(LentBodies, OfCallsThatHaveTheirArgumentsThemselvesAreReadNoLongerThanThose) {
  Checks checks;
  Server& server = roomy_server_here([&](Server& its) {
    its.register_handler<&Checks::check>(&checks);
    its.register_handler<echo>();
  });
  Client& caller = roomy_client(server);
  for (const std::size_t size : {kLong, std::size_t{9} << 20}) {
    for (std::uint32_t seed = 0; seed < 5; ++seed) loop().block_on(lose_the_race(&caller, size, seed));
  }
  EXPECT_EQ(checks.bad, 0);
  EXPECT_EQ(caller.stats().connections, 1u);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
}

// A peer that reads nothing has the socket full with the first part of it.
TEST_F(LentBodies, AreTheCallersAgainWhenThePeerNeverReads) {
  SilentListener listener;
  Client& caller = roomy_client(listener.url());
  Scope scope;
  int ended = 0;
  for (const std::size_t size : {std::size_t{9} << 20, std::size_t{300'000}}) {
    scope.spawn(&call_and_forget, &caller, size, 1u, &ended);
  }
  int peer = -1;
  ASSERT_NO_FATAL_FAILURE(accept_one_that_reads_nothing(listener, peer));
  scope.cancel(CancelReason::kRequested);
  loop().block_on(join(&scope));
  EXPECT_EQ(ended, 2);
  ::close(peer);
}

TEST_F(LentBodies, AreTheCallersAgainWhenTheConnectionIsLost) {
  SilentListener listener;
  Client& caller = roomy_client(listener.url());
  Scope scope;
  int ended = 0;
  scope.spawn(&call_and_forget, &caller, std::size_t{9} << 20, 1u, &ended);
  int peer = -1;
  ASSERT_NO_FATAL_FAILURE(accept_one_that_reads_nothing(listener, peer));
  ::close(peer);
  EXPECT_TRUE(turn_until(loop(), [&] { return ended == 1; }));
  loop().block_on(join(&scope));
}

// The handler refuses before it has read all, and the answer is there before the request has left.
TEST_F(LentBodies, OfCallsThatAreRefusedEarlyLeaveTheConnectionUsable) {
  Server& server = roomy_server();
  Client& caller = roomy_client(server);
  for (int i = 0; i < 20; ++i) {
    const std::string text = text_of(std::size_t{9} << 20, 5);
    const auto nobody = ask<remote<"nobody", int(std::string_view)>>(caller, text);
    EXPECT_EQ(nobody.status().code(), StatusCode::kUnimplemented);
    EXPECT_EQ(ask<echo>(caller, std::string{"short"}).value(), "short");
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

Task<void> ask_and_forget(Client* caller, std::uint64_t size, int* ended) {
  [[maybe_unused]] const auto text = co_await caller->call<make>(size);
  [[maybe_unused]] const auto page = co_await caller->call<make_later>(size);
  ++*ended;
}

// A result that left its handler is nobody's when its caller is gone; the sanitizer sees one that is lost.
TEST_F(LentBodies, OfHandlersEndWithTheirCallOrTheirConnection) {
  for (const int turns : {1, 2, 3, 5, 8, 13, 21}) {
    Server& server = roomy_server_here(fill);
    Client& caller = roomy_client(server);
    ASSERT_TRUE(connect(caller).ok());
    int ended = 0;
    Scope scope;
    for (int i = 0; i < 4; ++i) scope.spawn(&ask_and_forget, &caller, std::uint64_t{3} << 20, &ended);
    for (int i = 0; i < turns; ++i) loop().run_once(Duration::zero());
    if (turns % 2 == 0) {
      scope.cancel(CancelReason::kRequested);
    } else {
      caller.close();
    }
    loop().block_on(join(&scope));
    EXPECT_EQ(ended, 4);
  }
}

struct Held {
  Event* open;
  int inside = 0;
  Task<std::size_t> hold(std::string_view text) {
    ++inside;
    [[maybe_unused]] const Result<void> passed = co_await open->wait();
    co_return text.size();
  }
};

Task<void> call_held(ConnectionPool* pool, Result<std::size_t>* outcome) {
  const std::string text = text_of(kLong * 20, 3);
  *outcome = co_await pool->call<&Held::hold>(CallOptions{.idempotent = true}, std::string_view{text});
}

// Such a call has ended when it was begun, and its time must not end it a second time.
TEST_F(LentBodies, OverTheServersLimitFailThatCallOnlyAndOnce) {
  ClientOptions options;
  options.call_timeout = 10ms;
  Client& caller = client(serve({.threads = 1}, fill).urls().front(), std::move(options));
  const std::string text = text_of(std::size_t{17} << 20);
  const auto [refused, slept] = loop().block_on(when_all(caller.call<echo>(text), sleep_for(40ms)));
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string{refused.status().message()}, ::testing::HasSubstr("a request of 17825796 bytes"));
  EXPECT_TRUE(slept.ok());
  EXPECT_EQ(ask<echo>(caller, std::string{"short"}).value(), "short");
}

// The size of a value that cannot be sent is the largest that there is, and nothing may be added to that.
TEST_F(LentBodies, OfValuesThatCannotBeSentAreNotSentWithMetadataEither) {
  Client& caller = roomy_client(roomy_server());
  Link first;
  Link* last = &first;
  for (int depth = 0; depth < 100; ++depth) last = &last->next.emplace_back();
  first.text = text_of(kLong);
  Metadata metadata;
  metadata.set("name", "value").value();
  const CallOptions options{.metadata = metadata};
  EXPECT_EQ(loop().block_on(caller.call<follow>(first)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(loop().block_on(caller.call<follow>(options, first)).status().code(),
            StatusCode::kInvalidArgument);
  first.next.front().next.clear();
  EXPECT_EQ(loop().block_on(caller.call<follow>(options, first)).value(), 1);
  EXPECT_EQ(caller.stats().connections, 1u);
}

// What a pool begins again on another connection is lent again.
TEST_F(LentBodies, AreSentAgainWhereAPoolBeginsTheirCallAgain) {
  auto first = std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}, .threads = 0, .loop = &loop()});
  Event open;
  Held held{&open};
  first->register_handler<&Held::hold>(&held);
  first->start().value();
  const std::string url = first->urls().front();
  PoolOptions options;
  options.client.connect = url;
  ConnectionPool pool{loop(), options};
  Result<std::size_t> outcome = user_error(1, "none");
  Scope scope;
  scope.spawn(&call_held, &pool, &outcome);
  ASSERT_TRUE(turn_until(loop(), [&] { return held.inside == 1; }));
  first.reset();
  Server second{ServerOptions{.listen = {url}, .threads = 0, .loop = &loop()}};
  second.register_handler<&Held::hold>(&held);
  second.start().value();
  ASSERT_TRUE(turn_until(loop(), [&] { return held.inside == 2; }));
  open.set();
  loop().block_on(join(&scope));
  EXPECT_EQ(outcome.value(), kLong * 20);
}

}  // namespace
}  // namespace weft::testing::lent_bodies_tests
