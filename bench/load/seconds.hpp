// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <string>

namespace weft::load {

/// Takes a plain number of seconds in a range, and says so when it is another thing, such as 100ms.
inline CLI::Validator seconds_between(double least, double most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (whole && seconds >= least && seconds <= most) return {};
    char wanted[100];
    std::snprintf(wanted, sizeof wanted, "a plain number from %g to %g", least, most);
    return "'" + text + "' is no time in seconds: it takes " + wanted;
  };
  return CLI::Validator{check, ""};
}

}  // namespace weft::load
