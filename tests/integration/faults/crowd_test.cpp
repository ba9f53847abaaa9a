// SPDX-License-Identifier: Apache-2.0
// Faults, parts "peers bad in time" and "resources and load", in their full number: ten thousand peers.
#include <sys/wait.h>

#include <csignal>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/heap_count.hpp"
#include "integration/faults/hostile_peer.hpp"

namespace weft::faults::crowd_tests {

using namespace weft::detail;
namespace {

constexpr std::uint32_t kPeers = 10'000;
/// Number of peers that come at once: fewer than a listener's backlog holds, because those beyond it would
/// knock again much later.
constexpr std::uint32_t kWave = 2'000;

/// Ten thousand hostile peers in a process of their own, so that their descriptors are not the server's. It
/// is told what to do by one byte, and answers with the number of those that could.
class Crowd {
 public:
  enum class Order : char { kCome = 'c', kSendAByte = 's', kBeAnswered = 'a', kSeeTheEnd = 'e' };
  /// Bytes that the peers send in turns, and how many of them at once.
  struct Speech {
    std::string text;
    std::size_t at_once;
  };

  Crowd(const std::string& url, const std::vector<Speech>& speeches) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      obey(ends[1], url, speeches);
      std::_Exit(0);
    }
    ::close(ends[1]);
    control_ = ends[0];
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() {
    if (pid_ <= 0) return;
    ::close(control_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  /// Returns how many of them could do it; turns `loop` until they have.
  std::uint32_t order(Loop& loop, Order what) {
    const char byte = static_cast<char>(what);
    std::uint32_t count = 0;
    if (::write(control_, &byte, 1) != 1) return 0;
    const bool answered = turn_until(
        loop, [&] { return ::recv(control_, &count, sizeof count, MSG_DONTWAIT) == sizeof count; });
    return answered ? count : 0;
  }

 private:
  static void obey(int control, const std::string& url, const std::vector<Speech>& speeches);

  pid_t pid_ = -1;
  int control_ = -1;
};

void Crowd::obey(int control, const std::string& url, const std::vector<Speech>& speeches) {
  std::vector<HostilePeer> peers;
  std::vector<std::string_view> left;
  char order = 0;
  while (::read(control, &order, 1) == 1) {
    std::uint32_t count = 0;
    const bool come = Order{order} == Order::kCome;
    const auto first = static_cast<std::uint32_t>(come ? peers.size() : 0);
    const auto last = static_cast<std::uint32_t>(come ? first + kWave : peers.size());
    for (std::uint32_t i = first; i < last; ++i) {
      switch (Order{order}) {
        case Order::kCome: {
          const Speech& speech = speeches[i % speeches.size()];
          peers.emplace_back(url);
          left.emplace_back(speech.text);
          count += peers[i].connected() && peers[i].send(left[i].substr(0, speech.at_once));
          left[i].remove_prefix(speech.at_once);
          break;
        }
        case Order::kSendAByte:
          count += peers[i].send(left[i].substr(0, 1));
          left[i].remove_prefix(1);
          break;
        case Order::kBeAnswered:
          count += peers[i].receive_hello() && peers[i].receive_frame();
          break;
        case Order::kSeeTheEnd:
          count += peers[i].closed_by_other_side();
          break;
      }
    }
    if (::write(control, &count, sizeof count) != sizeof count) return;
  }
}

class Crowds : public StillFaultTest {
 protected:
  void SetUp() override {
    if (!allow_descriptors(kPeers + 200)) {
      GTEST_SKIP() << "this system gives a process no " << kPeers + 200 << " descriptors (RLIMIT_NOFILE)";
    }
  }
  Server& serve_adding() {
    ServerOptions options;
    options.connections_max = kPeers + 1;
    return serve(std::move(options), [](Server& s) { s.register_handler<&add>(); });
  }
  /// Wave by wave, all of them and the honest client.
  bool all_come(Crowd& crowd, const Server& server) {
    for (std::uint32_t there = kWave; there <= kPeers; there += kWave) {
      if (crowd.order(loop(), Crowd::Order::kCome) != kWave) return false;
      if (!turn_until(loop(), [&] { return server.stats().connections == there + 1; })) return false;
    }
    return true;
  }
  /// Their memory is back, but for what the tables of the loop have grown to.
  void expect_memory_back(std::size_t before) {
    loop().chunks().trim();
    EXPECT_LE(heap_bytes(), before + kPeers * 64) << "memory did not come back";
  }
  /// Returns the cost of one peer, given the count before they came.
  static std::size_t each(std::size_t now, std::size_t before) {
    return now > before ? (now - before) / kPeers : 0;
  }
};

TEST_F(Crowds, TenThousandThatTrickleAreClosedWithin15SecondsAndCostAtMost8KiBEach) {
  Server& server = serve_adding();
  Client& honest = client();
  ASSERT_TRUE(wait_for(honest.start<&add>(1, 2)).ok());
  const std::string hello = hello_bytes();
  Crowd crowd{server.urls().front(), {{hello, 1}, {hello + request_bytes<&add>(1, 1, 2), hello.size() + 1}}};
  pass(60s);
  loop().chunks().trim();
  const std::size_t descriptors = open_descriptors();
  const std::size_t watches = loop().watches();
  const std::size_t timers = loop().timers_armed();
  const std::int64_t frames = frames_alive();
  const std::size_t memory = heap_bytes();
  restart_heap_peak();
  ASSERT_TRUE(all_come(crowd, server));
  for (int seconds = 0; seconds < 15; seconds += 5) {
    crowd.order(loop(), Crowd::Order::kSendAByte);
    pass(5s);
    const Result<int> sum = wait_for(honest.start<&add>(seconds, 1));
    EXPECT_TRUE(sum.ok()) << sum.status().to_string();
  }
  EXPECT_EQ(server.stats().connections, 1u);
  EXPECT_EQ(crowd.order(loop(), Crowd::Order::kSeeTheEnd), kPeers);
  std::printf("%zu bytes each at most\n", each(heap_peak_bytes(), memory));
  pass(60s);
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(loop().watches(), watches);
  EXPECT_EQ(loop().timers_armed(), timers);
  EXPECT_EQ(frames_alive(), frames);
  if (kHeapIsCounted) {
    EXPECT_LE(each(heap_peak_bytes(), memory), 8u * 1024);
    expect_memory_back(memory);
  }
}

TEST_F(Crowds, TenThousandIdleConnectionsCostAtMost4KiBEach) {
  Server& server = serve_adding();
  Client& honest = client();
  ASSERT_TRUE(wait_for(honest.start<&add>(1, 2)).ok());
  loop().chunks().trim();
  const std::size_t descriptors = open_descriptors();
  const std::size_t memory = heap_bytes();
  {
    const std::string speech = hello_bytes() + request_bytes<&add>(1, 1, 2);
    Crowd crowd{server.urls().front(), {{speech, speech.size()}}};
    ASSERT_TRUE(all_come(crowd, server));
    ASSERT_EQ(crowd.order(loop(), Crowd::Order::kBeAnswered), kPeers);
    loop().run_until_idle();
    std::printf("%zu bytes for each idle connection\n", each(heap_bytes(), memory));
    if (kHeapIsCounted) {
      EXPECT_LE(each(heap_bytes(), memory), 4u * 1024);
    }
    EXPECT_TRUE(wait_for(honest.start<&add>(3, 4)).ok());
  }
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 1; }));
  EXPECT_TRUE(wait_for(honest.start<&add>(5, 6)).ok());
  EXPECT_EQ(open_descriptors(), descriptors);
  if (kHeapIsCounted) {
    expect_memory_back(memory);
  }
}

}  // namespace
}  // namespace weft::faults::crowd_tests
