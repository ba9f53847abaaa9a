// SPDX-License-Identifier: Apache-2.0
// A storage library whose completions are polled, like SPDK, on each loop of a server, and a slow library
// that blocks, on worker threads.
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <weft/coroutines.hpp>
#include <weft/weft.hpp>

// begin: poller
/// Queue of a device. One thread may use it. It does not notify of completed reads: they must be polled.
class DeviceQueue final : public weft::Poller {
 public:
  weft::Task<std::string> read(int block) {
    weft::Event done;
    reads_.push_back({block, &done});
    auto waited = co_await done.wait();
    if (waited.ok()) co_return "block " + std::to_string(block);
    std::erase_if(reads_, [&done](const Read& read) { return read.done == &done; });  // cancelled
    co_return "";
  }

  std::size_t poll() override {
    std::size_t done = 0;
    for (; !reads_.empty(); ++done) {
      reads_.front().done->set();
      reads_.pop_front();
    }
    return done;
  }
  bool arm() override { return false; }           // it cannot tell by a descriptor,
  int descriptor() const override { return -1; }  // so its loops never sleep

 private:
  struct Read {
    int block;
    weft::Event* done;
  };
  std::deque<Read> reads_;
};

weft::Task<std::string> read_block(int block) {
  auto& queue = weft::loop_state<DeviceQueue>();
  co_return co_await queue.read(block);
}
// end: poller

// begin: on_worker
/// Takes its time, and the thread's.
std::string checksum(const std::string& block) {
  unsigned sum = 0;
  for (const char letter : block) sum = sum * 31 + static_cast<unsigned char>(letter);
  return block + " has the sum " + std::to_string(sum);
}

class Checker {
 public:
  explicit Checker(weft::WorkerPool& pool) : pool_(&pool) {}

  weft::Task<weft::Result<std::string>> check_block(int block) {
    std::string bytes = co_await weft::loop_state<DeviceQueue>().read(block);
    auto checked = co_await weft::on_worker(*pool_, [&bytes] { return checksum(bytes); });
    co_return checked;  // on the loop again
  }

 private:
  weft::WorkerPool* pool_;
};
// end: on_worker

weft::Task<int> ask(weft::Client& client) {
  auto block = co_await client.call<read_block>(7);
  auto checked = co_await client.call<&Checker::check_block>(8);
  if (!block.ok() || !checked.ok()) co_return 1;
  std::printf("%s\n%s\n", block->c_str(), checked->c_str());
  co_return 0;
}

int main() {
  // begin: setup
  auto pool = weft::WorkerPool::start({.name = "checksums", .threads = 2, .queue_max = 1000}).value();
  Checker checker{*pool};
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 2}};
  server.register_handler<read_block>();
  server.register_handler<&Checker::check_block>(&checker);
  server.per_loop<DeviceQueue>([](weft::Loop&) { return DeviceQueue{}; });  // asked from here on
  server.start().value();
  // end: setup

  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(ask(client));
}
