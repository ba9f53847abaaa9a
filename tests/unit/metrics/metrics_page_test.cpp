// SPDX-License-Identifier: Apache-2.0
// The text of pages of metrics: names, types, labels and escapes in both formats.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "metrics/label_text.hpp"
#include "weft/detail/calls/client/client_options.hpp"
#include "weft/detail/calls/client/pool_options.hpp"
#include "weft/detail/calls/server/server_options.hpp"
#include "weft/detail/transport/tls_stats.hpp"
#include "weft/metrics.hpp"

namespace weft::metrics_page_tests {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Returns the lines of one metric, its HELP and TYPE first.
std::string metric(const std::string& page, const std::string& name) {
  std::string found;
  bool inside = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("# HELP ")) inside = line.starts_with("# HELP " + name + " ");
    if (inside) found += line + "\n";
  }
  return found;
}

MethodStats method(std::string_view name, Duration duration) {
  MethodStats stats;
  stats.name = name;
  stats.calls = 3;
  stats.answered = 2;
  stats.failed[static_cast<std::size_t>(StatusCode::kNotFound)] = 1;
  stats.running = 4;
  stats.latencies.push_back({StatusCode::kOk, {}});
  stats.latencies[0].histogram.counts[LatencyHistogram::bucket(duration)] = 2;
  stats.latencies[0].histogram.sum = 2 * duration;
  stats.waited = 1500ms;
  return stats;
}

TEST(MetricsPage, WritesAHistogramForEachMethodAndCode) {
  ServerStats stats;
  stats.methods.push_back(method("shop::price", 40us));
  const std::string labels =
      "rpc_system_name=\"weft\",rpc_method=\"shop::price\",rpc_response_status_code=\"OK\"";
  std::string expected =
      "# HELP rpc_server_call_duration_seconds Time from the receipt of a request to the end of the loop's "
      "turn that sent the answer.\n"
      "# TYPE rpc_server_call_duration_seconds histogram\n";
  for (const char* bound :
       {"1e-06", "2e-06", "5e-06", "1e-05", "2e-05", "5e-05", "0.0001", "0.0002", "0.0005",
        "0.001", "0.002", "0.005", "0.01",  "0.02",  "0.05",  "0.1",    "0.2",    "0.5",
        "1.0",   "2.0",   "5.0",   "10.0",  "20.0",  "50.0",  "100.0",  "+Inf"}) {
    const bool below = std::stod(bound) < 40e-6;
    expected += "rpc_server_call_duration_seconds_bucket{" + labels + ",le=\"" + bound + "\"} " +
                (below ? "0" : "2") + "\n";
  }
  expected += "rpc_server_call_duration_seconds_sum{" + labels + "} 0.00008\n";
  expected += "rpc_server_call_duration_seconds_count{" + labels + "} 2\n";
  const std::string page = metrics_text(stats, MetricsFormat::kPrometheus);
  EXPECT_EQ(metric(page, "rpc_server_call_duration_seconds"), expected);
}

TEST(MetricsPage, NamesCountersAsEachFormatDoes) {
  ServerStats stats;
  stats.connections = 5;
  stats.connections_accepted = 7;
  const std::string text = metrics_text(stats, MetricsFormat::kPrometheus);
  const std::string open = metrics_text(stats, MetricsFormat::kOpenMetrics);
  EXPECT_EQ(metric(text, "weft_server_connections_accepted_total"),
            "# HELP weft_server_connections_accepted_total Connections that were accepted.\n"
            "# TYPE weft_server_connections_accepted_total counter\n"
            "weft_server_connections_accepted_total 7\n");
  EXPECT_EQ(metric(open, "weft_server_connections_accepted"),
            "# HELP weft_server_connections_accepted Connections that were accepted.\n"
            "# TYPE weft_server_connections_accepted counter\n"
            "weft_server_connections_accepted_total 7\n");
  EXPECT_EQ(metric(open, "weft_server_connections"),
            "# HELP weft_server_connections Connections that are open.\n"
            "# TYPE weft_server_connections gauge\n"
            "weft_server_connections 5\n");
  EXPECT_TRUE(text.find("# TYPE weft_build_info gauge\nweft_build_info{version=") != std::string::npos);
  EXPECT_TRUE(open.find("# TYPE weft_build info\nweft_build_info{version=") != std::string::npos);
  EXPECT_TRUE(open.ends_with("\n# EOF\n"));
  EXPECT_EQ(text.find("# EOF"), std::string::npos);
}

