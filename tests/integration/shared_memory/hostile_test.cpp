// SPDX-License-Identifier: Apache-2.0
// A peer that speaks the hello and the carrier frames, and then does to the shared memory what it should not.
// Its connection ends with a status, or serves on; the server and an honest client of the same loop live.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "integration/shared_memory/raw_memory_peer.hpp"
#include "integration/shared_memory/shared_memory_testing.hpp"
#include "support/wire_bytes.hpp"

namespace weft::shared_memory_testing {
namespace {

using shared_memory::kCountMask;
using shared_memory::kEnded;
using shared_memory::kUp;

class SharedMemoryHostilePeers : public SharedMemoryTest {
 protected:
  SharedMemoryHostilePeers() { expect_by_memory(honest_); }
  std::unique_ptr<RawMemoryPeer> peer() { return std::make_unique<RawMemoryPeer>(server_.urls().front()); }
  std::unique_ptr<RawMemoryPeer> peer_on_carrier() {
    auto made = peer();
    EXPECT_TRUE(made->come_up());
    return made;
  }
  void expect_others_fine() {
    const std::vector<std::byte> bytes = pattern(std::size_t{1} << 20);
    const auto sum = wait_for(honest_.start<sum_up>({.attachment = Bytes{bytes}}));
    EXPECT_TRUE(sum.ok() && *sum == sum_of(bytes)) << "F4: " << sum.status().to_string();
    EXPECT_EQ(honest_.stats().connections, 1u) << "F4";
  }
  void expect_dismissed(RawMemoryPeer& peer) {
    EXPECT_TRUE(eventually([&] { return peer.stream_has_ended(); })) << "the connection goes on";
    EXPECT_TRUE(eventually([&] { return server_.stats().connections == 1; })) << "F5";
    expect_others_fine();
  }
  void expect_declined(const std::string& address, const std::vector<int>& passed, const char* what) {
    const auto one = peer();
    ASSERT_TRUE(one->greet() && one->say_address(address, passed));
    EXPECT_TRUE(one->hear(wire::CarrierStep::kDown)) << what;
  }
  /// A request by memory is served.
  void expect_served(RawMemoryPeer& peer) {
    const std::uint64_t calls = server_.stats().calls;
    peer.write(faults::request_bytes<&add>(7, 1, 2));
    EXPECT_TRUE(eventually([&] { return server_.stats().calls > calls; }));
  }

