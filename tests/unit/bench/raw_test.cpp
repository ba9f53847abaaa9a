// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "integration/http/raw_http.hpp"
#include "load/payload.hpp"
#include "raw/client.hpp"
#include "raw/http_server.hpp"
#include "raw/protocol.hpp"
#include "raw/server.hpp"
#include "raw/socket.hpp"

namespace weft::raw {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Server> start_server(load::ServerOptions options = {}) {
  if (options.listen.empty()) options.listen = "tcp://127.0.0.1:0";
  return Server::start(options).value();
}

/// Reading waits for the peer, but not for ever.
void set_blocking(const Fd& fd) {
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
  const timeval patience{10, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

/// A client's socket that waits for what it reads, but not for ever.
Fd connect_to(const Server& server) {
  Fd fd = blocking_connect(server.url(), "").value();
  set_blocking(fd);
  return fd;
}

void send_all(const Fd& fd, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ASSERT_GT(sent, 0);
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

/// Everything the server sends until `bytes` have come or it closes the connection.
std::vector<std::byte> receive(const Fd& fd, std::size_t bytes) {
  std::vector<std::byte> received(bytes);
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t got = recv(fd.get(), received.data() + have, bytes - have, 0);
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  received.resize(have);
  return received;
}

/// False also when nothing happens for too long.
bool closed_by_peer(const Fd& fd) {
  errno = 0;  // where the end of a stream leaves what was there before
  return receive(fd, 1).empty() && errno != EAGAIN;
}

std::vector<std::byte> frame_of(std::string_view text) {
  std::vector<std::byte> frame(kLengthBytes + text.size());
  weft::detail::store_le(frame.data(), static_cast<std::uint32_t>(text.size()));
  std::memcpy(frame.data() + kLengthBytes, text.data(), text.size());
  return frame;
}

load::ClientOptions short_run(const Server& server) {
  return {.connect = server.url(), .seconds = 0.02, .warmup_seconds = 0};
}

/// Every call that was started must be answered, and rightly. On a machine that is busy with other things
/// the first answer may come after the end, so a run without any is repeated with more time.
void expect_clean(load::ClientOptions options) {
  load::Report report;
  while (report.calls == 0 && options.seconds < 10) {
    auto outcome = blocking_measure(options);
    ASSERT_TRUE(outcome.ok()) << outcome.status().to_string();
    report = *outcome;
    EXPECT_EQ(report.errors, 0U);
    options.seconds *= 4;
  }
  EXPECT_GT(report.calls, 0U);
  EXPECT_GT(report.p50_us, 0);
}

TEST(RawHello, SurvivesItsEncoding) {
  const auto hello = decode_hello(encode_hello({.request_bytes = 7, .answer_bytes = 9}));
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->request_bytes, 7U);
  EXPECT_EQ(hello->answer_bytes, 9U);
  EXPECT_TRUE(decode_hello(encode_hello({}))->echo());
}

TEST(RawHello, IsRefusedWhenItIsCutOrForeignOrTooGreedy) {
  auto bytes = encode_hello({.request_bytes = kPayloadBytesMax});
  EXPECT_TRUE(decode_hello(bytes).has_value());
  EXPECT_FALSE(decode_hello(Bytes{bytes}.first(kHelloBytes - 1)).has_value());
  EXPECT_FALSE(decode_hello(encode_hello({.request_bytes = kPayloadBytesMax + 1})).has_value());
  EXPECT_FALSE(decode_hello(encode_hello({.answer_bytes = kPayloadBytesMax + 1})).has_value());
  bytes[0] ^= std::byte{1};
  EXPECT_FALSE(decode_hello(bytes).has_value());
  bytes[0] ^= std::byte{1};
  bytes[4] ^= std::byte{2};
  EXPECT_FALSE(decode_hello(bytes).has_value());
}

TEST(RawServer, EchoesFramesThatArriveByteByByte) {
  const auto server = start_server();
  const Fd fd = connect_to(*server);
  std::vector<std::byte> stream;
  const auto hello = encode_hello({.request_bytes = 5});
  stream.insert(stream.end(), hello.begin(), hello.end());
  for (const auto* text : {"first", "other"}) {
    const auto frame = frame_of(text);
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  for (const std::byte& byte : stream) send_all(fd, {&byte, 1});
  const auto answer = receive(fd, 18);
  EXPECT_EQ(as_text(answer).substr(4, 5), "first");
  EXPECT_EQ(as_text(answer).substr(13, 5), "other");
}

TEST(RawServer, ClosesAConnectionThatBreaksItsPromiseAndServesTheOthers) {
  const auto server = start_server();
  const Fd foreign = connect_to(*server);
  send_all(foreign, as_bytes("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_TRUE(closed_by_peer(foreign));

  const Fd small = connect_to(*server);
  send_all(small, encode_hello({.request_bytes = 4}));
  send_all(small, frame_of("five!"));
  EXPECT_TRUE(closed_by_peer(small));

  const Fd large = connect_to(*server);
  send_all(large, encode_hello({.request_bytes = kLargeBytes}));
  send_all(large, frame_of("not 64 KiB"));
  EXPECT_TRUE(closed_by_peer(large));

  expect_clean(short_run(*server));
}

TEST(RawServer, StopsWhileClientsAreConnected) {
  auto server = start_server({.threads = 2});
  const Fd silent = connect_to(*server);
  const Fd greeted = connect_to(*server);
  send_all(greeted, encode_hello({.request_bytes = 1}));
  send_all(greeted, frame_of("x"));
  EXPECT_EQ(receive(greeted, 5).size(), 5U);
  server.reset();
  EXPECT_TRUE(closed_by_peer(greeted));
  EXPECT_TRUE(closed_by_peer(silent));
}

TEST(RawServer, APortThatIsTakenIsAnErrorWithAWayOut) {
  const auto server = start_server();
  const auto second = Server::start({.listen = server->url()});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string{second.status().message()}, HasSubstr("port 0"));
}

TEST(RawServer, AddressesItCannotUseAreErrors) {
  for (const auto* url : {"", "127.0.0.1:1", "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:x",
                          "unix://relative", "ucx://127.0.0.1:1"}) {
    EXPECT_FALSE(Server::start({.listen = url}).ok()) << url;
  }
  EXPECT_FALSE(Server::start({.listen = "unix:///" + std::string(200, 'x')}).ok());
  EXPECT_FALSE(Server::start({.listen = "tcp://127.0.0.1:0", .cpus = {1023}}).ok());
  const auto congestion = Server::start({.listen = "tcp://127.0.0.1:0", .congestion = "carrier-pigeon"});
  ASSERT_FALSE(congestion.ok());
  EXPECT_THAT(std::string{congestion.status().message()}, HasSubstr("carrier-pigeon"));
}

TEST(RawHttpServer, AnswersEachRequestWithItsBody) {
  const auto server = HttpServer::start({.listen = "tcp://127.0.0.1:0"}).value();
  weft::testing::RawHttp client{server->url()};
  EXPECT_EQ(client.call("/", "[1, 2]").body, "[1, 2]");
  client.post("/", "a");
  client.post("/", "");
  client.post("/", std::string(200'000, 'x'));
  EXPECT_EQ(client.read().body, "a");
  EXPECT_EQ(client.read().status, 200);
  EXPECT_EQ(client.read().body.size(), 200'000u);
  weft::testing::RawHttp other{server->url()};
  other.send("POST / HTTP/1.1\r\nCONTENT-LENGTH: 3\r\n");
  other.send("\r\nab");
  other.send("c");
  EXPECT_EQ(other.read().body, "abc");
}

TEST(RawHttpServer, RefusesOptionsThatItDoesNotHave) {
  EXPECT_FALSE(HttpServer::start({.listen = "tls://127.0.0.1:0"}).ok());
  EXPECT_FALSE(HttpServer::start({.listen = "tcp://127.0.0.1:0", .threads = 2}).ok());
}

TEST(RawClient, EverySizeOfRequestAndAnswerComesBackWhole) {
  const auto server = start_server();
  for (const std::uint64_t size : {0, 1, 128, 65535, 65536, 1 << 20}) {
    for (const std::optional<std::uint64_t> asked :
         {std::optional<std::uint64_t>{}, {std::uint64_t{0}}, {std::uint64_t{3}}, {std::uint64_t{300'000}}}) {
      SCOPED_TRACE(std::to_string(size) + " -> " + (asked ? std::to_string(*asked) : "echo"));
      auto options = short_run(*server);
      options.size_bytes = size;
      options.asked_answer_bytes = asked;
      options.depth = 5;
      expect_clean(options);
    }
  }
}

TEST(RawClient, AnswersInBuffersOfTheirOwnComeBackWhole) {
  const auto server = start_server();
  for (const std::uint64_t size : {128, 65536, 300'000}) {
    auto options = short_run(*server);
    options.size_bytes = size;
    options.depth = 3;
    options.own_buffers = true;
    expect_clean(options);
  }
}

TEST(RawClient, WorksInEveryModeAndWithoutBatches) {
  for (const auto mode : {load::LoopMode::kBusy, load::LoopMode::kAdaptive, load::LoopMode::kWait}) {
    for (const bool nobatch : {false, true}) {
      const auto server = start_server({.mode = mode, .nobatch = nobatch});
      auto options = short_run(*server);
      options.mode = mode;
      options.depth = 64;
      options.connections = 3;
      expect_clean(options);
    }
  }
}

TEST(RawClient, MoreInFlightThanTheSocketsHoldDoesNotDeadlock) {
  const auto server = start_server();
  auto options = short_run(*server);
  options.size_bytes = 8192;
  options.depth = 4096;
  expect_clean(options);
}

TEST(RawClient, AnOpenLoopKeepsItsRate) {
  const auto server = start_server();
  auto options = short_run(*server);
  options.rate = 2000;
  options.seconds = 0.1;
  options.connections = 4;
  options.depth = 100;
  const auto report = blocking_measure(options);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(report->errors, 0U);
  EXPECT_LE(report->calls, 200U);
}

TEST(RawClient, SpeaksOverAUnixSocketWhoseStaleFileIsReplaced) {
  const std::string path = ::testing::TempDir() + "weft-raw-" + std::to_string(getpid());
  for (int start = 0; start < 2; ++start) {
    const auto server = start_server({.listen = "unix://" + path});
    EXPECT_EQ(server->url(), "unix://" + path);
    expect_clean(short_run(*server));
  }
  unlink(path.c_str());
}

TEST(RawClient, SpeaksOverIpv6) {
  const auto server = Server::start({.listen = "tcp://[::1]:0"});
  if (!server) GTEST_SKIP() << "this machine has no IPv6: " << server.status().to_string();
  expect_clean(short_run(**server));
}

TEST(RawClient, WithoutAServerItSaysSo) {
  std::string url;
  {
    const auto server = start_server();
    url = server->url();
  }
  const auto report = blocking_measure({.connect = url});
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(std::string{report.status().message()}, HasSubstr("is a server listening there?"));
}

/// Accepts one connection and answers each request of 128 bytes with `answer`, until the client leaves.
void answer_wrongly(const Fd& listener, const std::vector<std::byte>& answer) {
  pollfd waiting{listener.get(), POLLIN, 0};
  ASSERT_EQ(poll(&waiting, 1, 10'000), 1);
  const Fd connection = accept_from(listener).value();
  set_blocking(connection);
  receive(connection, kHelloBytes);
  while (!receive(connection, kLengthBytes + 128).empty()) {
    if (send(connection.get(), answer.data(), answer.size(), MSG_NOSIGNAL) <= 0) return;
  }
}

TEST(RawClient, AServerThatAnswersAnotherLengthEndsTheRunWithAnError) {
  const Fd listener = listen_on("tcp://127.0.0.1:0", "").value();
  const std::string url = listening_url(listener, "").value();
  const std::jthread impostor{[&] { answer_wrongly(listener, frame_of("no")); }};
  const auto report = blocking_measure({.connect = url, .seconds = 5, .warmup_seconds = 0});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), StatusCode::kUnavailable);
}

TEST(RawClient, AnAnswerWithDamagedContentCountsAsAnError) {
  const Fd listener = listen_on("tcp://127.0.0.1:0", "").value();
  const std::string url = listening_url(listener, "").value();
  const std::jthread impostor{[&] { answer_wrongly(listener, frame_of(std::string(128, 'x'))); }};
  const auto report = blocking_measure({.connect = url, .seconds = 0.05, .warmup_seconds = 0});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_GE(report->errors, 1U);
  EXPECT_EQ(report->calls, 0U);
}

}  // namespace
}  // namespace weft::raw
