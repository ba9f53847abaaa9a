// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>
#include <weft/weft.hpp>

struct Point {
  double x = 0;
  double y = 0;
};

inline std::string greet(std::string_view name) {
  return "hello, " + std::string{name};
}

inline Point centre(const std::vector<Point>& points) {
  Point sum;
  for (const Point& point : points) sum = {sum.x + point.x, sum.y + point.y};
  const double count = static_cast<double>(std::max<std::size_t>(points.size(), 1));
  return {sum.x / count, sum.y / count};
}

inline std::map<std::string, int> count_words(const std::string& text) {
  std::map<std::string, int> counts;
  std::istringstream words{text};
  for (std::string word; words >> word;) ++counts[word];
  return counts;
}

/// Waits without holding a thread.
inline weft::Task<weft::Result<std::string>> answer_after(int milliseconds) {
  auto slept = co_await weft::sleep_for(std::chrono::milliseconds{milliseconds});
  if (!slept.ok()) co_return slept.status();
  co_return "worth waiting for";
}

inline weft::Result<double> divide(double a, double b) {
  if (b == 0) return weft::user_error(1, "division by zero", weft::StatusCode::kInvalidArgument);
  return a / b;
}
