// SPDX-License-Identifier: Apache-2.0
// Blocks on three replicas: a write counts when two of them have it, a read asks two and takes the newer
// answer, so that any one of them may be gone.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include <weft/fleet/fleet_client.hpp>
#include <weft/weft.hpp>

// begin: replica
struct Block {
  std::uint64_t version = 0;  // zero: never written
  std::string data;
};

/// Blocks of one replica. It belongs to the one loop of its server, and outlives it as a disk does.
class Replica {
 public:
  /// Keeps the newest version, so that a write may come twice, or late.
  std::uint64_t put(std::uint64_t number, Block block) {
    Block& kept = blocks_[number];
    if (block.version > kept.version) kept = std::move(block);
    return kept.version;
  }
  Block get(std::uint64_t number) { return blocks_[number]; }

 private:
  std::map<std::uint64_t, Block> blocks_;
};
// end: replica

constexpr std::size_t kReplicas = 3;
constexpr std::size_t kQuorum = 2;  // any two quorums have a replica in common
const weft::FleetCallOptions kOptions{.call = {.timeout = std::chrono::seconds{10}}};

// begin: client
/// Writes until two replicas have it: one that just came back may not be connected again yet. To write twice
/// does no harm.
weft::Task<bool> write(weft::FleetClient& fleet, std::uint64_t number, Block block) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    auto kept = co_await fleet.call_quorum<&Replica::put>(kQuorum, kOptions, number, block);
    if (kept.ok()) co_return true;
    auto slept = co_await weft::sleep_for(std::chrono::milliseconds{100});
    if (!slept.ok()) co_return false;
  }
  co_return false;
}

weft::Task<std::string> read(weft::FleetClient& fleet, std::uint64_t number) {
  auto blocks = co_await fleet.call_quorum<&Replica::get>(kQuorum, kOptions, number);
  if (!blocks.ok()) co_return "unreadable";
  Block newest;
  for (const weft::FleetReply<Block>& one : *blocks) {
    if (one.reply->version > newest.version) newest = *one.reply;
  }
  co_return newest.data;
}
// end: client

std::unique_ptr<weft::Server> serve(Replica& replica, const std::string& url) {
  auto server = std::make_unique<weft::Server>(weft::ServerOptions{.listen = {url}, .threads = 1});
  server->register_handler<&Replica::put>(&replica);
  server->register_handler<&Replica::get>(&replica);
  server->start().value();
  return server;
}

int main() {
  std::vector<Replica> replicas(kReplicas);
  std::vector<std::unique_ptr<weft::Server>> servers;
  std::vector<std::string> urls;
  weft::FleetOptions options;
  options.name = "static:";
  for (Replica& replica : replicas) {
    servers.push_back(serve(replica, "tcp://127.0.0.1:0"));
    urls.push_back(servers.back()->urls().front());
    options.name += (urls.size() == 1 ? "" : ",") + urls.back();
  }
  auto loop = weft::Loop::create().value();
  weft::FleetClient fleet{*loop, std::move(options)};

  // Each replica is stopped in turn, while blocks are written, and comes back without what it missed.
  bool right = true;
  std::uint64_t version = 0;
  for (std::size_t gone = 0; gone < kReplicas; ++gone) {
    servers[gone].reset();
    for (std::uint64_t number = 0; number < 10; ++number) {
      const std::string data = "block " + std::to_string(number) + " of round " + std::to_string(gone);
      right = loop->block_on(write(fleet, number, Block{++version, data})) && right;
      right = loop->block_on(read(fleet, number)) == data && right;
    }
    servers[gone] = serve(replicas[gone], urls[gone]);
    std::printf("without replica %zu: %s\n", gone, right ? "all written and read" : "wrong");
  }
  std::printf("%s\n", loop->block_on(read(fleet, 7)).c_str());
  return right ? 0 : 1;
}
