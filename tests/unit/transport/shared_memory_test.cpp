// SPDX-License-Identifier: Apache-2.0
// The memory, the doorbells and the rings of shared memory, and what a peer may do to each of them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "support/pattern.hpp"
#include "transport/shared_memory/doorbell.hpp"
#include "transport/shared_memory/mapped_memory.hpp"
#include "transport/shared_memory/peer_bell.hpp"
#include "transport/shared_memory/ring_reader.hpp"
#include "transport/shared_memory/ring_writer.hpp"
#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::shared_memory {
namespace {

constexpr std::size_t kRing = 4096;

/// Memory as a peer could make it, which lacks something.
struct Offered {
  std::size_t bytes = kWordsBytes + kRing;
  unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  bool with_pages = true;
};

Descriptor make(const Offered& offered) {
  Descriptor file{::memfd_create("weft-test", offered.flags)};
  EXPECT_TRUE(file);
  const auto bytes = static_cast<off_t>(offered.bytes);
  EXPECT_EQ(offered.with_pages ? ::fallocate(file.get(), 0, 0, bytes) : ::ftruncate(file.get(), bytes), 0);
  if (offered.seals != 0) {
    EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, offered.seals), 0);
  }
  return file;
}

void expect_refused(const Descriptor& file, const char* why) {
  const auto mapped = map_peer_memory(file, kRing);
  ASSERT_FALSE(mapped.ok()) << why;
  EXPECT_EQ(mapped.status().code(), StatusCode::kInvalidArgument) << why;
}

TEST(SharedMemory, IsMappedByThePeerAndShowsWhatIsWritten) {
  const OwnMemory own = make_own_memory(kRing).value();
  const MappedMemory peer = map_peer_memory(own.descriptor, kRing).value();
  own.memory.ring()[7] = std::byte{42};
  EXPECT_EQ(peer.ring()[7], std::byte{42});
  EXPECT_EQ(peer.ring().size(), kRing);
}

