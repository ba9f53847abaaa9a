// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "load/cpu.hpp"
#include "load/histogram.hpp"

/// Options and results of both programs: the same for both, so that they can be compared.
namespace weft::bench {

/// Text of which a message is 128 bytes on the wire.
inline std::string text_of_message() {
  return std::string(126, 'x');
}

/// `server ADDRESS KIND` or `client ADDRESS KIND DEPTH CONNECTIONS SECONDS`. Each of the connections has an
/// equal share of the calls in flight.
struct Plan {
  bool serves = false;
  std::string address;
  std::string kind;
  unsigned depth = 1;
  unsigned connections = 1;
  double seconds = 1;

  static Plan parse(int argc, char** argv) {
    Plan plan;
    const bool client = argc == 7 && std::string_view{argv[1]} == "client";
    plan.serves = argc == 4 && std::string_view{argv[1]} == "server";
    if (!plan.serves && !client) {
      std::fprintf(stderr, "%s server ADDRESS KIND | client ADDRESS KIND DEPTH CONNECTIONS SECONDS\n",
                   argv[0]);
      std::exit(2);
    }
    plan.address = argv[2];
    plan.kind = argv[3];
    if (client) {
      plan.depth = static_cast<unsigned>(std::atoi(argv[4]));
      plan.connections = static_cast<unsigned>(std::atoi(argv[5]));
      plan.seconds = std::atof(argv[6]);
    }
    return plan;
  }
};

/// Counts the calls of one client. Thread: one at a time.
class Count {
 public:
  explicit Count(const Plan& plan)
      : begin_ns_(load::now_ns() + kWarmUpNs),
        end_ns_(begin_ns_ + static_cast<std::int64_t>(plan.seconds * 1e9)) {}

  bool over(std::int64_t now_ns) const { return now_ns >= end_ns_; }
  void end_one(std::int64_t started_ns, std::int64_t now_ns, bool good) {
    if (!good) ++failed_;
    if (now_ns < begin_ns_ || over(now_ns)) return;
    latency_.record(static_cast<std::uint64_t>(now_ns - started_ns));
  }
  /// One line of JSON on standard output.
  void print() const {
    const double seconds = static_cast<double>(end_ns_ - begin_ns_) / 1e9;
    std::printf(R"({"calls_per_s": %.0f, "failed": %llu, "p50_us": %.2f, "p99_us": %.2f})"
                "\n",
                static_cast<double>(latency_.total()) / seconds, static_cast<unsigned long long>(failed_),
                static_cast<double>(latency_.value_at(0.5)) / 1e3,
                static_cast<double>(latency_.value_at(0.99)) / 1e3);
  }

 private:
  static constexpr std::int64_t kWarmUpNs = 300'000'000;

  std::int64_t begin_ns_;
  std::int64_t end_ns_;
  std::uint64_t failed_ = 0;
  load::Histogram latency_;
};

}  // namespace weft::bench
