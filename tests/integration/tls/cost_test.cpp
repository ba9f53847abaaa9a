// SPDX-License-Identifier: Apache-2.0
// CR-10: what a stranger can cost is bounded, and counted by its reason.
#include <deque>

#include "integration/tls/raw_tls.hpp"
#include "integration/tls/tls_testing.hpp"
#include "support/raw_socket.hpp"
#include "transport/tls/address_key.hpp"
#include "transport/tls/handshakes.hpp"

namespace weft::testing::tls_cost_tests {
namespace {

using detail::tls::address_key;
using detail::tls::Handshake;
using detail::tls::Handshakes;
using ::testing::HasSubstr;

class Silent final : public Handshake {
 public:
  explicit Silent(std::uint64_t address) : Handshake(address) {}
  void on_pushed_out() noexcept override { pushed_out = true; }
  bool pushed_out = false;
};

TEST(HandshakesUnderWay, OfOneAddressGiveWayToEachOtherWhenThereIsNoRoom) {
  Handshakes under_way{{.all = 4, .of_address = 2}};
  Silent other{1};
  Silent first{2};
  Silent second{2};
  Silent third{2};
  Silent fourth{2};
  for (Silent* one : {&other, &first, &second, &third}) under_way.enter(*one);
  EXPECT_FALSE(first.pushed_out) << "there is room";
  under_way.enter(fourth);
  EXPECT_TRUE(first.pushed_out);
  EXPECT_FALSE(other.pushed_out) << "the oldest of all, but of another address";
  EXPECT_EQ(under_way.count(), 4u);
  Silent newcomer{3};
  under_way.enter(newcomer);
  EXPECT_TRUE(other.pushed_out);
  EXPECT_FALSE(second.pushed_out);
}

TEST(HandshakesUnderWay, WithoutAnAddressAreBoundedTogether) {
  Handshakes under_way{{.all = 3, .of_address = 1}};
  Silent all[4] = {Silent{0}, Silent{0}, Silent{0}, Silent{0}};
  for (Silent& one : all) under_way.enter(one);
  EXPECT_TRUE(all[0].pushed_out);
  EXPECT_FALSE(all[1].pushed_out);
}

TEST(AddressKeys, AreThatOfAnAddressOrOfANetworkOfIpv6) {
  EXPECT_EQ(address_key("tcp://192.0.2.1:1"), address_key("tcp://192.0.2.1:2"));
  EXPECT_NE(address_key("tcp://192.0.2.1:1"), address_key("tcp://192.0.2.2:1"));
  EXPECT_EQ(address_key("tcp://[::ffff:192.0.2.1]:1"), address_key("tcp://192.0.2.1:1"));
  EXPECT_EQ(address_key("tcp://[2001:db8:1:2::1]:1"), address_key("tcp://[2001:db8:1:2:ffff::9]:2"));
  EXPECT_NE(address_key("tcp://[2001:db8:1:2::1]:1"), address_key("tcp://[2001:db8:1:3::1]:1"));
  EXPECT_EQ(address_key("tcp://[fe80::1%eth0]:1"), address_key("tcp://[fe80::2%eth0]:1"));
  EXPECT_NE(address_key("tcp://[fe80::1%eth0]:1"), address_key("tcp://[fe80::1%eth1]:1"));
  EXPECT_NE(address_key("tcp://[::1]:1"), 0u);
  EXPECT_EQ(address_key("unix:///tmp/a:b"), 0u);
  EXPECT_EQ(address_key("memory://somewhere"), 0u);
  EXPECT_EQ(address_key(""), 0u);
  EXPECT_EQ(address_key("tcp://" + std::string(200, '1') + ":1"), 0u);
}

class Costs : public TlsTest {
 protected:
  static detail::Url plain(const std::string& url) {
    detail::Url parsed = detail::Url::parse(url).value();
    parsed.scheme = "tcp";
    return parsed;
  }
  std::string serve_counted(TlsOptions tls) {
    credentials_ = shared(std::move(tls));
    return serve(credentials_);
  }
  static void until_ended(RawSocket& socket) {
    while (!socket.at_end()) socket.receive_some(4096);
  }
  static std::string hello() {
    RawTls tls;
    EXPECT_FALSE(tls.shake_hands());
    return tls.take();
  }
  void expect_well(const std::string& url) {
    const Status status = outcome(url, of_client());
    EXPECT_TRUE(status.ok()) << status.to_string();
  }

