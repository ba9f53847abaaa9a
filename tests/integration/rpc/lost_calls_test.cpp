// SPDX-License-Identifier: Apache-2.0
// F2: of the calls of a connection that is lost, those that certainly did not run say so, by a value.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <set>

#include "integration/rpc/rpc_testing.hpp"
#include "support/sockets.hpp"
#include "support/wire_bytes.hpp"

namespace weft::testing::lost_calls_tests {

using namespace weft::detail;
namespace {

std::size_t keep(std::uint32_t number, std::string_view text) {
  return number + text.size();
}

constexpr std::size_t kCalls = 1000;
// All of them are more than the buffers of the system grow to.
const std::string kText(20'000, 'x');

/// A server that says hello and then reads nothing, before the test asks what the system has brought it.
class StalledServer {
 public:
  explicit StalledServer(const std::string& scheme) {
    if (scheme == "tcp") {
      tcp_ = std::make_unique<SilentListener>();
      url_ = tcp_->url();
      return;
    }
    path_ = ::testing::TempDir() + "stalled." + std::to_string(::getpid());
    ::unlink(path_.c_str());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    unix_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(unix_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(unix_, 16), 0);
    url_ = "unix://" + path_;
  }
  ~StalledServer() {
    stop_listening();
    if (fd_ >= 0) ::close(fd_);
  }

  const std::string& url() const { return url_; }
  void accept() {
    fd_ = tcp_ != nullptr ? tcp_->accept_fd() : ::accept(unix_, nullptr, nullptr);
    const std::string hello = hello_bytes();
    EXPECT_EQ(::send(fd_, hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
  }
  void stop_listening() {
    tcp_.reset();
    if (unix_ < 0) return;
    ::close(std::exchange(unix_, -1));
    ::unlink(path_.c_str());
  }
  /// The numbers of the calls of which at least one byte is here.
  std::set<std::uint32_t> begun() {
    const std::string bytes = received();
    std::set<std::uint32_t> numbers;
    std::size_t at = wire::hello_length(as_bytes(bytes)).value();
    while (at < bytes.size()) {
      numbers.insert(static_cast<std::uint32_t>(numbers.size()));
      if (at + wire::kHeaderBytes > bytes.size()) break;
      const wire::FrameHeader header = wire::load_header(as_bytes(bytes).data() + at);
      EXPECT_EQ(header.type, wire::FrameType::kRequest);
      at += wire::head_bytes(header.body_bytes, false) + wire::padded(header.attachment_bytes);
    }
    return numbers;
  }
  /// Returns how many requests are here whose attachments come in pieces, of which some may be here as well.
  std::size_t begun_with_pieces() {
    const std::string bytes = received();
    std::size_t count = 0;
    std::size_t at = wire::hello_length(as_bytes(bytes)).value();
    while (at + wire::kHeaderBytes <= bytes.size()) {
      const wire::FrameHeader header = wire::load_header(as_bytes(bytes).data() + at);
      if (header.type == wire::FrameType::kRequest) ++count;
      at += wire::head_bytes(header.body_bytes, false) + wire::padded(header.following_bytes());
    }
    return count;
  }
  void die() { ::close(std::exchange(fd_, -1)); }

 private:
  /// Bytes that have arrived and were not taken.
  std::string received() {
    std::string bytes;
    std::array<char, 65536> piece;
    for (ssize_t got = 1; got > 0;) {
      got = ::recv(fd_, piece.data(), piece.size(), MSG_DONTWAIT);
      if (got > 0) bytes.append(piece.data(), static_cast<std::size_t>(got));
    }
    return bytes;
  }

  std::unique_ptr<SilentListener> tcp_;
  int unix_ = -1;
  int fd_ = -1;
  std::string path_;
  std::string url_;
};

class LostCalls : public RpcTest, public ::testing::WithParamInterface<const char*> {
 protected:
  static ClientOptions queueing_all() {
    ClientOptions options;
    options.limits.outbox_high_water = 64u << 20;
    return options;
  }
  /// Starts the calls while the server reads nothing, until nothing more leaves.
  void start(Client& caller, const CallOptions& options = {}) {
    calls_.push_back(caller.start<keep>(options, 0u, std::string_view{kText}));
    loop().run_once(0ms);
    loop().run_once(5ms);
    server_.accept();
    ASSERT_TRUE(turn_until(loop(), [&] { return caller.connected(); }));
    while (calls_.size() < kCalls) {
      calls_.push_back(
          caller.start<keep>(options, static_cast<std::uint32_t>(calls_.size()), std::string_view{kText}));
    }
    while (loop().run_once(0ms)) {
    }
  }
  /// Returns how many of the calls are unprocessed. None of those that the server has seen a byte of may be.
  std::size_t unprocessed_after(const std::set<std::uint32_t>& begun) {
    const auto results = loop().block_on(await_all(calls_));
    std::size_t count = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Status& status = results[i].status();
      EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.to_string();
      if (!status.unprocessed()) continue;
      ++count;
      EXPECT_FALSE(begun.contains(static_cast<std::uint32_t>(i))) << "call " << i << " was seen";
    }
    return count;
  }

  StalledServer server_{GetParam()};
  std::vector<Call<std::size_t>> calls_;
};

INSTANTIATE_TEST_SUITE_P(Over, LostCalls, ::testing::Values("tcp", "unix"),
                         [](const auto& of) { return std::string{of.param}; });

TEST_P(LostCalls, ThoseThatTheSystemNeverTookAreUnprocessedAndTheOthersAreNot) {
  Client& caller = client(server_.url(), queueing_all());
  ASSERT_NO_FATAL_FAILURE(start(caller));
  EXPECT_EQ(caller.stats().calls_in_flight, kCalls);
  const std::set<std::uint32_t> begun = server_.begun();
  server_.stop_listening();
  server_.die();
  const std::size_t unprocessed = unprocessed_after(begun);
  EXPECT_GT(unprocessed, 0u);
  // What the system took from a client whose loop stands still is all here, if it is handed on at once.
  if (std::string_view{GetParam()} == "unix") {
    EXPECT_EQ(unprocessed, kCalls - begun.size());
  }
}

TEST_P(LostCalls, ThoseThatWaitForRoomAreUnprocessed) {
  ClientOptions options;
  options.limits.outbox_high_water = 64 * 1024;
  Client& caller = client(server_.url(), options);
  ASSERT_NO_FATAL_FAILURE(start(caller));
  const std::size_t waiting = caller.stats().calls_waiting;
  EXPECT_GT(waiting, 0u);
  const std::set<std::uint32_t> begun = server_.begun();
  server_.stop_listening();
  server_.die();
  EXPECT_GE(unprocessed_after(begun), waiting);
}

TEST_P(LostCalls, ThoseBehindAnAttachmentThatIsHalfSentAreUnprocessed) {
  const std::string attachment(std::size_t{100} << 10, 'a');
  Client& caller = client(server_.url(), queueing_all());
  ASSERT_NO_FATAL_FAILURE(start(caller, {.attachment = as_bytes(attachment)}));
  const std::set<std::uint32_t> begun = server_.begun();
  server_.stop_listening();
  server_.die();
  EXPECT_GT(unprocessed_after(begun), 0u);
}

TEST_P(LostCalls, WhoseAttachmentsWereNotSentWholeAreUnprocessedThoughTheirRequestsWereSeen) {
  const std::string attachment(std::size_t{64} << 20, 'a');
  Client& caller = client(server_.url());
  ASSERT_NO_FATAL_FAILURE(start(caller, {.attachment = as_bytes(attachment)}));
  EXPECT_GE(server_.begun_with_pieces(), 1u);
  server_.stop_listening();
  server_.die();
  EXPECT_EQ(unprocessed_after({}), kCalls);
}

TEST_P(LostCalls, WhenTheClientIsClosedTheSameHolds) {
  Client& caller = client(server_.url(), queueing_all());
  ASSERT_NO_FATAL_FAILURE(start(caller));
  const std::set<std::uint32_t> begun = server_.begun();
  caller.close();
  std::size_t unprocessed = 0;
  const auto results = loop().block_on(await_all(calls_));
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].status().code(), StatusCode::kCancelled);
    if (!results[i].status().unprocessed()) continue;
    ++unprocessed;
    EXPECT_FALSE(begun.contains(static_cast<std::uint32_t>(i))) << "call " << i << " was seen";
  }
  EXPECT_GT(unprocessed, 0u);
}

/// Holds the server's thread in its first call until the test opens it.
struct Turnstile {
  std::latch entered{1};
  std::latch open{1};
  std::array<std::atomic<int>, kCalls> passed{};

