// SPDX-License-Identifier: Apache-2.0
// CR-19 on a real RDMA stack and a wire that the test cuts and spoils: the
// client's device is one end of it, the server's the other. The TCP connections beside the queue pairs go by
// the loopback interface, which stays whole. Only in the emulated machine (docs/internals/rdma_vm.md).
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "integration/deaths_testing.hpp"
#include "integration/verbs/verbs_testing.hpp"
#include "support/counted_rdma.hpp"

namespace weft::verbs_testing {
namespace {

using ::testing::HasSubstr;

constexpr int kCuts = 2;

void wire(const std::string& words) {
  ASSERT_EQ(std::system(("rdma-wire " + words).c_str()), 0) << words;
}

bool port_is_active(const char* device) {
  std::ifstream file{std::string{"/sys/class/infiniband/"} + device + "/ports/1/state"};
  std::string state;
  std::getline(file, state);
  return state == "4: ACTIVE";
}

class VerbsWire : public ::testing::Test {
 protected:
  ~VerbsWire() override {
    world_.end();
    EXPECT_EQ(rdma_.live(), testing::CountedRdma::Objects{}) << "F5";
  }
  VerbsOptions at_end(int end) {
    VerbsOptions its = options_of("plain", rdma_);
    its.ack_timeout = ack_timeout_;
    its.devices = {"rxe" + std::to_string(end)};
    its.connecting = its.listening = CarrierPolicy::kPrefer;
    return its;
  }
  std::string serve() {
    return world_.serve(at_end(1), World::Where::kOwnThread, "tcp://127.0.0.1:0").urls().front();
  }
  Client& client(const std::string& url) { return world_.client(url, at_end(0)); }
  static std::string required(const std::string& url) { return "verbs" + url.substr(url.find("://")); }
  /// Expects that every call is lost: what had left went with the connection, and the next connection is
  /// refused.
  void expect_lost(Calls& calls) {
    EXPECT_EQ(calls.small.ok + calls.large.ok, 0);
    for (const Ends* ends : {&calls.small, &calls.large}) {
      EXPECT_TRUE(ends->other.empty() || ends->other.starts_with("FAILED_PRECONDITION")) << ends->other;
    }
    world_.loop().block_on(faults::join(calls.scope));
  }