  std::shared_ptr<TlsCredentials> credentials_;
};

TEST_F(Costs, TenThousandHalfDoneHandshakesLeaveRoomForWhoeverIsThere) {
  TlsOptions bounded = of_server();
  bounded.handshakes_max = 64;
  bounded.handshakes_of_address_max = 32;
  const std::string url = serve_counted(bounded);
  const std::string whole = hello();
  std::deque<RawSocket> held;
  for (int i = 0; i < 10'000; ++i) {
    // Each tenth has the server sign, and is silent then.
    RawSocket& socket = held.emplace_back(plain(url));
    ASSERT_TRUE(socket.connected()) << i;
    static_cast<void>(socket.send(i % 10 == 0 ? whole : whole.substr(0, 40)));
    if (held.size() > 200) held.pop_front();
    if (i % 1000 == 999) expect_well(url);
  }
  until_ended(held.front());
  const TlsStats stats = credentials_->stats();
  EXPECT_EQ(stats.handshakes, 10u);
  EXPECT_GT(stats.pushed_out + stats.lost, 5'000u);
  EXPECT_GT(stats.pushed_out, 0u);
}

// Server and client on one loop whose clock stands, so that no turn is ever old.
class HandshakesAtOnce : public Costs {
 protected:
  static constexpr std::size_t kComing = 50;

  HandshakesAtOnce() {
    loop_ = Loop::create({.mode = WaitMode::kWait, .clock = &clock_}).value();
    server_ = std::make_unique<Server>(
        ServerOptions{.listen = {"tls://127.0.0.1:0"}, .threads = 0, .loop = loop_.get()}, with(of_server()));
    server_->register_handler<echoed>();
    server_->start().value();
    client_ = client(server_->urls().front(), of_client());
  }
  ~HandshakesAtOnce() override {
    client_.reset();
    server_.reset();
    loop_.reset();
  }
  static Task<void> ask_and_note(Client* caller, bool* done) {
    const Result<std::string> answer = co_await caller->call<echoed>("in the midst of them");
    *done = answer.ok() && *answer == "in the midst of them";
  }
  static Task<void> begin_asking(Scope* scope, Client* caller, bool* done) {
    scope->spawn(&ask_and_note, caller, done);
    co_return;
  }
  void send_hellos() {
    for (std::size_t i = 0; i < kComing; ++i) {
      coming_.emplace_back(plain(server_->urls().front()));
      ASSERT_TRUE(coming_.back().send(hello()));
    }
  }
  std::size_t answered() {
    return static_cast<std::size_t>(
        std::ranges::count_if(coming_, [](RawSocket& socket) { return socket.has_input(); }));
  }

  ManualClock clock_;
  std::unique_ptr<Client> client_;
  std::deque<RawSocket> coming_;
};

TEST_F(HandshakesAtOnce, HaveOneStepInEachTurnAndCallsGoOnBetweenThem) {
  ASSERT_TRUE(ask(*client_).ok());
  send_hellos();
  bool done = false;
  Scope scope;
  loop_->block_on(begin_asking(&scope, client_.get(), &done));
  std::size_t turns_of_call = 0;
  std::size_t before = 0;
  for (std::size_t turns = 1; answered() < kComing && turns < 10 * kComing; ++turns) {
    loop_->run_once(0s);
    const std::size_t now = answered();
    EXPECT_LE(now, before + 1) << "in one turn";
    before = now;
    if (turns_of_call == 0 && done) turns_of_call = turns;
  }
  EXPECT_EQ(answered(), kComing);
  EXPECT_GT(turns_of_call, 0u);
  EXPECT_LT(turns_of_call, 10u);
  loop_->block_on(scope.join());
}

// The time is that of the whole handshake, however often a byte of it comes.
TEST_F(HandshakesAtOnce, OfAPeerThatSendsAByteASecondEndInTheirTime) {
  RawSocket slow{plain(server_->urls().front())};
  const std::string whole = hello();
  std::size_t seconds = 0;
  for (; !slow.at_end() && seconds < 60; ++seconds) {
    static_cast<void>(slow.send(whole.substr(seconds, 1)));
    clock_.advance(1s);
    for (int turns = 0; turns < 20; ++turns) loop_->run_once(0s);
    while (slow.has_input() && !slow.at_end()) slow.receive_some(4096);
  }
  EXPECT_GE(seconds, 9u);
  EXPECT_LE(seconds, 12u);
}

TEST_F(Costs, ConnectionsBeyondTheRateOfAnAddressAreClosed) {
  TlsOptions slow = of_server();
  slow.handshake_rate_of_address = Rate{.per_second = 0.001, .burst = 3};
  const std::string url = serve_counted(slow);
  for (int i = 0; i < 3; ++i) expect_well(url);
  for (int i = 0; i < 5; ++i) {
    const Status status = outcome(url, of_client());
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.to_string();
  }
  EXPECT_GE(credentials_->stats().over_rate, 5u);
  EXPECT_EQ(credentials_->stats().handshakes, 3u);
  EXPECT_TRUE(
      server_says("connections were closed, because more came than TlsOptions::handshake_rate allows"));
}

TEST_F(Costs, ConnectionsBeyondTheRateOfAllAreClosed) {
  TlsOptions slow = of_server();
  slow.handshake_rate = Rate{.per_second = 0.001, .burst = 1};
  const std::string url = serve_counted(slow);
  expect_well(url);
  EXPECT_EQ(outcome(url, of_client()).code(), StatusCode::kUnavailable);
}

TEST_F(Costs, FailuresAreCountedByTheirReason) {
  TlsOptions hasty = of_server();
  hasty.handshake_timeout = 1s;
  const std::string url = serve_counted(hasty);
  RawSocket late{plain(url)};
  ASSERT_TRUE(late.send("\x16"));

  RawSocket http{plain(url)};
  ASSERT_TRUE(http.send("GET / HTTP/1.1\r\n\r\n"));
  until_ended(http);
  EXPECT_EQ(credentials_->stats().not_tls, 1u);

  TlsOptions other = of_client();
  other.alpn = {"h2"};
  EXPECT_FALSE(outcome(url, other).ok());
  // The server tells its peer before it counts.
  EXPECT_TRUE(comes_true([this] { return credentials_->stats().nothing_common == 1u; }));

  const TestCa unknown{"another CA"};
  EXPECT_FALSE(outcome(url, {.ca_pem = unknown.pem()}).ok());
  EXPECT_TRUE(comes_true([this] { return credentials_->stats().certificates_refused == 1u; }));

  {
    RawSocket gone{plain(url)};
    ASSERT_TRUE(gone.send(hello()));
  }
  until_ended(late);
  EXPECT_EQ(credentials_->stats().late, 1u);
  EXPECT_EQ(credentials_->stats().lost, 1u);
}

TEST_F(Costs, ARecordThatIsTooLongIsRefused) {
  const std::string url = serve_counted(of_server());
  RawSocket socket{plain(url)};
  ASSERT_TRUE(socket.send(std::string("\x16\x03\x01\xff\xff", 5) + std::string(100, 'x')));
  until_ended(socket);
  EXPECT_TRUE(server_says("TLS: the peer does not keep to it: packet length too long")) << notes_.text();
  EXPECT_EQ(credentials_->stats().broken, 1u);
  expect_well(url);
}

TEST_F(Costs, AHelloInRecordsOfOneByteIsUnderstood) {
  const std::string url = serve_counted(of_server());
  const std::string whole = hello();
  RawSocket socket{plain(url)};
  for (const char byte : whole.substr(5)) {
    ASSERT_TRUE(socket.send(whole.substr(0, 3) + std::string("\0\1", 2) + byte));
  }
  std::string answer;
  while (answer.empty() && !socket.at_end()) answer = socket.receive_some(4096);
  EXPECT_EQ(answer.substr(0, 1), "\x16") << "a hello of the server";
}

TEST_F(Costs, RecordsOfNothingAreRefused) {
  const std::string url = serve_counted(of_server());
  RawSocket socket{plain(url)};
  std::string nothing;
  for (int i = 0; i < 1000; ++i) nothing += std::string("\x16\x03\x01\0\0", 5);
  static_cast<void>(socket.send(nothing));
  until_ended(socket);
  EXPECT_TRUE(server_says("TLS: the peer does not keep to it")) << notes_.text();
  EXPECT_EQ(credentials_->stats().broken, 1u);
  expect_well(url);
}

TEST_F(Costs, AHelloWithoutAnEndIsRefused) {
  const std::string url = serve_counted(of_server());
  RawSocket socket{plain(url)};
  // A handshake message that claims 16 MiB.
  ASSERT_TRUE(socket.send(std::string("\x16\x03\x01\x00\x06\x01\xff\xff\xff\x03\x03", 11)));
  until_ended(socket);
  EXPECT_TRUE(server_says("TLS: the peer does not keep to it: excessive message size")) << notes_.text();
  expect_well(url);
}

TEST_F(Costs, FailedHandshakesOfOnePeerAreFewLines) {
  const std::string url = serve_counted(of_server());
  for (int i = 0; i < 200; ++i) {
    RawSocket socket{plain(url)};
    ASSERT_TRUE(socket.send("GET / HTTP/1.1\r\n\r\n"));
    until_ended(socket);
  }
  EXPECT_EQ(credentials_->stats().not_tls, 200u);
  const std::string log = notes_.text();
  EXPECT_LT(std::ranges::count(log, '\n'), 60) << log;
}

}  // namespace
}  // namespace weft::testing::tls_cost_tests
