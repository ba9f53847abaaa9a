// SPDX-License-Identifier: Apache-2.0
// Faults, part "bytes from a peer", from the other side: servers that answer whatever they like. Each call of
// their client ends once and in time, and nothing is written but into the memory that it named.
#include <array>
#include <atomic>
#include <cstdio>
#include <random>
#include <thread>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"

namespace weft::faults {

using namespace weft::detail;
namespace {

using wire::FrameFlags;
using wire::FrameType;

constexpr Duration kTimeout = 40ms;

/// Says what a seed makes it say. One thread; it leaves each connection when it is bored of it, and ends with
/// the listener.
class HostileServer {
 public:
  explicit HostileServer(std::uint32_t seed)
      : random_(seed), thread_([this] {
          while (!over_) serve_one();
        }) {}
  ~HostileServer() {
    over_ = true;
    const HostilePeer wakes_it{listener_.url()};
    thread_.join();
  }
  std::string url() const { return listener_.url(); }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  bool one_in(std::uint32_t of) { return below(of) == 0; }

  void serve_one() {
    HostilePeer peer = listener_.accept();
    if (over_) return;
    if (one_in(12)) return peer.reset();
    const std::string hello = hello_bytes(0, one_in(4) ? wire::Features::kChecksum : wire::Features::kAll);
    if (one_in(12)) {
      peer.send(std::string_view{hello}.substr(0, below(static_cast<std::uint32_t>(hello.size()))));
      if (one_in(2)) stay(peer);
      return;
    }
    peer.send(hello);
    if (!peer.receive_hello()) return;
    ids_.clear();
    for (std::uint32_t words = below(60); words > 0 && !over_; --words) {
      if (!hear(peer) || !say(peer)) return;
    }
    if (one_in(3)) stay(peer);
    if (one_in(2)) peer.reset();
  }
  /// Silent until the client leaves, or for a while.
  void stay(HostilePeer& peer) {
    for (int i = 0; i < 10 && !over_; ++i) {
      if (peer.readable_within(10ms) && !peer.receive(1)) return;
    }
  }
  /// Reads one header, or none if none comes; of what follows that not always all.
  bool hear(HostilePeer& peer) {
    if (!peer.readable_within(2ms)) return true;
    const auto head = peer.receive(wire::kHeaderBytes);
    if (!head) return false;
    const wire::FrameHeader header = wire::load_header(as_bytes(*head).data());
    const bool attached = header.following_bytes() != 0;
    if (header.type == FrameType::kRequest) {
      ids_.push_back(header.id);
      // Before the attachment of the request is read, or without ever reading it.
      if (attached && one_in(3) && !say(peer)) return false;
      if (attached && one_in(8)) return false;
    }
    const std::size_t rest = wire::head_bytes(header.body_bytes, false) - wire::kHeaderBytes +
                             wire::padded(header.following_bytes());
    return peer.receive(rest).has_value();
  }

