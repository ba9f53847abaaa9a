// SPDX-License-Identifier: Apache-2.0
#include "services/close_name.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace weft::services {

namespace {

/// Names of functions are shorter; longer ones, which a server may send, are not compared.
constexpr std::size_t kLongestCompared = 200;

/// Counts the letters to add, remove or replace until `from` is `to`.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string_view last_part(std::string_view name) {
  const std::size_t end = name.find_last_of(":/.");
  return end == std::string_view::npos ? name : name.substr(end + 1);
}

}  // namespace

std::string close_name(std::string_view name, const std::vector<std::string>& names) {
  if (name.empty() || name.size() > kLongestCompared) return {};
  std::size_t fewest = std::max<std::size_t>(2, name.size() / 3) + 1;
  std::string close;
  for (const std::string& each : names) {
    if (each.size() > kLongestCompared) continue;
    const std::size_t different = last_part(each) == name ? 0 : distance(name, each);
    if (different >= std::min(fewest, std::max(name.size(), each.size()))) continue;
    fewest = different;
    close = each;
  }
  return close;
}

}  // namespace weft::services
