// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/files/file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <latch>
#include <string>
#include <vector>

#include "weft/detail/base/descriptor.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/on_worker.hpp"

namespace weft::file_tests {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBytes = (std::size_t{3} << 20) + 517;

/// A byte that tells places apart, also those a block or a part away from each other.
std::byte byte_at(std::size_t place) {
  return static_cast<std::byte>(place * 31 + place / 4096 * 7 + place / (256 * 1024));
}

/// A file of the test's own, which is gone with it.
class Scratch {
 public:
  Scratch() : path_("weft-file-test-XXXXXX"), descriptor_(::mkstemp(path_.data())) {
    std::vector<std::byte> bytes(kBytes);
    for (std::size_t place = 0; place < kBytes; ++place) bytes[place] = byte_at(place);
    EXPECT_EQ(::write(descriptor_.get(), bytes.data(), kBytes), static_cast<ssize_t>(kBytes));
  }
  ~Scratch() { ::unlink(path_.c_str()); }

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_.get(); }
  /// Takes it out of the system's memory. False where that keeps it all the same.
  bool forget() const {
    ::fsync(descriptor_.get());
    ::posix_fadvise(descriptor_.get(), 0, 0, POSIX_FADV_DONTNEED);
    void* const mapped = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, descriptor_.get(), 0);
    std::vector<unsigned char> pages((kBytes + 4095) / 4096);
    ::mincore(mapped, kBytes, pages.data());
    ::munmap(mapped, kBytes);
    return std::ranges::none_of(pages, [](unsigned char page) { return (page & 1) != 0; });
  }

 private:
  std::string path_;
  detail::Descriptor descriptor_;
};

bool has_bytes_from(const Buffer& read, std::size_t offset) {
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read.bytes()[i] != byte_at(offset + i)) return false;
  }
  return true;
}

/// Holds the only thread of a pool up until the test goes on.
struct Gate {
  std::latch entered{1};
  std::latch open{1};
};
Task<void> hold_up(WorkerPool* pool, Gate* gate) {
  const Result<void> held = co_await on_worker(
      *pool,
      [](Gate* its) {
        its->entered.count_down();
        its->open.wait();
      },
      gate);
  EXPECT_TRUE(held.ok());
}

Task<void> note(const File* file, std::size_t bytes, std::vector<Result<Buffer>>* results) {
  Result<Buffer> result = co_await file->read(0, bytes);
  results->push_back(std::move(result));
}

class Files : public ::testing::Test {
 protected:
  File open(const Scratch& scratch) { return File::open(scratch.path(), *pool_).value(); }
  Result<Buffer> read(const File& file, std::uint64_t offset, std::size_t bytes) {
    return loop_->block_on(file.read(offset, bytes));
  }

  std::unique_ptr<Loop> loop_ = Loop::create().value();
  std::unique_ptr<WorkerPool> pool_ =
      WorkerPool::start({.name = "disk", .threads = 1, .queue_max = 1}).value();
};

TEST_F(Files, GiveWhatIsInMemoryAndWhatIsOnTheDisk) {
  const Scratch scratch;
  const File file = open(scratch);
  EXPECT_EQ(file.size(), kBytes);
  for (const bool cached : {true, false}) {
    for (const auto& [offset, bytes] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, 0}, {0, 1}, {kBytes - 1, 1}, {4095, 4098}, {256 * 1024 - 1, 256 * 1024 + 2}, {0, kBytes}}) {
      if (!cached) scratch.forget();
      auto got = read(file, offset, bytes);
      ASSERT_TRUE(got.ok()) << got.status().to_string();
      EXPECT_EQ(got->size(), bytes);
      EXPECT_TRUE(has_bytes_from(*got, offset)) << bytes << " bytes from " << offset;
    }
  }
}

TEST_F(Files, AreReadByTheLoopWhereThatNeedNotWaitAndElseByAThread) {
  const Scratch scratch;
  const File file = open(scratch);
  ASSERT_TRUE(read(file, 0, kBytes).ok());
  const std::uint64_t warm = pool_->stats().ran;
  if (!scratch.forget()) GTEST_SKIP() << "this file system keeps its files in memory";
  ASSERT_TRUE(read(file, 0, kBytes).ok());
  EXPECT_EQ(pool_->stats().ran, warm + 1);
  ASSERT_TRUE(read(file, 0, kBytes).ok());
  // A file system that cannot tell has a thread read all of it.
  EXPECT_EQ(pool_->stats().ran, warm == 0 ? 1 : 2 * warm + 1);
}

