// SPDX-License-Identifier: Apache-2.0
// Faults, part "resources and load": peers of every kind that makes a server hold memory, all at once, and
// what the server's whole process takes of the system, which process_memory_max has to bound.
#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

#include "integration/faults/hostile_peer.hpp"
#include "support/heap_count.hpp"

namespace weft::faults {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kLimit = 128 * kMiB;
constexpr int kPeersOfAKind = 4;
constexpr unsigned kLoops = 2;
/// Memory that the pools of the loops keep for the next use: chunks, coroutines' frames, and for a second or
/// two large chunks.
constexpr std::size_t kPools = kLoops * (4 + 8 + 64) * kMiB;
/// Answers of this size lie in a chunk each, and fill half of it.
constexpr std::uint32_t kAnswerBytes = 33'000;

Task<std::size_t> hold_view(std::string_view text) {
  static_cast<void>(co_await sleep_for(1h));
  co_return text.size();
}
Task<std::size_t> hold_copy(std::string text) {
  static_cast<void>(co_await sleep_for(1h));
  co_return text.size();
}
Task<std::uint64_t> hold_attachment(CallContext& context) {
  static_cast<void>(co_await sleep_for(1h));
  co_return context.attachment().size();
}
std::string answer_at_once(std::uint32_t bytes) {
  return std::string(bytes, 'a');
}
Task<std::string> answer_from_coroutine(std::uint32_t bytes) {
  co_return std::string(bytes, 'a');
}
void answer_by_reply(Reply<std::string> reply, std::uint32_t bytes) {
  std::move(reply)(std::string(bytes, 'a'));
}
std::string answer_from_worker(std::uint32_t bytes) {
  return std::string(bytes, 'a');
}

/// Bytes of memory that this process has of the system, and shares with nobody.
std::size_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long all = 0, resident = 0, shared = 0;
  if (file == nullptr || std::fscanf(file, "%lu %lu %lu", &all, &resident, &shared) != 3) std::_Exit(3);
  std::fclose(file);
  return (resident - shared) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Memory that a process takes.
struct Taken {
  std::size_t resident = 0;
  /// The same without what malloc keeps because of how blocks of different ages lie beside each other.
  std::size_t used = 0;

  static Taken now() {
    const std::size_t resident = resident_bytes();
    return {resident, resident - std::min(resident, std::size_t{::mallinfo2().fordblks})};
  }
  void raise_to(const Taken& other) {
    resident = std::max(resident, other.resident);
    used = std::max(used, other.used);
  }
};

class SilentLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view) override {}
};

/// Answer to what the parent asks: the most that was taken so far beyond what was taken before, and what is
/// in use once no peer is left.
enum class Question : char { kPeak = 'p', kRest = 'r' };

void write_number(int to, std::size_t number) {
  if (::write(to, &number, sizeof number) != sizeof number) std::_Exit(4);
}

/// Nothing of any peer is left, or it takes too long.
void await_rest(const Server& server) {
  const auto patience = std::chrono::steady_clock::now() + 30s;
  while (server.stats().connections != 0 || server.stats().calls_running != 0) {
    if (std::chrono::steady_clock::now() > patience) std::_Exit(5);
    std::this_thread::yield();
  }
}

/// Serves in the child, and looks every millisecond at what that takes.
[[noreturn]] void serve(int questions, int answers) {
  SilentLogger logger;
  ServerOptions options;
  options.listen = {"tcp://127.0.0.1:0"};
  options.threads = kLoops;
  options.worker_threads = 2;
  options.logger = &logger;
  options.limits.process_memory_max = kLimit;
  options.limits.stall_timeout = options.limits.frame_timeout = 1h;
  options.limits.ping_interval = 0s;
  Server server{std::move(options)};
  server.register_handler<&hold_view, &hold_copy, &hold_attachment>();
  server.register_handler<&answer_at_once, &answer_from_coroutine, &answer_by_reply>();
  server.register_handler<&answer_from_worker>({.blocking = true});
  server.start().value();
  write_number(answers, Url::parse(server.urls().front()).value().port);
  const Taken before = Taken::now();
  Taken peak = before;
  for (;;) {
    peak.raise_to(Taken::now());
    pollfd wanted{questions, POLLIN, 0};
    if (::poll(&wanted, 1, 1) == 0) continue;
    Question question{};
    if (::read(questions, &question, 1) != 1) std::_Exit(0);
    if (question == Question::kPeak) {
      write_number(answers, peak.used - before.used);
      write_number(answers, peak.resident - before.resident);
    } else {
      await_rest(server);
      const auto heap = ::mallinfo2();
      write_number(answers, heap.uordblks + heap.hblkhd);
      write_number(answers, resident_bytes() - before.resident);
      ::malloc_trim(0);
      write_number(answers, resident_bytes() - std::min(resident_bytes(), before.resident));
    }
  }
}

/// Sends `bytes` as far as the server takes them, and reads nothing.
class Peer {
 public:
  Peer(const std::string& url, std::shared_ptr<const std::string> bytes)
      : socket_(url, 4096), bytes_(std::move(bytes)) {}
  /// True when something was sent.
  bool send_some() {
    if (sent_ == bytes_->size()) return false;
    const ssize_t sent = ::send(socket_.fd(), bytes_->data() + sent_, std::min(kMiB, bytes_->size() - sent_),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) sent_ += static_cast<std::size_t>(sent);
    return sent > 0;
  }

