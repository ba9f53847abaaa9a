// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/log.hpp"
#include "weft/detail/naming/name_watch.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

/// Counts lines instead of writing them.
class CountingLogger final : public Logger {
 public:
  void write(LogLevel level, std::string_view message) override {
    if (level >= LogLevel::kWarning) warnings.emplace_back(message);
  }
  std::vector<std::string> warnings;
};

inline std::vector<std::string> urls_of(const NameSnapshot& list) {
  std::vector<std::string> urls;
  for (const Endpoint& endpoint : list->endpoints) urls.push_back(endpoint.url);
  return urls;
}

/// Turns `loop` until `holds`; a test that never gets there is ended by its time.
template <typename Holds>
void turn_until(Loop& loop, Holds holds) {
  while (!holds()) loop.run_once(Loop::kForever);
}

/// Options with which tests do not wait for long.
inline NameOptions quick_options(Logger& logger) {
  return {.change_interval = Duration::zero(),
          .backoff_min = std::chrono::milliseconds{1},
          .backoff_max = std::chrono::milliseconds{20},
          .logger = &logger};
}

}  // namespace weft
