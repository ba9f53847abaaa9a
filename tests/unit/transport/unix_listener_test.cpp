// SPDX-License-Identifier: Apache-2.0
// Paths of Unix sockets: servers that end, begin, and take over from each other there.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "weft/detail/base/descriptor.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/tcp.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using ::testing::HasSubstr;

/// A folder of sockets that ends with this.
class UnixListeners : public ::testing::Test {
 protected:
  /// A listener, and the number of peers that came to it.
  struct Place {
    std::unique_ptr<Listener> listener;
    int came = 0;
  };

  UnixListeners() {
    char name[] = "/tmp/weft-unix-XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/socket";
  }
  ~UnixListeners() override { std::filesystem::remove_all(folder_); }

  Result<std::unique_ptr<Listener>> try_listen(bool take_over = false) {
    return make_tcp_transport({.take_over = take_over})->listen(*loop_, Url{"unix", path_, 0});
  }
  std::unique_ptr<Place> listen(bool take_over = false) {
    auto place = std::make_unique<Place>();
    auto listener = try_listen(take_over);
    EXPECT_TRUE(listener.ok()) << listener.status().to_string();
    if (!listener.ok()) return place;
    place->listener = *std::move(listener);
    place->listener->start([at = place.get()](std::unique_ptr<Incoming>) { ++at->came; });
    return place;
  }
  sockaddr_un address() const {
    sockaddr_un native{};
    native.sun_family = AF_UNIX;
    path_.copy(native.sun_path, sizeof native.sun_path - 1);
    return native;
  }
  /// Returns 0, or the errno of connecting to the path.
  int connect() const {
    const Descriptor fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const sockaddr_un native = address();
    return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&native), sizeof native) == 0 ? 0 : errno;
  }
  bool reaches(Place& place) {
    loop_->run_until_idle();  // a listener that begins has looked whether another one lives
    const int before = place.came;
    if (connect() != 0) return false;
    loop_->run_until_idle();
    return place.came == before + 1;
  }
  /// Leaves a socket file as a process that was killed does.
  void leave_stale(const sockaddr_un& native) const {
    const Descriptor fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&native), sizeof native), 0);
    ASSERT_EQ(::listen(fd.get(), 1), 0);
  }
  bool is_empty() const { return std::filesystem::is_empty(folder_); }

  std::string folder_;
  std::string path_;
  std::unique_ptr<Loop> loop_ = Loop::create().value();
};

// Whoever may read the folder may hold its lock for good.
TEST_F(UnixListeners, DoNotWaitLongForALockThatAnotherProcessKeeps) {
  const Descriptor kept{::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  ASSERT_EQ(::flock(kept.get(), LOCK_EX), 0);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    auto place = listen();
    EXPECT_TRUE(reaches(*place));
    place.reset();
    EXPECT_FALSE(std::filesystem::exists(path_));
  }
  // A fifth of a second for each beginning and end would make eight.
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds{4});
}

TEST_F(UnixListeners, RemoveTheirFileAtTheEnd) {
  auto one = listen();
  EXPECT_TRUE(reaches(*one));
  one.reset();
  EXPECT_TRUE(is_empty());
}

TEST_F(UnixListeners, LeaveTheFileOfAnotherServerThatTookThePath) {
  auto before = listen();
  std::filesystem::remove(path_);
  auto after = listen();
  before.reset();
  EXPECT_TRUE(reaches(*after));
  after.reset();
  EXPECT_TRUE(is_empty());
}

TEST_F(UnixListeners, LeaveAFileThatIsNoSocket) {
  auto one = listen();
  std::filesystem::remove(path_);
  std::ofstream{path_} << "text";
  one.reset();
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
}

TEST_F(UnixListeners, TakeAPathOverInOneStep) {
  auto before = listen();
  EXPECT_TRUE(reaches(*before));
  auto after = listen(true);
  EXPECT_EQ(after->listener->local_url().to_string(), "unix://" + path_);
  EXPECT_TRUE(reaches(*after));
  before.reset();
  EXPECT_TRUE(reaches(*after));
  auto third = listen(true);
  after.reset();
  EXPECT_TRUE(reaches(*third));
  third.reset();
  EXPECT_TRUE(is_empty());
}