TEST(MetricsPage, CountsOutcomesByTheirCodes) {
  ServerStats stats;
  stats.methods.push_back(method("a", 1us));
  stats.unknown.refused_codes[static_cast<std::size_t>(StatusCode::kUnimplemented)] = 9;
  stats.unknown.dropped = 1;
  EXPECT_EQ(metric(metrics_text(stats, MetricsFormat::kPrometheus), "weft_server_calls_total"),
            "# HELP weft_server_calls_total Calls that have ended, by their outcome and code.\n"
            "# TYPE weft_server_calls_total counter\n"
            "weft_server_calls_total{method=\"_OTHER\",outcome=\"answered\",code=\"OK\"} 0\n"
            "weft_server_calls_total{method=\"_OTHER\",outcome=\"refused\",code=\"UNIMPLEMENTED\"} 9\n"
            "weft_server_calls_total{method=\"_OTHER\",outcome=\"dropped\",code=\"\"} 1\n"
            "weft_server_calls_total{method=\"a\",outcome=\"answered\",code=\"OK\"} 2\n"
            "weft_server_calls_total{method=\"a\",outcome=\"failed\",code=\"NOT_FOUND\"} 1\n");
}

TEST(MetricsPage, AddsUpMethodsOfOneName) {
  ServerStats stats;
  stats.methods = {method("f", 40us), method("f", 3ms), method("_OTHER", 1us)};
  const std::string page = metrics_text(stats, MetricsFormat::kPrometheus);
  EXPECT_EQ(metric(page, "weft_server_calls_running"),
            "# HELP weft_server_calls_running Calls whose handlers have not ended.\n"
            "# TYPE weft_server_calls_running gauge\n"
            "weft_server_calls_running{method=\"_OTHER\"} 4\n"
            "weft_server_calls_running{method=\"f\"} 8\n");
  EXPECT_EQ(
      metric(page, "weft_server_calls_waited_seconds_total"),
      "# HELP weft_server_calls_waited_seconds_total Time that calls spent before their handlers began.\n"
      "# TYPE weft_server_calls_waited_seconds_total counter\n"
      "weft_server_calls_waited_seconds_total{method=\"_OTHER\"} 1.5\n"
      "weft_server_calls_waited_seconds_total{method=\"f\"} 3.0\n");
}

// A scrape with two samples of one series, or with two types for one name, fails as a whole.
TEST(MetricsPage, HasEachMetricAndEachSeriesOnce) {
  ServerStats stats;
  stats.methods = {method("f", 40us), method("f", 3ms), method("g", 1us), method("_OTHER", 1us)};
  stats.loops.resize(3);
  ClientStats of_client;
  for (const MetricsFormat format : {MetricsFormat::kPrometheus, MetricsFormat::kOpenMetrics}) {
    MetricsPage page{format};
    page.add(stats);
    page.add(of_client, "tcp://one:1");
    page.add(of_client, "tcp://two:2");
    page.add(PoolStats{}, "tcp://three:3");
    page.add(PoolStats{}, "tcp://four:4");
    page.add(TlsStats{}, "server");
    page.add(TlsStats{}, "clients");
    std::set<std::string> series;
    std::set<std::string> metrics;
    for (const std::string& line : lines_of(page.text())) {
      const std::string name = line.substr(0, line.rfind(' '));
      if (line.starts_with("# HELP ")) {
        EXPECT_TRUE(metrics.insert(line.substr(7, line.find(' ', 7) - 7)).second) << line;
      } else if (!line.starts_with('#')) {
        EXPECT_TRUE(series.insert(name).second) << line;
      }
    }
    EXPECT_GT(metrics.size(), 30u);
    EXPECT_TRUE(series.contains("weft_client_calls_total{target=\"tcp://two:2\"}"));
    EXPECT_TRUE(series.contains("weft_loop_busy_seconds_total{loop=\"2\"}"));
    EXPECT_TRUE(series.contains("weft_server_refusals_total{reason=\"unknown_method\"}"));
  }
}

