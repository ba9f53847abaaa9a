// SPDX-License-Identifier: Apache-2.0
// Says what a block costs in a list of many when bare sockets send it: 10,000 blocks of 4 KiB over tcp on one
// machine, in one run, next to each other and apart, so many of them in a system call, with and without
// asking for their beginnings before the call. It is what block_lists cannot be better than.
//   bare_blocks [ROUNDS]
// The least of all rounds, in which the ways come in another order each time.
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "bare/sockets.hpp"
#include "bare/times.hpp"

namespace {

using weft::bare::cpu_ns;
using weft::bare::fail;
using weft::bare::Sockets;
using weft::bare::wall_ns;

constexpr std::size_t kBlockBytes = 4096;
constexpr std::size_t kBlocks = 10'000;
constexpr std::size_t kBytes = kBlocks * kBlockBytes;
constexpr std::size_t kApart = 2 * kBlockBytes;
constexpr std::size_t kReceivedAtATime = std::size_t{1} << 20;

struct Way {
  const char* name;
  std::size_t run_bytes;
  std::size_t stride;
  std::size_t runs_a_call;
  bool asks_ahead;
};

constexpr Way kWays[] = {
    {"one run, 512 KiB a call", 128 * kBlockBytes, 128 * kBlockBytes, 1, false},
    {"next to each other, 128", kBlockBytes, kBlockBytes, 128, false},
    {"apart, 64 a call", kBlockBytes, kApart, 64, false},
    {"apart, 128", kBlockBytes, kApart, 128, false},
    {"apart, 256", kBlockBytes, kApart, 256, false},
    {"apart, 1024", kBlockBytes, kApart, 1024, false},
    {"apart, 64, asked ahead", kBlockBytes, kApart, 64, true},
    {"apart, 128, asked ahead", kBlockBytes, kApart, 128, true},
    {"apart, 256, asked ahead", kBlockBytes, kApart, 256, true},
    {"apart, 1024, asked ahead", kBlockBytes, kApart, 1024, true},
};

/// Receives all blocks of a round and says so with a byte, until the other end is closed.
void receive_rounds(int socket) {
  std::vector<std::byte> memory(kBytes);
  for (std::size_t got = 0;;) {
    const ssize_t part = ::recv(socket, memory.data() + got, std::min(kBytes - got, kReceivedAtATime), 0);
    if (part <= 0) return;
    got += static_cast<std::size_t>(part);
    if (got < kBytes) continue;
    got = 0;
    if (::send(socket, memory.data(), 1, MSG_NOSIGNAL) != 1) return;
  }
}

/// The blocks of `way`, which begin at `first`.
std::vector<iovec> runs_of(const Way& way, std::byte* first) {
  std::vector<iovec> runs;
  for (std::size_t left = kBytes; left > 0; first += way.stride) {
    runs.push_back({first, std::min(left, way.run_bytes)});
    left -= runs.back().iov_len;
  }
  return runs;
}

void send_round(int socket, const Way& way, std::vector<iovec>& runs) {
  for (std::size_t at = 0; at < runs.size();) {
    msghdr message{};
    message.msg_iov = &runs[at];
    message.msg_iovlen = std::min(way.runs_a_call, runs.size() - at);
    if (way.asks_ahead) {
      for (std::size_t i = 0; i < message.msg_iovlen; ++i) __builtin_prefetch(runs[at + i].iov_base);
    }
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0) fail("sendmsg");
    for (auto left = static_cast<std::size_t>(sent); left > 0;) {
      iovec& run = runs[at];
      const std::size_t part = std::min(left, run.iov_len);
      run = {static_cast<std::byte*>(run.iov_base) + part, run.iov_len - part};
      if (run.iov_len == 0) ++at;
      left -= part;
    }
  }
  std::byte done{};
  if (::recv(socket, &done, 1, 0) != 1) fail("recv");
}

struct Cost {
  double wall = 1e18;
  double cpu = 1e18;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 40;
  const Sockets sockets;
  std::thread receiver{receive_rounds, sockets.receives};
  std::vector<std::byte> memory(2 * kBytes + kBlockBytes, std::byte{1});
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  std::byte* const first = memory.data() + (kBlockBytes - address % kBlockBytes) % kBlockBytes;

  std::array<Cost, std::size(kWays)> costs;
  std::array<std::size_t, std::size(kWays)> order;
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937 random{1};
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t way : order) {
      std::vector<iovec> runs = runs_of(kWays[way], first);
      const double wall = wall_ns();
      const double cpu = cpu_ns();
      send_round(sockets.sends, kWays[way], runs);
      costs[way].wall = std::min(costs[way].wall, (wall_ns() - wall) / kBlocks);
      costs[way].cpu = std::min(costs[way].cpu, (cpu_ns() - cpu) / kBlocks);
    }
  }
  ::shutdown(sockets.sends, SHUT_RDWR);
  receiver.join();

  std::printf("%zu blocks of %zu bytes by bare sockets; nanoseconds a block\n", kBlocks, kBlockBytes);
  std::printf("%-28s %10s %10s %12s %10s\n", "", "wall", "cpu", "wall beyond", "cpu beyond");
  for (std::size_t way = 0; way < costs.size(); ++way) {
    std::printf("%-28s %10.0f %10.0f %12.0f %10.0f\n", kWays[way].name, costs[way].wall, costs[way].cpu,
                costs[way].wall - costs[0].wall, costs[way].cpu - costs[0].cpu);
  }
  return 0;
}
