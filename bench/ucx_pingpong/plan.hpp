// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::bench {

/// Tests, defined as ucx_perftest defines them. "bw": the client issues, the server takes; "lat": both
/// answer each other in turn.
enum class Test : std::uint32_t { kTagBw, kTagLat, kAmLat, kPutLat, kPutBw, kGetBw, kIdle };

/// Style of the code that runs the test.
enum class Style : std::uint32_t {
  kWeft,  ///< coroutines in a busy Loop
  kC,     ///< the calls of UCX and nothing else: what the first is counted against
};

/// The client's orders to the server, sent as they lie in memory: both are the same program.
struct Plan {
  Test test = Test::kTagLat;
  Style style = Style::kWeft;
  std::uint64_t size = 8;
  std::uint64_t window = 1;
  std::uint64_t warmup = 10'000;
  std::uint64_t iterations = 1'000'000;
  double idle_seconds = 3;

  bool latency() const { return test == Test::kTagLat || test == Test::kAmLat || test == Test::kPutLat; }
  bool remote_memory() const { return test == Test::kPutLat || test == Test::kPutBw || test == Test::kGetBw; }
};

}  // namespace weft::bench
