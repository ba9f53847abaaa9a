// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include "weft/detail/bulk/bulk_peer.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::testing {

/// Clients that read parts of a region, so and so often, and others that write all of it meanwhile. Each has
/// to succeed every time. Thread: the clients' loop.
class SharedRegionCourses {
 public:
  /// `rounds`: how often each reader reads.
  SharedRegionCourses(BulkHandle handle, int rounds) : handle_(handle), rounds_(rounds) {}

  void read_by(Client& client, std::size_t bytes) {
    courses_.push_back({.bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, handle_.bytes))});
    ++reading_;
    scope_.spawn(&SharedRegionCourses::read, this, &client, &courses_.back());
  }
  void write_by(Client& client) {
    courses_.push_back({.bytes = static_cast<std::size_t>(handle_.bytes)});
    scope_.spawn(&SharedRegionCourses::write, this, &client, &courses_.back());
  }
  /// Runs them to their ends.
  void run(Loop& loop) {
    loop.block_on(join(scope_));
    for (const Course& each : courses_) {
      EXPECT_TRUE(each.failure.ok()) << each.bytes << " bytes, after " << each.done
                                     << " times: " << each.failure.to_string();
      EXPECT_GT(each.done, 0);
    }
  }

 private:
  /// Counts how often something was done, and keeps the first failure of it.
  struct Course {
    std::size_t bytes = 0;
    int done = 0;
    Status failure{};
  };

  Task<void> read(Client* client, Course* course) {
    BulkPeer peer{*client};
    std::vector<std::byte> into(course->bytes);
    const std::uint64_t step = (handle_.bytes - course->bytes) / static_cast<unsigned>(rounds_);
    for (; course->done < rounds_ && course->failure.ok(); ++course->done) {
      const Result<void> outcome =
          co_await peer.read(handle_, step * static_cast<unsigned>(course->done), into);
      course->failure = outcome.status();
    }
    ended_ = --reading_ == 0;
  }
  Task<void> write(Client* client, Course* course) {
    BulkPeer peer{*client};
    std::vector<std::byte> from(course->bytes);
    while (!ended_ && course->failure.ok()) {
      std::ranges::fill(from, static_cast<std::byte>(++course->done));
      const Result<void> outcome = co_await peer.write(handle_, 0, Bytes{from});
      course->failure = outcome.status();
    }
  }
  static Task<void> join(Scope& scope) { co_await scope.join(); }

  const BulkHandle handle_;
  const int rounds_;
  int reading_ = 0;
  /// All who read have ended, and so the others do.
  bool ended_ = false;
  std::deque<Course> courses_;
  Scope scope_;
};

}  // namespace weft::testing
