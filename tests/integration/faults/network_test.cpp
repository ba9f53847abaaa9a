// SPDX-License-Identifier: Apache-2.0
// Faults, part "peers bad in time": a network that delays, loses, reorders and duplicates packets, and one
// that carries nothing any more.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <map>
#include <random>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"

namespace weft::faults::network_tests {

using namespace weft::detail;
namespace {

constexpr const char* kHere = "192.0.2.1";
constexpr const char* kThere = "192.0.2.2";

/// Shares of the packets that are harmed, in percent.
struct Weather {
  unsigned lost = 0;
  unsigned duplicated = 0;
  std::chrono::milliseconds delay_max{0};
};

/// A network of its own for the thread that makes it, and for the threads that this one starts. It has one
/// device, whose other side is this class: what is sent to `kThere` comes back as if `kThere` had sent it to
/// `kHere`. So a client that connects to `kThere` reaches the server at `kHere` over a link of which each
/// packet passes through here. Source and destination are swapped, which leaves every checksum as it is.
class BadLink {
 public:
  BadLink() { why_not_ = open(); }
  BadLink(const BadLink&) = delete;
  BadLink& operator=(const BadLink&) = delete;
  ~BadLink() {
    ends_ = true;
    if (carrier_.joinable()) carrier_.join();
    if (device_ >= 0) ::close(device_);
  }

  /// Empty when there is a link.
  const std::string& why_not() const { return why_not_; }
  void start(const Weather& weather) {
    weather_ = weather;
    carrier_ = std::thread{[this] { carry(); }};
  }
  /// Nothing passes any more, or everything again.
  void cut(bool is_cut) { cut_ = is_cut; }
  std::uint64_t carried() const { return carried_; }
  std::uint64_t lost() const { return lost_; }
  std::uint64_t duplicated() const { return duplicated_; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  static std::string failure(const char* what) { return std::string{what} + ": " + std::strerror(errno); }
  std::string open();
  std::string set_up(int socket);
  void carry();
  void take(std::string packet);
  void pass_on_what_is_due();
  unsigned percent() { return static_cast<unsigned>(random_() % 100); }

  std::string why_not_;
  int device_ = -1;
  Weather weather_;
  std::thread carrier_;
  std::atomic<bool> ends_ = false;
  std::atomic<bool> cut_ = false;
  std::atomic<std::uint64_t> carried_ = 0;
  std::atomic<std::uint64_t> lost_ = 0;
  std::atomic<std::uint64_t> duplicated_ = 0;
  std::multimap<Time, std::string> on_the_way_;
  std::mt19937 random_{1};
};

std::string BadLink::open() {
  if (::unshare(CLONE_NEWNET) != 0) return failure("a network namespace");
  device_ = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device_ < 0) return failure("/dev/net/tun");
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return failure("a socket");
  std::string outcome = set_up(socket);
  ::close(socket);
  return outcome;
}

void set_address(ifreq& request, const char* text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, text, &address.sin_addr);
  std::memcpy(&request.ifr_addr, &address, sizeof address);
}

std::string BadLink::set_up(int socket) {
  ifreq request{};
  std::string_view{"bad0"}.copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(device_, TUNSETIFF, &request) != 0) return failure("a TUN device");
  set_address(request, kHere);
  if (::ioctl(socket, SIOCSIFADDR, &request) != 0) return failure("its address");
  set_address(request, kThere);
  if (::ioctl(socket, SIOCSIFDSTADDR, &request) != 0) return failure("the address of its other side");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket, SIOCSIFFLAGS, &request) != 0) return failure("to bring it up");
  return {};
}

void BadLink::carry() {
  while (!ends_) {
    pollfd wanted{device_, POLLIN, 0};
    ::poll(&wanted, 1, 1);
    std::string packet(65536, '\0');
    for (;;) {
      const ssize_t size = ::read(device_, packet.data(), packet.size());
      if (size <= 0) break;
      take(packet.substr(0, static_cast<std::size_t>(size)));
    }
    pass_on_what_is_due();
  }
}

void BadLink::take(std::string packet) {
  constexpr std::size_t kSource = 12;  // of an IPv4 header, four bytes before the destination
  if (packet.size() < 20 || (packet[0] >> 4) != 4) return;
  if (cut_ || percent() < weather_.lost) {
    ++lost_;
    return;
  }
  std::swap_ranges(&packet[kSource], &packet[kSource + 4], &packet[kSource + 4]);
  const unsigned copies = percent() < weather_.duplicated ? 2 : 1;
  duplicated_ += copies - 1;
  for (unsigned copy = 0; copy < copies; ++copy) {
    const auto microseconds = random_() % (weather_.delay_max.count() * 1000 + 1);
    const Time at = std::chrono::steady_clock::now() + std::chrono::microseconds{microseconds};
    on_the_way_.emplace(at, packet);
  }
}