  Server& server_ = serve();
  Client& honest_ = client(server_.urls().front());
};

TEST_F(SharedMemoryHostilePeers, AreServedWhenTheyBehave) {
  const auto one = peer_on_carrier();
  expect_served(*one);
  EXPECT_TRUE(eventually([&] { return one->reader().has_news(); })) << "the answer";
  expect_others_fine();
}

TEST_F(SharedMemoryHostilePeers, AreDeclinedWithAnotherVersion) {
  const auto one = peer();
  ASSERT_TRUE(one->RawCarrierPeer::greet(std::string(1, '\x09')));
  EXPECT_TRUE(one->hear(wire::CarrierStep::kDown));
  expect_others_fine();
}

TEST_F(SharedMemoryHostilePeers, AreDeclinedWithAnAddressThatIsNone) {
  const auto good = peer();
  const std::vector<int> both{good->memory(), good->doorbell()};
  expect_declined("", both, "no text");
  expect_declined(std::string(7, '\0'), both, "cut short");
  for (const std::uint64_t bytes : {0ull, 1ull, 2048ull, 4097ull, 8192ull, 1ull << 40, ~0ull}) {
    expect_declined(RawMemoryPeer::address(bytes), both, "another size");
  }
  expect_others_fine();
}

TEST_F(SharedMemoryHostilePeers, AreDeclinedWithDescriptorsThatAreNotMemoryAndADoorbell) {
  const auto good = peer();
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const Descriptor reads{pipe[0]};
  const Descriptor writes{pipe[1]};
  const std::string address = RawMemoryPeer::address();
  expect_declined(address, {}, "none");
  expect_declined(address, {good->memory()}, "one");
  expect_declined(address, {good->doorbell(), good->memory()}, "in the wrong order");
  expect_declined(address, {good->memory(), writes.get()}, "a pipe to ring");
  expect_declined(address, {good->memory(), good->memory()}, "memory to ring");
  expect_declined(address, {reads.get(), good->doorbell()}, "a pipe as memory");
  expect_others_fine();
}

TEST_F(SharedMemoryHostilePeers, AreDismissedWithTooManyDescriptors) {
  const auto one = peer();
  ASSERT_TRUE(one->greet() &&
              one->say_address(RawMemoryPeer::address(), {one->memory(), one->doorbell(), one->doorbell()}));
  expect_dismissed(*one);
}

TEST_F(SharedMemoryHostilePeers, WhoLeaveDuringBringUpLeaveNothing) {
  for (int steps = 0; steps < 4; ++steps) {
    const auto one = peer();
    ASSERT_TRUE(steps < 1 || one->greet());
    ASSERT_TRUE(steps < 2 || one->say_address());
    ASSERT_TRUE(steps < 3 || one->hear_address());
  }
  EXPECT_TRUE(eventually([&] { return server_.stats().connections == 1; })) << "F5";
  expect_others_fine();
}

TEST_F(SharedMemoryHostilePeers, AreDismissedWithCountsThatCannotBeTrue) {
  for (const std::uint64_t written :
       {std::uint64_t{RawMemoryPeer::kRing + 1}, kCountMask, std::uint64_t{1} << 32, kCountMask | kEnded}) {
    const auto one = peer_on_carrier();
    one->words().written.store(kUp | written);
    one->ring();
    expect_dismissed(*one);
  }
}

TEST_F(SharedMemoryHostilePeers, AreDismissedWhenTheySayThatTheyReadWhatWasNotWritten) {
  const auto one = peer_on_carrier();
  // The answers fill the server's ring, and then it looks how much was read.
  one->words().read.store(std::uint64_t{1} << 40);
  const std::string request = faults::request_bytes<&produce>(3, std::uint64_t{1} << 20, 1u);
  one->write(request);
  expect_dismissed(*one);
}

TEST_F(SharedMemoryHostilePeers, AreDismissedWithBytesThatAreNoFrame) {
  const auto one = peer_on_carrier();
  one->write(std::string(64, '\xAA'));
  expect_dismissed(*one);
}

TEST_F(SharedMemoryHostilePeers, AreDismissedWithAnEndInTheMiddleOfAFrame) {
  const auto one = peer_on_carrier();
  one->write(faults::request_bytes<&add>(5, 1, 2).substr(0, 40));
  one->writer().end();
  expect_dismissed(*one);
}

TEST_F(SharedMemoryHostilePeers, AreDismissedWithBytesOnTheSocket) {
  const auto one = peer_on_carrier();
  one->base().send(faults::request_bytes<&add>(5, 1, 2));
  expect_dismissed(*one);
}

TEST_F(SharedMemoryHostilePeers, ThatRingForEverDisturbNobody) {
  const auto one = peer_on_carrier();
  std::atomic<bool> over{false};
  std::thread ringer{[&] {
    while (!over.load()) one->ring();
  }};
  for (int i = 0; i < 200; ++i) expect_alive(honest_);
  over.store(true);
  ringer.join();
  expect_served(*one);
  expect_others_fine();
}

// Their own doorbell, which the server rings, is the peer's too: it is emptied, filled and made to wait.
TEST_F(SharedMemoryHostilePeers, ThatSpoilTheirDoorbellMakeNobodyWait) {
  const auto one = peer_on_carrier();
  ASSERT_EQ(::fcntl(one->doorbell(), F_SETFL, 0), 0);
  one->words().sleep.store(2);
  expect_served(*one);
  // As full as a count can be, and then empty.
  const std::uint64_t rest = (std::uint64_t{1} << 62) - 100;
  for (int i = 0; i < 2; ++i) ASSERT_GT(::write(one->doorbell(), &rest, sizeof rest), 0);
  one->words().sleep.store(4);
  expect_served(*one);
  expect_others_fine();
}

// The words and the ring change at any moment, while the server reads, writes, sleeps and wakes.
TEST_F(SharedMemoryHostilePeers, ThatScribbleAtRandomMomentsEndOnlyThemselves) {
  std::mt19937_64 random{41};
  const std::string good = faults::request_bytes<&add>(7, 1, 2);
  for (int round = 0; round < 150; ++round) {
    const auto one = peer_on_carrier();
    ASSERT_FALSE(HasFailure()) << round;
    for (int step = 0; step < 200 && !one->stream_has_ended(); ++step) {
      switch (random() % 6) {
        case 0:
          one->write(good);
          break;
        case 1:
          one->own_ring()[random() % RawMemoryPeer::kRing] = static_cast<std::byte>(random());
          break;
        case 2:
          if (random() % 8 == 0)
            one->words().written.store(random() % 8 == 0 ? random() : kUp | (random() % 8192));
          break;
        case 3:
          if (random() % 8 == 0) one->words().read.store(random() % 8192);
          break;
        case 4:
          one->words().sleep.store(random() % 5);
          break;
        default:
          one->ring();
      }
    }
  }
  EXPECT_TRUE(eventually([&] { return server_.stats().connections == 1; })) << "F5";
  expect_others_fine();
}

}  // namespace
}  // namespace weft::shared_memory_testing
