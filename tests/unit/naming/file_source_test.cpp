// SPDX-License-Identifier: Apache-2.0
// A file of servers that is renamed over, cut, filled with garbage and removed.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "naming_support.hpp"
#include "support/heap_count.hpp"

namespace weft {
namespace {

using Urls = std::vector<std::string>;

class FileNames : public ::testing::Test {
 protected:
  FileNames() {
    std::string made = (std::filesystem::temp_directory_path() / "weft_naming_XXXXXX").string();
    folder = ::mkdtemp(made.data());
  }
  ~FileNames() override { std::filesystem::remove_all(folder); }

  std::string path(const char* name = "servers") const { return folder + "/" + name; }
  void write(const std::string& text, const char* name = "servers") const {
    std::ofstream{path(name), std::ios::binary | std::ios::trunc} << text;
  }
  void replace(const std::string& text) const {
    write(text, "new");
    std::filesystem::rename(path("new"), path());
  }
  NameWatch watch() { return watch_name(*loop, "file:" + path(), options).value(); }
  Urls next(const NameWatch& of, std::uint64_t seen) {
    return urls_of(loop->block_on(of.changed(seen)).value());
  }

  std::string folder;
  CountingLogger logger;
  NameOptions options = quick_options(logger);
  std::unique_ptr<Loop> loop = Loop::create().value();
};

TEST_F(FileNames, AreReadAndFollowFilesThatAreRenamedOver) {
  write("tcp://a:1\n");
  NameWatch of = watch();
  EXPECT_EQ(urls_of(of.list()), Urls{"tcp://a:1"});
  replace("tcp://b:1\n");
  EXPECT_EQ(next(of, 1), Urls{"tcp://b:1"});
  write("tcp://c:1\ntcp://b:1\n");
  EXPECT_EQ(next(of, 2), (Urls{"tcp://b:1", "tcp://c:1"}));
}

TEST_F(FileNames, KeepTheLastGoodListWhenTheFileIsBad) {
  write("tcp://a:1\n");
  NameWatch of = watch();
  replace("tcp://b:1\ntcp://c");
  turn_until(*loop, [&] { return of.stats().refused_malformed == 1; });
  replace(std::string(100'000, '\xff'));
  turn_until(*loop, [&] { return of.stats().refused_malformed == 2; });
  write("");
  turn_until(*loop, [&] { return of.stats().refused_empty >= 1; });
  std::filesystem::remove(path());
  turn_until(*loop, [&] { return of.stats().failures >= 1; });
  EXPECT_EQ(of.last_failure().code(), detail::errno_status(Layer::kRuntime, "", ENOENT).code());
  EXPECT_EQ(urls_of(of.list()), Urls{"tcp://a:1"});
  EXPECT_GE(logger.warnings.size(), 3u);
  replace("tcp://d:1\n");
  EXPECT_EQ(next(of, 1), Urls{"tcp://d:1"});
  EXPECT_TRUE(of.last_failure().ok());
}

TEST_F(FileNames, ThatAreTooLongOrNoFilesAreRefused) {
  options.bytes_max = 1000;
  write("tcp://a:1\n");
  NameWatch of = watch();
  replace(std::string(1001, '\n'));
  turn_until(*loop, [&] { return of.stats().refused_huge == 1; });
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::filesystem::rename(path("pipe"), path());
  turn_until(*loop, [&] { return of.stats().failures >= 1; });
  EXPECT_EQ(of.last_failure().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(urls_of(of.list()), Urls{"tcp://a:1"});
}

TEST_F(FileNames, MayBeThereLaterThanTheirWatchAndTheirFolder) {
  std::filesystem::remove_all(folder);
  NameWatch of = watch();
  EXPECT_EQ(of.list()->version, 0u);
  EXPECT_FALSE(of.last_failure().ok());
  std::filesystem::create_directory(folder);
  replace("tcp://a:1\n");
  EXPECT_EQ(next(of, 0), Urls{"tcp://a:1"});
  std::filesystem::remove_all(folder);
  const std::uint64_t failures = of.stats().failures;
  turn_until(*loop, [&] { return of.stats().failures > failures; });
  std::filesystem::create_directory(folder);
  replace("tcp://b:1\n");
  EXPECT_EQ(next(of, 1), Urls{"tcp://b:1"});
}

TEST_F(FileNames, FollowLinksThatAreExchanged) {
  std::filesystem::create_directory(path("one"));
  std::filesystem::create_directory(path("two"));
  write("tcp://a:1\n", "one/servers");
  write("tcp://b:1\n", "two/servers");
  std::filesystem::create_symlink("one", path("data"));
  std::filesystem::create_symlink("data/servers", path());
  NameWatch of = watch();
  EXPECT_EQ(urls_of(of.list()), Urls{"tcp://a:1"});
  std::filesystem::create_symlink("two", path("fresh"));
  std::filesystem::rename(path("fresh"), path("data"));
  EXPECT_EQ(next(of, 1), Urls{"tcp://b:1"});
}

/// Lines of `count` servers, whose URLs are too long to be kept without the heap.
std::string lines_of(int count, const std::string& zone) {
  std::string lines;
  for (int i = count; i-- > 0;) {
    lines += "tcp://replica-" + std::to_string(1'000'000 + i) + ".kv.example.org:9000 zone=" + zone + "\n";
  }
  return lines;
}

/// The loop's thread may allocate this often: for a list that it reads, it would for each server.
constexpr std::size_t kOfALoop = 1000;

TEST_F(FileNames, OfAHundredThousandServersAreReadWhileTheLoopDoesOtherThings) {
  constexpr int kServers = 100'000;
  options.endpoints_max = kServers;
  options.bytes_max = std::size_t{16} << 20;
  write(lines_of(kServers, "a"));
  const std::string next_lines = lines_of(kServers, "b");
  testing::fail_allocation(kOfALoop);
  NameWatch of = watch();
  EXPECT_EQ(of.list()->version, 0u);
  turn_until(*loop, [&] { return of.list()->version == 1; });
  EXPECT_TRUE(testing::allocation_still_to_fail() || !testing::kHeapIsCounted);
  testing::fail_allocation(0);
  EXPECT_EQ(of.list()->endpoints.size(), std::size_t{kServers});
  replace(next_lines);
  testing::fail_allocation(kOfALoop);
  turn_until(*loop, [&] { return of.list()->version == 2; });
  EXPECT_TRUE(testing::allocation_still_to_fail() || !testing::kHeapIsCounted);
  testing::fail_allocation(0);
  EXPECT_EQ(of.list()->endpoints.back().zone, "b");
  EXPECT_TRUE(std::is_sorted(of.list()->endpoints.begin(), of.list()->endpoints.end()));
  EXPECT_TRUE(of.last_failure().ok());
  replace(next_lines);
  turn_until(*loop, [&] { return of.stats().answers == 3; });
  EXPECT_EQ(of.list()->version, 2u) << "the same list is no change";
}

TEST_F(FileNames, OfTooManyServersThatFlapKeepTheLastGoodList) {
  write("tcp://a:1\n");
  NameWatch of = watch();
  replace(lines_of(20'000, "a"));
  turn_until(*loop, [&] { return of.stats().refused_huge == 1; });
  replace(lines_of(5'000, "a") + std::string(200, '\xff') + "\n");
  turn_until(*loop, [&] { return of.stats().refused_malformed == 1; });
  replace(std::string(100'000, '\n'));
  turn_until(*loop, [&] { return of.stats().refused_empty == 1; });
  EXPECT_EQ(urls_of(of.list()), Urls{"tcp://a:1"});
  // The first of them are still being read when the last is there.
  for (int i = 0; i < 20; ++i) {
    replace(lines_of(5'000, std::to_string(i)));
    loop->run_once(Duration::zero());
  }
  turn_until(*loop, [&] { return of.list()->endpoints.front().zone == "19"; });
  EXPECT_EQ(of.list()->endpoints.size(), 5'000u);
  EXPECT_EQ(of.stats().failures, 0u);
}

TEST_F(FileNames, MayEndWhileALongFileIsRead) {
  options.endpoints_max = 50'000;
  write(lines_of(50'000, "a"));
  {
    NameWatch of = watch();
    loop->run_once(Duration::zero());
    loop->run_once(Duration::zero());
    EXPECT_EQ(of.list()->version, 0u);
  }
  loop->run_until_idle();
}

}  // namespace
}  // namespace weft