  std::size_t pass(std::uint32_t number, std::string_view text) {
    if (number == 0) {
      entered.count_down();
      open.wait();
    }
    ++passed[number];
    return text.size();
  }
};

class CallsOfAServerThatStops : public RpcTest {};

TEST_F(CallsOfAServerThatStops, AreUnprocessedExactlyIfTheyDidNotRun) {
  Turnstile turnstile;
  Server& server =
      serve({.threads = 1}, [&](Server& its) { its.register_handler<&Turnstile::pass>(&turnstile); });
  ClientOptions options;
  options.limits.outbox_high_water = 64u << 20;
  Client& caller = client(server, options);
  ASSERT_TRUE(connect(caller).ok());
  std::vector<Call<std::size_t>> calls;
  for (std::uint32_t i = 0; i < kCalls; ++i) {
    calls.push_back(caller.start<&Turnstile::pass>(i, std::string_view{kText}));
  }
  while (loop().run_once(0ms)) {
  }
  turnstile.entered.wait();
  server.stop(Duration::zero());
  turnstile.open.count_down();
  const auto results = loop().block_on(await_all(calls));
  std::size_t unprocessed = 0;
  for (std::size_t i = 0; i < kCalls; ++i) {
    const bool ran = turnstile.passed[i] != 0;
    if (results[i].ok()) {
      EXPECT_TRUE(ran);
      continue;
    }
    EXPECT_EQ(results[i].status().code(), StatusCode::kUnavailable) << results[i].status().to_string();
    EXPECT_EQ(results[i].status().unprocessed(), !ran)
        << "call " << i << ": " << results[i].status().to_string();
    if (!ran) ++unprocessed;
  }
  EXPECT_GT(unprocessed, 0u) << "all were served before the stop";
}

}  // namespace
}  // namespace weft::testing::lost_calls_tests