  testing::CountedRdma rdma_{verbs::system_driver()};
  World world_;
  std::uint8_t ack_timeout_ = VerbsOptions{}.ack_timeout;
};

TEST_F(VerbsWire, APortThatGoesDownEndsWhatIsUnderWayAndCallsWorkAgainWhenItIsUp) {
  Times ended;
  Times found;
  const std::string url = serve();
  Client& strict = client(required(url));
  Client& lenient = client(url);
  world_.expect_alive(strict);
  for (int cut = 0; cut < kCuts && !HasFailure(); ++cut) {
    Calls calls{std::size_t{4} << 20};
    calls.start(strict);
    for (int turn = 0; calls.large.ok == 0 && turn < 10; ++turn) world_.loop().run_once(1ms);
    wire("down " + std::to_string(cut % 2));
    const auto down_at = Times::Clock::now();
    ASSERT_TRUE(turn_until(world_.loop(), [&] { return calls.ended(); })) << "F1";
    ended.add(Times::Clock::now() - down_at);
    expect_lost(calls);
    const Status refused = world_.wait_for(strict.start<add>({.timeout = 10s}, 1, 2)).status();
    EXPECT_FALSE(refused.ok());
    EXPECT_THAT(refused.to_string(), HasSubstr("active"));
    world_.expect_alive(lenient);
    wire("up " + std::to_string(cut % 2));
    ASSERT_TRUE(eventually([] { return port_is_active("rxe0") && port_is_active("rxe1"); }));
    const auto up_at = Times::Clock::now();
    const Result<int> sum = world_.wait_for(strict.start<add>({.timeout = 10s}, 20, 22));
    EXPECT_TRUE(sum.ok() && *sum == 42) << sum.status().to_string();
    found.add(Times::Clock::now() - up_at);
    world_.expect_alive(lenient);
  }
  EXPECT_EQ(lenient.stats().connections, 1u) << "it went by TCP, and stays there";
  ended.print("from the port's end to the end of the last call");
  found.print("from the port's return to the first answer");
}

// Up to the end of the retries nobody notices. Those of this test take as long as the commands do.
TEST_F(VerbsWire, AWireThatCarriesNothingForAWhileCostsNoCall) {
  ack_timeout_ = 19;  // 2 s, six times
  const std::string url = serve();
  Client& caller = client(required(url));
  world_.expect_alive(caller);
  const std::vector<std::byte> bytes = pattern(std::size_t{2} << 20);
  weft::Call<std::uint64_t> call = caller.start<sum_up>({.timeout = 20s, .attachment = Bytes{bytes}});
  for (int turn = 0; turn < 20; ++turn) world_.loop().run_once(0ms);
  wire("netem 0 loss 100%");
  for (int turn = 0; turn < 20; ++turn) world_.loop().run_once(5ms);
  wire("clear 0");
  const Result<std::uint64_t> sum = world_.wait_for(std::move(call));
  EXPECT_TRUE(sum.ok() && *sum == sum_of(bytes)) << sum.status().to_string();
  EXPECT_EQ(caller.stats().connections, 1u);
}

// The queue pairs connect, and nothing crosses: every call that waited is answered by TCP.
TEST_F(VerbsWire, AWireThatCarriesNothingWhileRdmaIsTriedCostsNoCall) {
  const std::string url = serve();
  for (const int end : {0, 1}) {
    wire("netem " + std::to_string(end) + " loss 100%");
    Client& caller = client(url);
    std::vector<weft::Call<int>> calls;
    for (int i = 0; i < 100; ++i) calls.push_back(caller.start<add>({.timeout = 20s}, i, 1));
    for (int i = 0; i < 100; ++i) {
      const Result<int> sum = world_.wait_for(std::move(calls[static_cast<std::size_t>(i)]));
      EXPECT_TRUE(sum.ok() && *sum == i + 1) << sum.status().to_string();
    }
    EXPECT_EQ(caller.stats().connections, 1u);
    EXPECT_EQ(caller.stats().connect_failures, 0u);
    wire("clear " + std::to_string(end));
  }
  Client& after = client(required(url));
  world_.expect_alive(after);
}

/// Runs with tc-netem harming the packets of both directions.
class VerbsSpoiltWire : public VerbsWire, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Verbs, VerbsSpoiltWire,
                         ::testing::Values("loss 5%", "duplicate 20%", "delay 5ms", "delay 2ms reorder 10%",
                                           "corrupt 2%"));

// Answered rightly, or ended with a status, each within its time; and what is answered went by RDMA.
TEST_P(VerbsSpoiltWire, EachCallHasItsAnswerOrAStatusInTime) {
  const std::string url = serve();
  Client& caller = client(required(url));
  world_.expect_alive(caller);
  wire(std::string{"netem both "} + GetParam());
  const std::vector<std::byte> bytes = pattern(std::size_t{256} << 10);
  const auto began_at = Times::Clock::now();
  int answered = 0;
  int lost = 0;
  const auto count = [&](const auto& result, const auto& expected) {
    if (result.ok()) {
      EXPECT_EQ(*result, expected);
      ++answered;
    } else {
      EXPECT_EQ(result.status().code(), StatusCode::kUnavailable) << result.status().to_string();
      ++lost;
    }
  };
  for (int round = 0; round < 2; ++round) {
    std::vector<weft::Call<int>> numbers;
    std::vector<weft::Call<std::uint64_t>> sums;
    for (int i = 0; i < 50; ++i) numbers.push_back(caller.start<add>({.timeout = 30s}, i, 1));
    for (int i = 0; i < 2; ++i) {
      sums.push_back(caller.start<sum_up>({.timeout = 30s, .attachment = Bytes{bytes}}));
      sums.push_back(caller.start<give_back>({.timeout = 30s, .attachment = Bytes{bytes}}));
    }
    for (int i = 0; i < 50; ++i) {
      count(world_.wait_for(std::move(numbers[static_cast<std::size_t>(i)])), i + 1);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      count(world_.wait_for(std::move(sums[i])), i % 2 == 0 ? sum_of(bytes) : std::uint64_t{bytes.size()});
    }
  }
  std::printf("%s: %d answered, %d lost, by %d connections, in %.0f ms\n", GetParam(), answered, lost,
              static_cast<int>(caller.stats().connections),
              std::chrono::duration<double, std::milli>(Times::Clock::now() - began_at).count());
  wire("clear both");
  world_.expect_alive(caller);
}

}  // namespace
}  // namespace weft::verbs_testing
