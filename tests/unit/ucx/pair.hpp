// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/ucx.hpp"

namespace weft::ucx::testing {

inline Features all_features() {
  return {.tag = true,
          .stream = true,
          .active_messages = true,
          .remote_memory = true,
          .atomics_32 = true,
          .atomics_64 = true};
}

/// A UCX transport that a suite runs over.
struct Way {
  const char* name;
  std::vector<std::string> transports;
  ErrorMode mode;
};

inline std::vector<Way> ways() {
  return {{"tcp", {"tcp"}, ErrorMode::kPeer},
          {"tcp_mode_none", {"tcp"}, ErrorMode::kNone},
          {"posix", {"posix", "cma"}, ErrorMode::kNone},
          {"posix_mode_peer", {"posix", "cma", "tcp"}, ErrorMode::kPeer}};
}

inline std::string way_name(const ::testing::TestParamInfo<Way>& info) {
  return info.param.name;
}

inline void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

/// One context for all tests of a way; UCX says nothing about what the tests leave under way on purpose.
inline std::shared_ptr<Context> make_context(const Way& way) {
  static std::map<std::string, std::shared_ptr<Context>> contexts;
  std::shared_ptr<Context>& context = contexts[way.name];
  if (context == nullptr) {
    auto made = Context::create({.features = all_features(),
                                 .transports = way.transports,
                                 .devices = {"lo"},
                                 .settings = {{"LOG_LEVEL", "fatal"}}});
    context = std::move(made).value();
  }
  return context;
}

/// Two workers of one loop, connected both ways.
class Pair {
 public:
  explicit Pair(const Way& way, const WorkerOptions& options = {})
      : mode(way.mode),
        context(make_context(way)),
        loop(Loop::create({.mode = WaitMode::kBusy}).value()),
        a(Worker::create(*loop, context, options).value()),
        b(Worker::create(*loop, context, options).value()),
        to_b(connect(*a, *b)),
        to_a(connect(*b, *a)) {}

  Endpoint connect(Worker& from, Worker& to) const {
    EndpointOptions options{.error_mode = mode};
    return Endpoint::connect(from, to.address().value(), std::move(options)).value();
  }
  /// Runs `task` to its end.
  template <typename T>
  T run(Task<T> task) {
    return loop->block_on(std::move(task));
  }
  /// Turns until `done()`.
  template <typename Done>
  void until(Done&& done) {
    while (!done()) loop->run_once(Duration::zero());
  }

  ErrorMode mode;
  std::shared_ptr<Context> context;
  std::unique_ptr<Loop> loop;
  std::unique_ptr<Worker> a;
  std::unique_ptr<Worker> b;
  Endpoint to_b;
  Endpoint to_a;
};

inline Memory text(std::string_view words) {
  return Memory::copy_of(as_bytes(words));
}

inline std::string_view text_of(const Memory& memory, std::size_t size) {
  return as_text(memory.first(size).bytes());
}

}  // namespace weft::ucx::testing
