// SPDX-License-Identifier: Apache-2.0
// Blocks on three replicas. A write succeeds when two replicas have it, and a read asks two and takes the
// newer answer, so that one replica may fail. Each replica is a process. The example kills each process and
// restarts it with its file.
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>
#include <weft/fleet.hpp>
#include <weft/weft.hpp>

// begin: replica
struct Block {
  std::uint64_t version = 0;  // zero: never written
  std::string data;
};

/// Blocks of one replica, and the file that keeps them when its process dies: one record behind the other.
/// It belongs to the one loop of its server.
class Replica {
 public:
  explicit Replica(std::string file) : file_(std::move(file)) { load(); }

  /// Keeps the newest version, so that a write may come twice, or late.
  std::uint64_t put(std::uint64_t number, Block block) {
    Block& kept = blocks_[number];
    if (block.version > kept.version) {
      kept = std::move(block);
      std::ofstream file{file_, std::ios::app};
      file << number << ' ' << kept.version << ' ' << kept.data.size() << ' ' << kept.data << '\n';
    }
    return kept.version;
  }
  Block get(std::uint64_t number) { return blocks_[number]; }

 private:
  /// Reads the complete records and cuts off the rest. The process died while it wrote an incomplete record,
  /// so it had not confirmed that write.
  void load() {
    std::uint64_t number = 0;
    std::size_t size = 0;
    Block block;
    std::ifstream file{file_};
    std::streamoff whole = 0;
    while (file >> number >> block.version >> size && file.get() == ' ') {
      block.data.resize(size);
      if (!file.read(block.data.data(), static_cast<std::streamsize>(size)) || file.get() != '\n') break;
      blocks_[number] = block;
      whole = file.tellg();
    }
    if (std::filesystem::exists(file_))
      std::filesystem::resize_file(file_, static_cast<std::uintmax_t>(whole));
  }

  const std::string file_;
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
  for (const weft::FleetAnswer<Block>& one : *blocks) {
    if (one.outcome->version > newest.version) newest = *one.outcome;
  }
  co_return newest.data;
}
// end: client

/// The program of a replica's process, which says where it listens.
int serve(const char* url, const char* file) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it ends with the one who started it
  Replica replica{file};
  weft::Server server{{.listen = {url}, .threads = 1}};
  server.register_handler<&Replica::put>(&replica);
  server.register_handler<&Replica::get>(&replica);
  if (!server.start().ok()) return 1;
  std::printf("%s\n", server.urls().front().c_str());
  std::fflush(stdout);
  server.wait();
  return 0;
}

/// A replica's process.
class Process {
 public:
  explicit Process(std::string file) : file_(std::move(file)) { start(); }
  ~Process() { kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const std::string& url() const { return url_; }
  /// Starts this program again, as a replica, where it was before. Blocks until it listens.
  void start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string program = "/proc/self/exe";
    char* arguments[] = {program.data(), url_.data(), file_.data(), nullptr};
    if (::posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments, environ) != 0) process_ = 0;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::string said;
    for (char byte = 0; ::read(ends[0], &byte, 1) == 1 && byte != '\n';) said += byte;
    ::close(ends[0]);
    url_ = said;
  }
  void kill() {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  std::string file_;
  std::string url_ = "tcp://127.0.0.1:0";
  pid_t process_ = 0;
};

int main(int argc, char** argv) {
  if (argc == 3) return serve(argv[1], argv[2]);
  const auto folder =
      std::filesystem::temp_directory_path() / ("replicated_blocks_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  std::deque<Process> replicas;
  weft::FleetOptions options;
  options.name = "static:";
  for (std::size_t i = 0; i < kReplicas; ++i) {
    replicas.emplace_back((folder / std::to_string(i)).string());
    options.name += (i == 0 ? "" : ",") + replicas.back().url();
  }
  auto loop = weft::Loop::create().value();
  weft::FleetClient fleet{*loop, std::move(options)};

  // Kills each replica in turn, writes blocks meanwhile, and restarts it without these blocks.
  bool right = true;
  std::uint64_t version = 0;
  for (std::size_t gone = 0; gone < kReplicas; ++gone) {
    for (std::uint64_t number = 0; number < 10; ++number) {
      if (number == 2) replicas[gone].kill();
      const std::string data = "block " + std::to_string(number) + " of round " + std::to_string(gone);
      right = loop->block_on(write(fleet, number, Block{++version, data})) && right;
      right = loop->block_on(read(fleet, number)) == data && right;
    }
    replicas[gone].start();
    std::printf("without replica %zu: %s\n", gone, right ? "all written and read" : "wrong");
  }
  std::printf("%s\n", loop->block_on(read(fleet, 7)).c_str());
  replicas.clear();
  std::filesystem::remove_all(folder);
  return right ? 0 : 1;
}