TEST(MetricsPage, ShowsTheConnectionsOfAPoolByTheirState) {
  PoolStats stats;
  stats.connections = 5;
  stats.connections_busy = 2;
  stats.connections_making = 1;
  stats.connections_leaving = 4;
  stats.connections_lost = 6;
  stats.connections_idle = 7;
  stats.connections_renewed = 8;
  stats.connects = 9;
  stats.retries = 10;
  stats.calls = 11;
  stats.traffic.bytes_sent = 12;
  MetricsPage page{MetricsFormat::kPrometheus};
  page.add(stats, "tcp://a:1");
  const std::string text = page.text();
  EXPECT_EQ(metric(text, "weft_pool_connections"),
            "# HELP weft_pool_connections Connections of a pool, by their state.\n"
            "# TYPE weft_pool_connections gauge\n"
            "weft_pool_connections{target=\"tcp://a:1\",state=\"busy\"} 2\n"
            "weft_pool_connections{target=\"tcp://a:1\",state=\"free\"} 3\n"
            "weft_pool_connections{target=\"tcp://a:1\",state=\"making\"} 1\n"
            "weft_pool_connections{target=\"tcp://a:1\",state=\"leaving\"} 4\n");
  EXPECT_EQ(metric(text, "weft_pool_connections_ended_total"),
            "# HELP weft_pool_connections_ended_total Connections of a pool that have ended, by the reason.\n"
            "# TYPE weft_pool_connections_ended_total counter\n"
            "weft_pool_connections_ended_total{target=\"tcp://a:1\",reason=\"lost\"} 6\n"
            "weft_pool_connections_ended_total{target=\"tcp://a:1\",reason=\"idle\"} 7\n"
            "weft_pool_connections_ended_total{target=\"tcp://a:1\",reason=\"renewed\"} 8\n");
  for (const char* line : {"weft_client_connects_total{target=\"tcp://a:1\"} 9\n",
                           "weft_pool_retries_total{target=\"tcp://a:1\"} 10\n",
                           "weft_client_calls_total{target=\"tcp://a:1\"} 11\n",
                           "weft_transport_sent_bytes_total{side=\"client\",target=\"tcp://a:1\"} 12\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

TEST(MetricsPage, ShowsHandshakesByTheirOutcome) {
  TlsStats stats;
  stats.handshakes = 1;
  stats.resumed = 2;
  stats.certificates_refused = 3;
  stats.out_of_memory = 4;
  stats.reloads_failed = 5;
  MetricsPage page{MetricsFormat::kPrometheus};
  page.add(stats, "server");
  const std::string text = page.text();
  for (const char* line :
       {"weft_tls_handshakes_total{credentials=\"server\",outcome=\"done\"} 1\n",
        "weft_tls_handshakes_total{credentials=\"server\",outcome=\"certificates_refused\"} 3\n",
        "weft_tls_handshakes_total{credentials=\"server\",outcome=\"out_of_memory\"} 4\n",
        "weft_tls_resumed_handshakes_total{credentials=\"server\"} 2\n",
        "weft_tls_reload_failures_total{credentials=\"server\"} 5\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line;
  }
}

TEST(MetricsPage, EscapesTheValuesOfLabels) {
  const auto escaped = [](std::string_view value) {
    std::string text;
    detail::add_label_text(text, value);
    return text;
  };
  EXPECT_EQ(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
  EXPECT_EQ(escaped("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
  EXPECT_EQ(escaped("x\xFFy\xC3"), "x\xEF\xBF\xBDy\xEF\xBF\xBD");
  EXPECT_EQ(escaped(""), "");
}

TEST(MetricsPage, HasTheMediaTypeOfItsFormat) {
  EXPECT_EQ(media_type(MetricsFormat::kPrometheus), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(media_type(MetricsFormat::kOpenMetrics),
            "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

}  // namespace
}  // namespace weft::metrics_page_tests