TEST_F(Files, FillMemoryOfTheUsersWhichEndsOnce) {
  const Scratch scratch;
  const File file = open(scratch);
  std::vector<std::byte> memory(5000);
  int released = 0;
  const auto lend = [&] {
    return Buffer::adopt(memory, &released, [](void* count) noexcept { ++*static_cast<int*>(count); });
  };
  {
    auto got = loop_->block_on(file.read(100, lend()));
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got->data(), memory.data());
    EXPECT_TRUE(has_bytes_from(*got, 100));
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_FALSE(loop_->block_on(file.read(kBytes - 100, lend())).ok());
  EXPECT_EQ(released, 2) << "a failure ends it";
}

TEST_F(Files, SayWhereTheyEnd) {
  const Scratch scratch;
  const File file = open(scratch);
  const auto behind = read(file, kBytes - 10, 11);
  EXPECT_EQ(behind.status().code(), StatusCode::kOutOfRange);
  EXPECT_THAT(behind.status().to_string(), HasSubstr(std::to_string(kBytes + 1)));
  ASSERT_EQ(::ftruncate(scratch.descriptor(), 1000), 0);
  EXPECT_EQ(read(file, 0, 1001).status().code(), StatusCode::kOutOfRange) << "it was cut meanwhile";
  EXPECT_TRUE(read(file, 0, 1000).ok());
  EXPECT_EQ(read(file, ~std::uint64_t{0} - 5, 1).status().code(), StatusCode::kOutOfRange);
}

TEST_F(Files, AreRegularOnes) {
  EXPECT_EQ(File::open("there-is-no-such-file", *pool_).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(File::open(".", *pool_).status().code(), StatusCode::kFailedPrecondition);
  const std::string pipe = "weft-file-test-pipe-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto opened = File::open(pipe, *pool_);
  ::unlink(pipe.c_str());
  EXPECT_EQ(opened.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(opened.status().to_string(), HasSubstr("no regular file"));
}

TEST_F(Files, AreReadNoFurtherWhenThatIsCancelled) {
  const Scratch scratch;
  const File file = open(scratch);
  Gate gate;
  std::vector<Result<Buffer>> results;
  Scope holding;
  loop_->post([&] { holding.spawn(&hold_up, pool_.get(), &gate); });
  loop_->run_once(Duration::zero());
  gate.entered.wait();
  scratch.forget();
  Scope reading;
  loop_->post([&] { reading.spawn(&note, &file, kBytes, &results); });
  loop_->run_once(Duration::zero());
  reading.cancel(CancelReason::kRequested);
  while (results.empty()) loop_->run_once(Duration::zero());
  EXPECT_EQ(results[0].status().code(), StatusCode::kCancelled);
  gate.open.count_down();
  loop_->block_on(holding.join());
}

TEST_F(Files, KeepTheirMemoryUntilNoThreadWritesToIt) {
  const Scratch scratch;
  for (int round = 0; round < 20; ++round) {
    std::vector<Result<Buffer>> results;
    Scope reading;
    {
      const File file = open(scratch);
      scratch.forget();
      loop_->post([&] { reading.spawn(&note, &file, kBytes, &results); });
      loop_->run_once(Duration::zero());
      reading.drop_all();
    }
    EXPECT_TRUE(results.empty());
  }
}

TEST_F(Files, AreNotReadByAPoolThatIsFull) {
  const Scratch scratch;
  const File file = open(scratch);
  if (!scratch.forget()) GTEST_SKIP() << "this file system keeps its files in memory";
  Gate gate;
  std::vector<Result<Buffer>> results;
  Scope scope;
  loop_->post([&] { scope.spawn(&hold_up, pool_.get(), &gate); });
  loop_->run_once(Duration::zero());
  gate.entered.wait();
  loop_->post([&] {
    for (int i = 0; i < 2; ++i) scope.spawn(&note, &file, kBytes, &results);
  });
  while (results.empty()) loop_->run_once(Duration::zero());
  EXPECT_EQ(results[0].status().code(), StatusCode::kResourceExhausted);
  gate.open.count_down();
  loop_->block_on(scope.join());
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[1].ok());
}

}  // namespace
}  // namespace weft::file_tests
