// SPDX-License-Identifier: Apache-2.0
#include "stats/table.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

namespace weft::stats {

namespace {

using Json = nlohmann::json;
using Row = std::vector<std::string>;

std::string formatted(const char* format, double value) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Returns a time of microseconds; null stands for a time beyond the last bucket.
std::string time_text(const Json& microseconds) {
  if (microseconds.is_null()) return "> 100 s";
  const double value = microseconds.get<double>();
  if (value == 0) return "-";
  if (value < 1e3) return formatted("%.0f us", value);
  if (value < 1e6) return formatted("%.4g ms", value / 1e3);
  return formatted("%.4g s", value / 1e6);
}

std::string bytes_text(double bytes) {
  if (bytes < 1024) return formatted("%.0f B", bytes);
  if (bytes < 1024 * 1024) return formatted("%.1f KiB", bytes / 1024);
  if (bytes < 1024.0 * 1024 * 1024) return formatted("%.1f MiB", bytes / (1024 * 1024));
  return formatted("%.1f GiB", bytes / (1024.0 * 1024 * 1024));
}

std::uint64_t sum_of(const Json& counts) {
  std::uint64_t sum = 0;
  for (const Json& count : counts) sum += count.get<std::uint64_t>();
  return sum;
}

std::string number(const Json& value) {
  return std::to_string(value.get<std::uint64_t>());
}

Row row_of(const Json& method) {
  return {method.at("name").get<std::string>(),
          number(method.at("calls")),
          std::to_string(sum_of(method.at("failed"))),
          std::to_string(sum_of(method.at("refused"))),
          number(method.at("dropped")),
          number(method.at("running")),
          time_text(method.at("p50_us")),
          time_text(method.at("p99_us"))};
}

/// Appends the rows with columns as wide as their widest cells; all but the first are aligned to the right.
void add_rows(std::string& out, const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    out += row[0];
    std::size_t filled = row[0].size();
    for (std::size_t i = 1; i < row.size(); ++i) {
      out.append(widths[i - 1] - std::min(filled, widths[i - 1]) + 2 + widths[i] - row[i].size(), ' ');
      out += row[i];
      filled = widths[i];
    }
    out += '\n';
  }
}

void add_methods(std::string& out, const Json& page) {
  std::vector<Json> methods = page.at("methods");
  if (page.at("unknown").at("calls") != 0) methods.push_back(page.at("unknown"));
  std::sort(methods.begin(), methods.end(), [](const Json& a, const Json& b) {
    return a.at("calls") != b.at("calls") ? a.at("calls") > b.at("calls") : a.at("name") < b.at("name");
  });
  std::vector<Row> rows{{"method", "calls", "failed", "refused", "dropped", "running", "p50", "p99"}};
  for (const Json& method : methods) rows.push_back(row_of(method));
  add_rows(out, rows);
}

void add_server(std::string& out, const Pages& pages) {
  const Json health = Json::parse(pages.at("health"));
  const Json connections = Json::parse(pages.at("connections"));
  const Json loops = Json::parse(pages.at("loops"));
  const Json memory = Json::parse(pages.at("memory")).at("process");
  out += std::string{"health       "} + (health.at("draining").get<bool>() ? "draining" : "ready") + "\n";
  out += "connections  " + number(connections.at("open")) + " open, " + number(connections.at("accepted")) +
         " accepted, " + number(connections.at("refused")) + " refused\n";
  out += "traffic      " + bytes_text(connections.at("bytes_received").get<double>()) + " received, " +
         bytes_text(connections.at("bytes_sent").get<double>()) + " sent\n";
  out += "memory       " + bytes_text(memory.at("used_bytes").get<double>()) + " of " +
         bytes_text(memory.at("limit_bytes").get<double>()) + "\n";
  out += "loops busy  ";
  for (const Json& loop : loops.at("loops")) out += ' ' + time_text(loop.at("busy_us"));
  out += "\n\n";
}

}  // namespace

Result<std::string> table_of(const Pages& pages) {
  try {
    std::string out;
    add_server(out, pages);
    add_methods(out, Json::parse(pages.at("methods")));
    return out;
  } catch (const Json::exception& fault) {
    return Status{StatusCode::kDataLoss, Layer::kRpc,
                  std::string{"a page of the server is not as this program expects: "} + fault.what()};
  }
}

std::string json_of(const Pages& pages) {
  std::string out = "{";
  for (const auto& [name, page] : pages) {
    if (out.size() > 1) out += ',';
    out.append("\"").append(name).append("\":").append(page);
  }
  return out + "}\n";
}

}  // namespace weft::stats