  std::uint64_t some_id() {
    if (ids_.empty() || one_in(10)) return one_in(2) ? random_() : below(8);
    return one_in(2) ? ids_.back() : ids_[below(static_cast<std::uint32_t>(ids_.size()))];
  }
  /// An answer, of which any part may be wrong.
  std::string answer() {
    wire::FrameHeader header;
    header.type = FrameType::kAnswer;
    header.id = some_id();
    if (one_in(4)) header.typed16 = static_cast<std::uint16_t>(random_());
    if (one_in(6)) header.typed64 = random_();
    std::string body = one_in(3) ? std::string(below(200), static_cast<char>(random_())) : body_of(7);
    if (one_in(30)) body = std::string(100'000 + below(200'000), 'b');
    constexpr std::array<std::uint32_t, 5> kSizes{1, 64, 65, 100'000, 1'100'000};
    const std::string attachment = one_in(3) ? std::string(kSizes[below(kSizes.size())], 'a') : std::string{};
    return frame_bytes(header, body, attachment);
  }
  /// Pieces of an answer's attachment, announced or not: none, some or all, and now and then a wrong one.
  std::string pieces() {
    constexpr std::array<std::uint32_t, 4> kSizes{1, 64, 65, 300'000};
    const std::uint32_t whole = kSizes[below(kSizes.size())];
    const std::uint64_t id = some_id();
    wire::FrameHeader header = wire::AnswerHead{.id = id, .attachment_bytes = whole}.header();
    header.flags = FrameFlags::kAttachment | FrameFlags::kInPieces;
    const std::string body = body_of(7);
    header.body_bytes = static_cast<std::uint32_t>(body.size());
    std::string words;
    if (!one_in(6)) {
      words = header_bytes(header);
      append_padded(words, body);
    }
    for (std::uint64_t at = 0; at < whole && !one_in(8);) {
      const std::uint64_t bytes = std::min<std::uint64_t>(1 + below(100'000), whole - at);
      wire::PieceHead head{
          .id = id, .offset = at, .bytes = bytes, .of_answer = !one_in(20), .last = at + bytes == whole};
      if (one_in(20)) head.offset = random_();
      if (one_in(20)) head.bytes += 8;
      if (one_in(20)) head.last = !head.last;
      words += header_bytes(head.header());
      append_padded(words, std::string(head.bytes, 'p'));
      if (one_in(8)) words += answer();
      at += bytes;
    }
    return words;
  }
  std::string word() {
    switch (below(18)) {
      case 0: {  // one more than was announced, or fewer
        std::string half = answer();
        half.resize(below(static_cast<std::uint32_t>(half.size() + 64)));
        return half;
      }
      case 1: {
        const std::string twice = answer();
        return twice + twice;
      }
      case 2: {
        std::string storm;
        for (std::uint32_t i = below(40); i > 0; --i) {
          const wire::GoawayHead head{.taken_up_to = one_in(2) ? 0 : random_() % 3000};
          storm += frame_bytes(head.header(), std::string(below(300), '\x1b'));
        }
        return storm;
      }
      case 3: {
        std::string storm;
        for (std::uint32_t i = below(300); i > 0; --i) storm += control_bytes(FrameType::kPing, random_());
        return storm;
      }
      case 4:
        return control_bytes(FrameType::kCancel, some_id());
      case 5:
        return request_bytes<&add>(some_id(), 1, 2);
      case 6:
        return one_in(4) ? std::string(below(100), static_cast<char>(random_())) : std::string{};
      case 7:
        return frame_bytes({.type = static_cast<FrameType>(random_())}, std::string(below(100), 'x'));
      case 11:
        return control_bytes(FrameType::kContinue, some_id());
      case 8:
      case 9:
      case 10:
        return pieces();
      default:
        return answer();
    }
  }
  bool say(HostilePeer& peer) { return peer.send(word()); }

  HostileListener listener_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> ids_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

/// The outcome of one call, and the memory that it named: what lies around the landing must stay as it is.
struct Lent {
  std::string attachment;
  std::vector<std::byte> memory = std::vector<std::byte>(64 * 3);
  int ended = 0;

  MutableBytes landing() { return MutableBytes{memory}.subspan(64, 64); }
  bool untouched_around() const {
    const auto zero = [](std::byte each) { return each == std::byte{0}; };
    return std::all_of(memory.begin(), memory.begin() + 64, zero) &&
           std::all_of(memory.end() - 64, memory.end(), zero);
  }
};

Task<void> call_with(Client* client, CallOptions options, Lent* lent, bool keeps) {
  if (keeps) {
    [[maybe_unused]] const auto outcome = co_await client->call<&add>(options, 3, 4).with_attachment();
  } else {
    [[maybe_unused]] const auto outcome = co_await client->call<&add>(options, 3, 4);
  }
  ++lent->ended;
}

class HostileServers : public FaultTest {};

TEST_F(HostileServers, CostEachCallItsEndAndNothingElse) {
  constexpr std::uint32_t kSeeds = 40;
  constexpr std::size_t kCalls = 60;
  std::uint64_t connections = 0;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    const auto below = [&](std::uint32_t bound) { return random() % bound; };
    HostileServer server{seed};
    ClientOptions options;
    options.connect_timeout = 100ms;
    options.reconnect_wait_min = options.reconnect_wait_max = 1ms;
    options.limits.ping_interval = 50ms;
    options.limits.frame_timeout = 60ms;
    options.limits.body_bytes_max = 256 * 1024;
    Client& caller = client(server.url(), options);
    std::vector<Lent> lent(kCalls);
    Scope scope;
    const auto begun = std::chrono::steady_clock::now();
    for (Lent& each : lent) {
      CallOptions its{.timeout = kTimeout};
      constexpr std::array<std::size_t, 4> kSizes{0, 0, 30'000, 3'000'000};
      each.attachment.resize(kSizes[below(kSizes.size())]);
      if (!each.attachment.empty()) its.attachment = as_bytes(each.attachment);
      if (below(2) == 0) its.landing = each.landing();
      if (below(4) == 0) {
        // Begun, turned for a while, and dropped.
        Call<int> call = caller.start<&add>(its, 3, 4);
        for (std::uint32_t turns = below(4); turns > 0; --turns) loop().run_once(1ms);
        ++each.ended;
      } else {
        scope.spawn(&call_with, &caller, its, &each, below(2) == 0);
      }
      if (below(3) == 0) loop().run_once(1ms);
    }
    const auto all_ended = [&] {
      return std::all_of(lent.begin(), lent.end(), [](const Lent& each) { return each.ended == 1; });
    };
    ASSERT_TRUE(turn_until(loop(), all_ended)) << "F2";
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s) << "F1";
    loop().block_on(join(scope));
    for (const Lent& each : lent) EXPECT_TRUE(each.untouched_around());
    connections += caller.stats().connections;
    caller.close();
    loop().run_until_idle();
    EXPECT_EQ(caller.stats().calls_in_flight, 0u);
  }
  EXPECT_GT(connections, kSeeds) << "most of them never served anything";
  std::printf("%llu connections\n", static_cast<unsigned long long>(connections));
}

}  // namespace
}  // namespace weft::faults