 private:
  HostilePeer socket_;
  std::shared_ptr<const std::string> bytes_;
  std::size_t sent_ = 0;
};

template <auto M, typename... Arguments>
std::string many(std::uint64_t count, const Arguments&... arguments) {
  std::string bytes;
  for (std::uint64_t id = 1; id <= count; ++id) bytes += request_bytes<M>(id, arguments...);
  return bytes;
}
template <auto M>
std::string with_attachments(std::uint64_t count, std::size_t size) {
  std::string bytes;
  for (std::uint64_t id = 1; id <= count; ++id) {
    bytes += frame_bytes(request_header<M>(id), body_of(), std::string(size, 'x'));
  }
  return bytes;
}

const std::string kLargeBody(3 * kMiB + kMiB / 2, 'b');

/// Bytes that the peers of each kind send.
std::vector<std::string> kinds() {
  const std::string half_a_body = request_bytes<&hold_view>(1, kLargeBody).substr(0, 3 * kMiB);
  const std::string half_an_attachment =
      with_attachments<&hold_attachment>(1, 24 * kMiB).substr(0, 12 * kMiB);
  return {
      many<&hold_view>(4000, std::string(4000, 't')),
      many<&hold_copy>(4000, std::string(4000, 't')),
      many<&hold_view>(60'000, std::string("few")),
      many<&hold_copy>(200, std::string(60'000, 't')),
      half_a_body,
      half_an_attachment,
      with_attachments<&hold_attachment>(16, kMiB),
      many<&answer_at_once>(500, kAnswerBytes),
      many<&answer_from_coroutine>(500, kAnswerBytes),
      many<&answer_by_reply>(500, kAnswerBytes),
      many<&answer_from_worker>(500, kAnswerBytes),
      many<&answer_at_once>(500, kAnswerBytes) + request_bytes<&hold_view>(501, kLargeBody),
  };
}

class Child {
 public:
  Child() {
    if (::pipe(questions_) != 0 || ::pipe(answers_) != 0) std::abort();
    std::fflush(nullptr);
    child_ = ::fork();
    if (child_ != 0) return;
    ::close(questions_[1]);
    serve(questions_[0], answers_[1]);
  }
  ~Child() {
    ::close(questions_[1]);
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    EXPECT_EQ(status, 0);
    for (const int fd : {questions_[0], answers_[0], answers_[1]}) ::close(fd);
  }
  std::size_t next_number() {
    std::size_t number = 0;
    EXPECT_EQ(::read(answers_[0], &number, sizeof number), static_cast<ssize_t>(sizeof number));
    return number;
  }
  void ask(Question question) { EXPECT_EQ(::write(questions_[1], &question, 1), 1); }

 private:
  int questions_[2]{};
  int answers_[2]{};
  pid_t child_ = -1;
};

/// Many peers of each kind, until nobody can send any more; then all are gone.
void attack(Child& child, const std::string& url) {
  std::vector<Peer> peers;
  for (const std::string& bytes : kinds()) {
    const auto shared = std::make_shared<const std::string>(hello_bytes() + bytes);
    for (int i = 0; i < kPeersOfAKind; ++i) peers.emplace_back(url, shared);
  }
  auto last = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - last < 500ms) {
    for (Peer& peer : peers) {
      if (peer.send_some()) last = std::chrono::steady_clock::now();
    }
  }
  child.ask(Question::kPeak);
  const std::size_t used = child.next_number();
  const std::size_t resident = child.next_number();
  std::printf("limit %zu KiB, %zu peers: at most %zu KiB used, %zu KiB with what malloc keeps\n",
              kLimit / 1024, peers.size(), used / 1024, resident / 1024);
  // What is not charged: a chunk that each connection receives into, one that it sends from, and the pools.
  EXPECT_LE(used, kLimit + kLimit / 10 + peers.size() * 2 * 64 * 1024 + kPools);
  EXPECT_LE(resident, 2 * kLimit);
  EXPECT_GE(used, kLimit * 3 / 4) << "it was not put to the test";
}

TEST(ProcessMemory, IsBoundedWhateverPeersSendAndDoNotRead) {
  if (!testing::kHeapIsCounted) GTEST_SKIP() << "the sanitizers' own memory would be counted";
  Child child;
  const std::string url = "tcp://127.0.0.1:" + std::to_string(child.next_number());
  for (int round = 0; round < 2; ++round) {
    attack(child, url);
    child.ask(Question::kRest);
    const std::size_t rest = child.next_number();
    const std::size_t resident = child.next_number();
    const std::size_t trimmed = child.next_number();
    std::printf(
        "%zu KiB in use when they had left, %zu KiB with what malloc keeps, %zu KiB of them after a trim\n",
        rest / 1024, resident / 1024, trimmed / 1024);
    EXPECT_LE(rest, kPools + 8 * kMiB) << "in round " << round;
    EXPECT_LE(trimmed, kPools + 40 * kMiB) << "what malloc keeps is malloc's, in round " << round;
  }
}

}  // namespace
}  // namespace weft::faults
