// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <deque>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weft::testing {

/// Walks through all that can become of what `make` makes within `depth` of `acts`, each state once; returns
/// how many there are. What is made has act(), state(), which is all that the next steps depend on, finish(),
/// which is called once in each state, and wrong(). A model that has stand_still() is told when no act
/// changes anything. `names` are those of the acts.
template <typename Act, typename Make>
std::size_t walk(const std::vector<Act>& acts, std::size_t depth, const char* const* names, Make make) {
  using Path = std::vector<Act>;
  const auto names_of = [names](const Path& path) {
    std::string text;
    for (const Act act : path) text += std::string{names[static_cast<std::size_t>(act)]} + ", ";
    return text;
  };
  std::deque<Path> open{{}};
  std::unordered_set<std::string> seen;
  while (!open.empty()) {
    const Path path = std::move(open.front());
    open.pop_front();
    decltype(make()) run;
    std::string before;
    bool goes_on = false;
    for (const Act next : acts) {
      // An act that changed nothing leaves what the next one can be tried on.
      if (run == nullptr) {
        run = make();
        for (const Act act : path) run->act(act);
        before = run->state();
      }
      run->act(next);
      Path further = path;
      further.push_back(next);
      std::string after = run->state();
      const bool is_changed = after != before;
      const bool is_new = is_changed && seen.insert(std::move(after)).second;
      if (is_new) run->finish();
      EXPECT_EQ(run->wrong(), "") << names_of(further);
      if (!run->wrong().empty()) return seen.size();
      if (is_new && further.size() < depth) open.push_back(std::move(further));
      if (!is_changed) continue;
      goes_on = true;
      run.reset();
    }
    if constexpr (requires { run->stand_still(); }) {
      if (goes_on) continue;
      run->stand_still();
      EXPECT_EQ(run->wrong(), "") << names_of(path);
      if (!run->wrong().empty()) return seen.size();
    }
  }
  std::printf("%zu states\n", seen.size());
  return seen.size();
}

}  // namespace weft::testing
