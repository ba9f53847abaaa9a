// SPDX-License-Identifier: Apache-2.0
// Faults, part "memory that peers take": what somebody gets of a server who sends 72 bytes and has proven
// nothing, by each way in that needs no device: memory, descriptors, and the loop's time.
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"
#if WEFT_HAVE_TLS
#include "support/test_ca.hpp"
#endif

namespace weft::faults::stranger_tests {

using namespace weft::detail;
namespace {

constexpr std::size_t kStrangers = 200;  // fewer than one address may have handshakes
constexpr std::size_t kWords = 72;
/// OpenSSL takes 60 to 77 KB for a handshake that has begun, and our hello waits for its end in a chunk.
constexpr std::size_t kTlsBytes = 160 * 1024;

/// Way in, the words that are said there, and the most memory that each stranger who says them may take.
struct Way {
  const char* name;
  const char* scheme;
  std::string words;
  std::size_t bytes_max;
};

/// A hello that wants UCX besides.
std::string greeting() {
  wire::Hello hello;
  hello.features_supported = wire::Features::kPieces | wire::Features::kContinue;
  hello.body_bytes_max = hello.attachment_bytes_max = 1u << 30;
  hello.calls_in_flight_max = ~0u;
  hello.carriers = {{wire::CarrierKind::kUcx, std::string{"\0\2\0", 3}}};
  return wire::encode_hello(hello);
}
/// The beginning of a hello that announces as much as one may.
std::string long_hello() {
  std::string words = greeting();
  const std::uint32_t length = wire::kHelloBytesMax - wire::kHelloPrefixBytes;
  std::memcpy(words.data() + 8, &length, sizeof length);
  return words;
}
/// The beginning of the longest record of TLS that may begin a handshake: a ClientHello that goes on for 16
/// KiB.
std::string client_hello() {
  std::string words{"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03", 11};
  words.resize(kWords, 'r');
  return words;
}

std::int64_t cpu_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Memory that malloc has given out, that of OpenSSL too; always 0 under the sanitizers, which have their
/// own.
std::size_t memory_in_use() {
  const auto heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

/// A server and everybody who comes to it, on one loop and on a clock that the test moves.
class StrangersOf : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    const std::string scheme = GetParam().scheme;
    const std::string at =
        scheme == "unix" ? "/tmp/weft-strangers-" + std::to_string(::getpid()) : "127.0.0.1:0";
    ServerOptions options{.listen = {scheme + "://" + at}, .threads = 0};
    options.loop = &*loop_;
    options.logger = &logger_;
    TransportOptions transport;
#if WEFT_HAVE_TLS
    if (scheme == "tls") transport.tls = TlsOptions{.certificates = {ca_.issue()}, .logger = &logger_};
#endif
    server_.emplace(std::move(options), std::move(transport));
    server_->start().value();
  }
  /// They come, say their words, and are heard.
  std::vector<HostilePeer> come() {
    const std::size_t before = open_descriptors();
    std::vector<HostilePeer> strangers;
    strangers.reserve(kStrangers);
    for (std::size_t i = 0; i < kStrangers; ++i) {
      strangers.emplace_back(server_->urls().front());
      EXPECT_TRUE(strangers.back().send(GetParam().words));
      if (i % 50 == 49) turn();
    }
    EXPECT_TRUE(eventually([&] {
      turn();
      return open_descriptors() >= before + 2 * kStrangers;
    }));
    // The words of the last may have come after its connection.
    for (int i = 0; i < 100; ++i) turn();
    return strangers;
  }
  void turn() {
    const std::int64_t begun = cpu_time_ns();
    loop_->run_until_idle();
    worked_ns_ += cpu_time_ns() - begun;
  }
  void pass(Duration time) { testing::pass(*loop_, clock_, time); }

  CountingLogger logger_;
  ManualClock clock_;
  std::unique_ptr<Loop> loop_ = Loop::create({.clock = &clock_}).value();
#if WEFT_HAVE_TLS
  testing::TestCa ca_;
#endif
  std::optional<Server> server_;
  std::int64_t worked_ns_ = 0;
};

TEST_P(StrangersOf, AServerTakeLittleOfItAndNotForLong) {
  ASSERT_TRUE(GetParam().words.empty() || GetParam().words.size() == kWords);
  come();  // what is made for the first of them stays: tables, and the chunks that a loop keeps
  ASSERT_TRUE(eventually([&] {
    turn();
    return server_->stats().connections == 0;
  }));
  loop_->chunks().trim();
  const std::size_t descriptors = open_descriptors();
  const std::size_t memory = memory_in_use();
  worked_ns_ = 0;
  {
    const std::vector<HostilePeer> strangers = come();
    EXPECT_EQ(open_descriptors(), descriptors + 2 * kStrangers) << "both ends of the connections are here";
    loop_->chunks().trim();  // what it keeps for others
    const std::size_t now = memory_in_use();
    const std::size_t each = now > memory ? (now - memory) / kStrangers : 0;
    std::printf("%s: %zu bytes, one descriptor, %.1f us of the loop for each\n", GetParam().name, each,
                static_cast<double>(worked_ns_) / 1000 / kStrangers);
    EXPECT_LE(each, GetParam().bytes_max);
    // hello_timeout or handshake_timeout; two ping intervals behind a hello.
    pass(21s);
    EXPECT_EQ(server_->stats().connections, 0u);
    EXPECT_EQ(open_descriptors(), descriptors + kStrangers) << "the server still has some of its ends";
  }
  loop_->chunks().trim();
  EXPECT_LE(memory_in_use(), memory + kStrangers * 64) << "memory did not come back";
}

std::vector<Way> ways() {
  std::vector<Way> all{
      {"tcp_silence", "tcp", {}, 4096},
      {"tcp_hello", "tcp", greeting(), 4096},
      {"tcp_long_hello", "tcp", long_hello(), 4096},
      {"unix_silence", "unix", {}, 4096},
      {"unix_hello", "unix", greeting(), 4096},
  };
#if WEFT_HAVE_TLS
  all.push_back({"tls_silence", "tls", {}, kTlsBytes});
  all.push_back({"tls_client_hello", "tls", client_hello(), kTlsBytes});
#endif
  return all;
}

INSTANTIATE_TEST_SUITE_P(By, StrangersOf, ::testing::ValuesIn(ways()),
                         [](const auto& its) { return std::string{its.param.name}; });

}  // namespace
}  // namespace weft::faults::stranger_tests
