// SPDX-License-Identifier: Apache-2.0
// Says how fast a file goes over tcp, from the system's memory and from the disk: by bare sockets, with
// sendfile and with a read into memory before each send, and by a stream whose items have what File read as
// attachments; and the same stream out of memory. Median of several rounds, one after the other in each.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

#include "bare/sockets.hpp"

namespace {

using weft::bare::fail;
using weft::bare::Sockets;

constexpr std::size_t kItemBytes = std::size_t{1} << 20;
constexpr std::size_t kItems = 256;
constexpr std::size_t kFileBytes = kItems * kItemBytes;
constexpr std::size_t kRounds = 5;

/// The file, which is gone from its folder at once.
class TestFile {
 public:
  TestFile() {
    std::string path = "weft-sent-files-XXXXXX";
    descriptor_ = ::mkstemp(path.data());
    if (descriptor_ < 0) fail("mkstemp in this folder");
    const std::vector<std::byte> block(kItemBytes, std::byte{7});
    for (std::size_t i = 0; i < kItems; ++i) {
      if (::write(descriptor_, block.data(), block.size()) != static_cast<ssize_t>(block.size()))
        fail("write");
    }
    if (::fsync(descriptor_) != 0) fail("fsync");
    pool_ = weft::WorkerPool::start({.name = "disk", .threads = 1}).value();
    file_ = weft::File::open(path, *pool_).value();
    ::unlink(path.c_str());
  }
  ~TestFile() { ::close(descriptor_); }

  int descriptor() const { return descriptor_; }
  const weft::File& file() const { return *file_; }
  void forget() const { ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); }

 private:
  int descriptor_ = -1;
  std::unique_ptr<weft::WorkerPool> pool_;
  std::optional<weft::File> file_;
};

const TestFile& test_file() {
  static const TestFile file;
  return file;
}

void send_by_sendfile(int socket) {
  off_t at = 0;
  while (at < static_cast<off_t>(kFileBytes)) {
    if (::sendfile(socket, test_file().descriptor(), &at, kItemBytes) <= 0) fail("sendfile");
  }
}

void send_by_read(int socket) {
  std::vector<std::byte> block(kItemBytes);
  for (std::size_t at = 0; at < kFileBytes; at += block.size()) {
    if (::pread(test_file().descriptor(), block.data(), block.size(), static_cast<off_t>(at)) < 0)
      fail("pread");
    for (std::size_t sent = 0; sent < block.size();) {
      const ssize_t part = ::send(socket, block.data() + sent, block.size() - sent, 0);
      if (part <= 0) fail("send");
      sent += static_cast<std::size_t>(part);
    }
  }
}

void measure_bare(const Sockets& sockets, void (*send)(int)) {
  std::jthread sender{send, sockets.sends};
  std::vector<std::byte> block(kItemBytes);
  for (std::size_t received = 0; received < kFileBytes;) {
    const ssize_t part = ::recv(sockets.receives, block.data(), block.size(), 0);
    if (part <= 0) fail("recv");
    received += static_cast<std::size_t>(part);
  }
}

weft::Stream<std::uint64_t> from_file() {
  for (std::uint64_t item = 0; item < kItems; ++item) {
    weft::Result<weft::Buffer> block = co_await test_file().file().read(item * kItemBytes, kItemBytes);
    if (!block.ok()) throw block.status();
    co_yield weft::with_attachment(item, *std::move(block));
  }
}

weft::Stream<std::uint64_t> from_memory() {
  static std::vector<std::byte> block(kItemBytes);
  for (std::uint64_t item = 0; item < kItems; ++item) {
    weft::Buffer lent = weft::Buffer::adopt(block, nullptr, [](void*) noexcept {});
    co_yield weft::with_attachment(item, std::move(lent));
  }
}

template <auto M>
weft::Task<bool> receive_all(weft::Client& client) {
  auto items = client.open<M>();
  std::size_t received = 0;
  while (auto item = co_await items.next()) received += items.attachment().size();
  co_return received == kFileBytes&& items.status().ok();
}

template <typename Work>
double bytes_per_ns(bool cached, Work work) {
  if (!cached) test_file().forget();
  const auto began = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
  return static_cast<double>(kFileBytes) / took.count();
}

double median(std::array<double, kRounds> values) {
  std::ranges::sort(values);
  return values[kRounds / 2];
}

}  // namespace

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<from_file, from_memory>();
  server.start().value();
  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  const Sockets sockets;
  const auto by_stream = [&](auto task) {
    if (!loop->block_on(std::move(task))) fail("a stream did not end as it should");
  };

  std::printf("GB/s, a file of %zu MiB, in items of 1 MiB\n%10s %10s %14s %12s %14s\n", kFileBytes >> 20, "",
              "sendfile", "read and send", "File", "out of memory");
  for (const bool cached : {true, false}) {
    std::array<std::array<double, kRounds>, 4> rates{};
    for (std::size_t round = 0; round < kRounds; ++round) {
      rates[0][round] = bytes_per_ns(cached, [&] { measure_bare(sockets, &send_by_sendfile); });
      rates[1][round] = bytes_per_ns(cached, [&] { measure_bare(sockets, &send_by_read); });
      rates[2][round] = bytes_per_ns(cached, [&] { by_stream(receive_all<from_file>(client)); });
      rates[3][round] = bytes_per_ns(cached, [&] { by_stream(receive_all<from_memory>(client)); });
    }
    std::printf("%10s %10.2f %14.2f %12.2f %14.2f\n", cached ? "cached" : "from disk", median(rates[0]),
                median(rates[1]), median(rates[2]), median(rates[3]));
  }
  return 0;
}
