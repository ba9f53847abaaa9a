// SPDX-License-Identifier: Apache-2.0
#include "ucx/environment.hpp"

#include <unistd.h>

#include "ucx/setting_values.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): some systems do not declare it

namespace weft::ucx::detail {

namespace {

constexpr std::string_view kUcx = "UCX_";

// The setting that a variable refers to: TLS for UCX_TLS, and for APP_UCX_TLS with the prefix APP; empty for
// variables that UCX does not read.
std::string_view setting_of(std::string_view variable, std::string_view prefix) {
  if (!prefix.empty() && variable.starts_with(prefix) && variable.substr(prefix.size()).starts_with('_')) {
    variable.remove_prefix(prefix.size() + 1);
  }
  return variable.starts_with(kUcx) ? variable.substr(kUcx.size()) : std::string_view{};
}

/// Calls `visit(text, setting, value)` for each of UCX's variables, which UCX always reads.
template <typename Visit>
void each_variable(std::string_view prefix, Visit visit) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::size_t end = text.find('=');
    if (end == std::string_view::npos) continue;
    const std::string_view setting = setting_of(text.substr(0, end), prefix);
    if (!setting.empty()) visit(text, setting, text.substr(end + 1));
  }
}

void add(std::string& list, std::string_view item) {
  if (!list.empty()) list += ", ";
  list += item;
}

}  // namespace

bool in_environment(std::string_view prefix, std::string_view name) {
  bool found = false;
  each_variable(prefix, [&](std::string_view, std::string_view setting, std::string_view) {
    found = found || setting == name;
  });
  return found;
}

std::string suspects_in_environment(std::string_view prefix) {
  std::string unfit;
  std::string all;
  each_variable(prefix, [&](std::string_view text, std::string_view setting, std::string_view value) {
    const std::string name{setting};
    if (!usual_value(name)) return;
    add(all, text);
    const std::string wanted = misfit(name, std::string{value});
    if (!wanted.empty()) add(unfit, std::string{text} + " is not one that UCX can read: it takes " + wanted);
  });
  if (!unfit.empty()) return "in the environment " + unfit;
  if (!all.empty()) return "look at the settings given, and at these of the environment: " + all;
  return {};
}

}  // namespace weft::ucx::detail