TEST_F(UnixListeners, ConnectingNeverFailsWhileServersTakeOver) {
  auto one = listen();
  std::atomic<bool> ends = false;
  std::atomic<int> failures = 0;
  std::thread peer{[&] {
    while (!ends) failures += connect() != 0 && errno != EAGAIN ? 1 : 0;
  }};
  for (int i = 0; i < 100; ++i) {
    auto next = listen(true);
    one = std::move(next);
    loop_->run_until_idle();
  }
  ends = true;
  peer.join();
  // A listener that ends resets the peers in its queue, and refuses none: the path leads to its successor
  // then.
  EXPECT_EQ(failures, 0);
}

TEST_F(UnixListeners, DoNotTakeAPathOverUnasked) {
  auto before = listen();
  const auto second = try_listen();
  EXPECT_EQ(second.status().native(), EADDRINUSE);
  EXPECT_THAT(second.status().message(), HasSubstr("TcpOptions::take_over"));
  EXPECT_TRUE(reaches(*before));
}

TEST_F(UnixListeners, ReplaceTheFileOfAKilledServer) {
  for (const bool take_over : {false, true}) {
    leave_stale(address());
    auto one = listen(take_over);
    EXPECT_TRUE(reaches(*one));
  }
  sockaddr_un beside = address();
  (path_ + ".new").copy(beside.sun_path, sizeof beside.sun_path - 1);
  leave_stale(beside);
  auto one = listen();
  auto next = listen(true);
  EXPECT_TRUE(reaches(*next));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

TEST_F(UnixListeners, NeverRemoveARegularFileOrALink) {
  for (const bool take_over : {false, true}) {
    std::ofstream{path_} << "text";
    const auto listener = try_listen(take_over);
    EXPECT_EQ(listener.status().native(), EADDRINUSE);
    EXPECT_THAT(listener.status().message(), HasSubstr("something that is no socket"));
    EXPECT_EQ(std::filesystem::file_size(path_), 4u);
  }
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("/nowhere", path_);
  EXPECT_EQ(try_listen(true).status().native(), EADDRINUSE);
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
}

TEST_F(UnixListeners, OfManyThatBeginAtOnceOneListens) {
  constexpr int kStarters = 6;
  for (int round = 0; round < 20; ++round) {
    leave_stale(address());
    std::latch all{kStarters};
    std::latch done{kStarters};
    std::atomic<int> listening = 0;
    std::atomic<int> in_use = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kStarters; ++i) {
      threads.emplace_back([&] {
        const auto loop = Loop::create().value();
        all.arrive_and_wait();
        const auto made = make_tcp_transport()->listen(*loop, Url{"unix", path_, 0});
        listening += made.ok() ? 1 : 0;
        in_use += made.status().native() == EADDRINUSE ? 1 : 0;
        if (made.ok()) {
          EXPECT_EQ(connect(), 0);
        }
        done.arrive_and_wait();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(listening, 1);
    EXPECT_EQ(in_use, kStarters - 1);
    EXPECT_TRUE(is_empty());
  }
}

TEST_F(UnixListeners, HaveUrlsOfAnyPath) {
  for (const char* name : {"a b", "100%25", "q?x=1#y", "[::1]:9", "\xC3\xA4", "@x"}) {
    path_ = folder_ + "/" + name;
    auto one = listen();
    const Url url = Url::parse(one->listener->local_url().to_string()).value();
    EXPECT_EQ(url, (Url{"unix", path_, 0}));
    EXPECT_TRUE(loop_->block_on(make_tcp_transport()->connect(*loop_, url, {})).ok()) << name;
  }
  EXPECT_TRUE(is_empty());
  EXPECT_THAT(Url::parse("unix://@abstract").status().message(), HasSubstr("the path is not absolute"));
}

TEST_F(UnixListeners, SayThatAPathIsTooLong) {
  path_ = folder_ + "/" + std::string(120, 'x');
  EXPECT_EQ(try_listen().status().code(), StatusCode::kInvalidArgument);
  path_ = folder_ + "/" + std::string(107 - folder_.size() - 1, 'x');
  auto one = listen();
  EXPECT_TRUE(reaches(*one));
  EXPECT_EQ(try_listen(true).status().code(), StatusCode::kInvalidArgument) << "PATH.new is too long";
  EXPECT_TRUE(reaches(*one));
}

}  // namespace
}  // namespace weft