TEST(SharedMemory, KeepsItsSizeAndPagesWhateverThePeerDoes) {
  const OwnMemory own = make_own_memory(kRing).value();
  own.memory.ring()[0] = std::byte{42};
  const int fd = own.descriptor.get();
  EXPECT_NE(::ftruncate(fd, 0), 0);
  EXPECT_NE(::ftruncate(fd, 1 << 20), 0);
  EXPECT_NE(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kWordsBytes + kRing), 0);
  EXPECT_LT(::pwrite(fd, "x", 1, kWordsBytes), 0);
  EXPECT_EQ(::mmap(nullptr, kRing, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  void* const seen = ::mmap(nullptr, kRing, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(seen, MAP_FAILED);
  EXPECT_NE(::mprotect(seen, kRing, PROT_READ | PROT_WRITE), 0);
  EXPECT_NE(::madvise(seen, kRing, MADV_REMOVE), 0);
  ::munmap(seen, kRing);
  EXPECT_NE(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_EQ(own.memory.ring()[0], std::byte{42});
}

TEST(SharedMemory, OfAPeerIsRefusedWhereAnAccessCouldFail) {
  expect_refused(make({.seals = 0}), "no seal");
  for (const int missing : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE, F_SEAL_SEAL}) {
    expect_refused(make({.seals = Offered{}.seals & ~missing}), "a seal is missing");
  }
  expect_refused(make({.bytes = kWordsBytes + kRing / 2}), "too small");
  expect_refused(make({.bytes = kWordsBytes + kRing * 2}), "too large");
  expect_refused(make({.with_pages = false}), "pages that the system may not have");
  expect_refused(Descriptor{::open("/dev/zero", O_RDONLY | O_CLOEXEC)}, "a device");
  expect_refused(Descriptor{::eventfd(0, EFD_CLOEXEC)}, "no file");
  expect_refused(Descriptor{}, "nothing");
  EXPECT_TRUE(map_peer_memory(make({}), kRing).ok());
}

/// Runs `work` in a child, where it may set limits. Returns its exit status; -1 for a signal.
template <typename Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int code_without(int resource, rlim_t limit) {
  // The sanitizer's first check of this object needs a descriptor.
  static_cast<void>(std::generic_category().message(EMFILE));
  const rlimit low{limit, limit};
  if (::setrlimit(resource, &low) != 0) return 99;
  const auto memory = make_own_memory(kRing);
  return memory.ok() ? 0 : static_cast<int>(memory.status().code());
}

TEST(SharedMemory, IsRefusedWithAReasonWhereALimitForbidsIt) {
  const int exhausted = static_cast<int>(StatusCode::kResourceExhausted);
  EXPECT_EQ(in_child([] { return code_without(RLIMIT_NOFILE, 0); }), exhausted);
  EXPECT_EQ(in_child([] { return code_without(RLIMIT_FSIZE, 4096); }), exhausted) << "SIGXFSZ kills";
  EXPECT_EQ(in_child([] { return code_without(RLIMIT_FSIZE, 1 << 20); }), 0);
}

class Rung final : public FdWatch {
 public:
  void on_ready(Readiness) override { ++times; }
  int times = 0;
};

class Doorbells : public ::testing::Test {
 protected:
  ~Doorbells() override { loop_->unwatch(rung_); }
  void watch() {
    ASSERT_TRUE(loop_->watch(rung_, doorbell_.get()).ok());
    loop_->run_until_idle();
    rung_.times = 0;
  }
  bool is_heard() {
    loop_->run_until_idle();
    return std::exchange(rung_.times, 0) > 0;
  }
  std::unique_ptr<Loop> loop_ = Loop::create().value();
  Descriptor doorbell_ = make_doorbell().value();
  Rung rung_;
};

TEST_F(Doorbells, AreHeardEachTimeByEpollAndByIoUring) {
  for (const PollerKind poller : {PollerKind::kEpoll, PollerKind::kIoUring}) {
    loop_->unwatch(rung_);
    loop_ = Loop::create({.poller = poller}).value();
    watch();
    EXPECT_FALSE(is_heard());
    for (int i = 0; i < 1000; ++i) {
      ring(doorbell_);
      ASSERT_TRUE(is_heard()) << i << " by " << to_string(loop_->poller_kind());
    }
  }
}

// Each of these makes a write of an eventfd wait without end.
TEST_F(Doorbells, NeverMakeTheRingingSideWait) {
  watch();
  ASSERT_EQ(::fcntl(doorbell_.get(), F_SETFL, 0), 0);
  ring(doorbell_);
  EXPECT_TRUE(is_heard()) << "without O_NONBLOCK";
  const std::uint64_t rest = ~std::uint64_t{0} - 1 - ((std::uint64_t{1} << 62) - 1);
  ASSERT_EQ(::write(doorbell_.get(), &rest, sizeof rest), static_cast<ssize_t>(sizeof rest));
  ring(doorbell_);  // its count was full
  Descriptor empty{::eventfd(0, EFD_CLOEXEC)};
  ring(empty);
  ring(Descriptor{});
}

TEST_F(Doorbells, OfAPeerAreEventfds) {
  EXPECT_TRUE(check_doorbell(doorbell_).ok());
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor reads{ends[0]};
  const Descriptor writes{ends[1]};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Descriptor socket{ends[0]};
  const Descriptor other{ends[1]};
  const Descriptor file{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  for (const Descriptor* none : {&reads, &writes, &socket, &file}) {
    EXPECT_EQ(check_doorbell(*none).code(), StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(check_doorbell(Descriptor{}).ok());
}

/// Both sides of two rings, in one process. Each side's words are at one address for both, so that the thread
/// sanitizer sees what orders the accesses.
class Rings : public ::testing::Test {
 protected:
  struct SideOf {
    SideOf(const OwnMemory& own, const OwnMemory& peer, const Descriptor& peer_doorbell)
        : bell(*reinterpret_cast<const SideWords*>(peer.memory.words()), peer_doorbell),
          writer(own.memory, peer.memory, bell),
          reader(own.memory, peer.memory, bell) {}
    PeerBell bell;
    RingWriter writer;
    RingReader reader;
  };
  static OwnMemory memory() {
    OwnMemory made = make_own_memory(kRing).value();
    new (made.memory.words()) SideWords;
    return made;
  }
  std::size_t write(SideOf& side, Bytes bytes) {
    const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    return side.writer.write({&piece, 1});
  }
  std::size_t read(SideOf& side, MutableBytes into) {
    const iovec place{into.data(), into.size()};
    return side.reader.read({&place, 1});
  }
  SideWords& words(const OwnMemory& of) { return *reinterpret_cast<SideWords*>(of.memory.words()); }

  const OwnMemory ours_ = memory();
  const OwnMemory theirs_ = memory();
  const Descriptor doorbell_ = make_doorbell().value();
  SideOf here_{ours_, theirs_, doorbell_};
  SideOf there_{theirs_, ours_, doorbell_};
};

TEST_F(Rings, CarryBytesInOrderAcrossTheEndOfTheRing) {
  const std::vector<std::byte> sent = testing::pattern(100 * kRing);
  std::vector<std::byte> arrived(sent.size());
  std::mt19937 random{1};
  std::size_t written = 0;
  std::size_t taken = 0;
  while (taken < sent.size()) {
    const std::size_t part = std::min<std::size_t>(random() % (2 * kRing), sent.size() - written);
    written += write(here_, Bytes{sent}.subspan(written, part));
    const std::size_t room = std::min<std::size_t>(random() % (2 * kRing), sent.size() - taken);
    taken += read(there_, MutableBytes{arrived}.subspan(taken, room));
    ASSERT_LE(taken, written);
    ASSERT_LE(written - taken, kRing);
  }
  EXPECT_TRUE(arrived == sent);
  EXPECT_FALSE(there_.reader.has_ended());
  here_.writer.end();
  EXPECT_TRUE(there_.reader.has_news());
  EXPECT_TRUE(there_.reader.has_ended());
}

TEST_F(Rings, SkipBytesWithoutACopy) {
  const std::vector<std::byte> sent = testing::pattern(300);
  ASSERT_EQ(write(here_, sent), 300u);
  EXPECT_EQ(there_.reader.skip(100), 100u);
  std::vector<std::byte> arrived(300);
  EXPECT_EQ(read(there_, arrived), 200u);
  EXPECT_TRUE(testing::same_bytes(Bytes{arrived}.first(200), Bytes{sent}.subspan(100)));
  EXPECT_EQ(there_.reader.skip(100), 0u);
}

TEST_F(Rings, CarryBytesBetweenThreads) {
  const std::vector<std::byte> sent = testing::pattern(50 * kRing);
  std::thread writer{[&] {
    for (std::size_t at = 0; at < sent.size();) {
      at += write(here_, Bytes{sent}.subspan(at, std::min<std::size_t>(sent.size() - at, 777)));
    }
    here_.writer.end();
  }};
  std::vector<std::byte> arrived(sent.size() + 1);
  std::size_t taken = 0;
  while (!there_.reader.has_ended() && !there_.reader.peer_lies()) {
    taken += read(there_,
                  MutableBytes{arrived}.subspan(taken, std::min<std::size_t>(arrived.size() - taken, 500)));
  }
  writer.join();
  ASSERT_EQ(taken, sent.size());
  arrived.resize(taken);
  EXPECT_TRUE(arrived == sent);
}

TEST_F(Rings, FindAPeerThatSaysItWroteMoreThanItsRingHolds) {
  for (const std::uint64_t lie : {std::uint64_t{kRing + 1}, kCountMask, kUp | std::uint64_t{kRing + 1}}) {
    SideOf reader{ours_, theirs_, doorbell_};
    words(theirs_).written.store(lie);
    std::array<std::byte, 100> into{};
    EXPECT_EQ(read(reader, into), 0u);
    EXPECT_EQ(reader.reader.skip(100), 0u);
    EXPECT_TRUE(reader.reader.peer_lies()) << lie;
  }
}

TEST_F(Rings, FindAPeerThatGoesBack) {
  words(theirs_).written.store(100);
  std::array<std::byte, 100> into{};
  EXPECT_EQ(read(here_, into), 100u);
  words(theirs_).written.store(99);
  EXPECT_EQ(read(here_, into), 0u);
  EXPECT_TRUE(here_.reader.peer_lies());
}

TEST_F(Rings, FindAPeerThatSaysItReadWhatWasNotWritten) {
  const std::vector<std::byte> sent = testing::pattern(kRing);
  ASSERT_EQ(write(here_, sent), kRing);
  words(theirs_).read.store(kRing + 1);
  EXPECT_EQ(write(here_, sent), 0u);
  EXPECT_TRUE(here_.writer.peer_lies());
}

// Whatever stands in the words of a peer, reads and writes stay within the rings. The address sanitizer and
// the guard pages behind the mappings see it.
TEST_F(Rings, StayWithinTheirMemoryWhateverThePeerWritesMeanwhile) {
  std::atomic<bool> over{false};
  std::thread peer{[&] {
    std::mt19937_64 random{7};
    while (!over.load()) {
      SideWords& lies = words(theirs_);
      lies.written.store(random() % (4 * kRing));
      lies.read.store(random() % (4 * kRing));
      lies.sleep.store(random() % 4);
      if (random() % 8 == 0) lies.written.store(random());
      if (random() % 8 == 0) lies.read.store(random());
    }
  }};
  const std::vector<std::byte> sent = testing::pattern(3 * kRing);
  std::vector<std::byte> into(3 * kRing);
  std::size_t moved = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::optional<SideOf> side;
    side.emplace(ours_, theirs_, doorbell_);
    for (int step = 0; step < 4; ++step) {
      const std::size_t out = write(*side, sent);
      const std::size_t in = read(*side, into);
      ASSERT_LE(in, kRing);
      moved += out + in;
    }
  }
  over.store(true);
  peer.join();
  EXPECT_GT(moved, 0u);
}

}  // namespace
}  // namespace weft::detail::shared_memory