void BadLink::pass_on_what_is_due() {
  const Time now = std::chrono::steady_clock::now();
  while (!on_the_way_.empty() && on_the_way_.begin()->first <= now) {
    const std::string& packet = on_the_way_.begin()->second;
    if (::write(device_, packet.data(), packet.size()) > 0) ++carried_;
    on_the_way_.erase(on_the_way_.begin());
  }
}

std::string reversed(std::string text) {
  std::reverse(text.begin(), text.end());
  return text;
}
Task<int> until_cancelled(int value) {
  [[maybe_unused]] const auto outcome = co_await sleep_for(1h);
  co_return value;
}

std::string letters(std::size_t size, unsigned seed) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + seed) % 26);
  return text;
}

/// A server and a client at the two ends of a bad link.
class Ends {
 public:
  explicit Ends(const RpcLimits& limits) {
    ServerOptions options;
    options.listen = {std::string{"tcp://"} + kHere + ":0"};
    options.limits = limits;
    options.logger = &logger_;
    server = std::make_unique<Server>(std::move(options));
    server->register_handler<&reversed>();
    server->register_handler<&until_cancelled>();
    server->start().value();
    ClientOptions dial;
    dial.connect = std::string{"tcp://"} + kThere + ":" +
                   std::to_string(Url::parse(server->urls().front()).value().port);
    dial.connect_timeout = 20s;
    dial.checksums = true;
    dial.limits = limits;
    dial.logger = &logger_;
    client = std::make_unique<Client>(*loop, std::move(dial));
  }

 private:
  CountingLogger logger_;

 public:
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::unique_ptr<Server> server;
  std::unique_ptr<Client> client;
};

void expect_served_over(BadLink& link) {
  constexpr int kCalls = 300;
  link.start({.lost = 2, .duplicated = 5, .delay_max = 3ms});
  Ends ends{RpcLimits{}};
  Tally tally;
  Scope scope;
  for (int i = 0; i < kCalls; ++i) {
    const std::string text = letters(static_cast<std::size_t>(i) * 37, static_cast<unsigned>(i));
    scope.spawn(&count_end<std::string>, ends.client->start<&reversed>(text), reversed(text), &tally);
  }
  ends.loop->block_on(join(scope));
  EXPECT_EQ(tally.ended, kCalls);
  EXPECT_EQ(tally.right, kCalls);
  EXPECT_EQ(ends.client->stats().connections, 1u);
  EXPECT_EQ(ends.server->stats().protocol_errors, 0u);
  std::printf("%llu packets carried, %llu lost, %llu duplicated\n",
              static_cast<unsigned long long>(link.carried()), static_cast<unsigned long long>(link.lost()),
              static_cast<unsigned long long>(link.duplicated()));
  EXPECT_GT(link.lost(), 0u);
  EXPECT_GT(link.duplicated(), 0u);
}

void expect_silence_noticed_over(BadLink& link) {
  constexpr int kCalls = 100;
  link.start({});
  RpcLimits limits;
  limits.ping_interval = 1s;
  Ends ends{limits};
  Tally tally;
  Scope scope;
  for (int i = 0; i < kCalls; ++i)
    scope.spawn(&count_end<int>, ends.client->start<&until_cancelled>(i), i, &tally);
  ASSERT_TRUE(turn_until(*ends.loop, [&] { return ends.server->stats().calls_running == kCalls; }));
  link.cut(true);
  ends.loop->block_on(join(scope));
  EXPECT_EQ(tally.ended, kCalls);
  EXPECT_EQ(tally.unavailable, kCalls);
  EXPECT_TRUE(eventually([&] { return ends.server->stats().calls_running == 0; }));
  EXPECT_TRUE(eventually([&] { return ends.server->stats().connections == 0; }));
  link.cut(false);
  const Result<std::string> result = ends.loop->block_on(outcome_of(ends.client->start<&reversed>("abc")));
  EXPECT_TRUE(result.ok() && *result == "cba") << result.status().to_string();
}

/// Runs `test` on a thread of its own, which alone gets the network of its own. Says why it could not.
template <typename Test>
std::string over_a_bad_link(Test test) {
  std::string why_not;
  std::thread{[&] {
    BadLink link;
    why_not = link.why_not();
    if (why_not.empty()) test(link);
  }}.join();
  return why_not;
}

TEST(BadNetworks, ThatDelayLoseReorderAndDuplicateCostTimeAndNoCall) {
  const std::string why_not = over_a_bad_link(expect_served_over);
  if (!why_not.empty()) GTEST_SKIP() << "this system gives no network to spoil, " << why_not;
}

TEST(BadNetworks, ThatCarryNothingAnyMoreAreNoticedByPingsOnBothSidesAndLeftForANewConnection) {
  const std::string why_not = over_a_bad_link(expect_silence_noticed_over);
  if (!why_not.empty()) GTEST_SKIP() << "this system gives no network to spoil, " << why_not;
}

}  // namespace
}  // namespace weft::faults::network_tests
