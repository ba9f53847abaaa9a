// SPDX-License-Identifier: Apache-2.0
// Measures the page of metrics of a server with many methods.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "weft/detail/calls/server/server_options.hpp"
#include "weft/metrics.hpp"

namespace weft {
namespace {

void write_page(benchmark::State& state, MetricsFormat format) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(state.range(0)));
  for (int i = 0; i < state.range(0); ++i)
    names.push_back("company::department::method_" + std::to_string(i));
  ServerStats stats;
  for (const std::string& name : names) {
    MethodStats method;
    method.name = name;
    method.calls = method.answered = 1'000'000;
    method.latencies.push_back({StatusCode::kOk, {}});
    for (std::uint64_t& count : method.latencies[0].histogram.counts) count = 40'000;
    stats.methods.push_back(method);
  }
  stats.loops.resize(8);
  std::size_t bytes = 0;
  for (auto _ : state) bytes += metrics_text(stats, format).size();
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK_CAPTURE(write_page, prometheus, MetricsFormat::kPrometheus)
    ->Arg(10)
    ->Arg(1'000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(write_page, open_metrics, MetricsFormat::kOpenMetrics)
    ->Arg(1'000)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
