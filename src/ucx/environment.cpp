// SPDX-License-Identifier: Apache-2.0
#include "ucx/environment.hpp"

#include <unistd.h>

#include <cstdlib>

#include "ucx/setting_values.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): some systems do not declare it

namespace weft::ucx::detail {

namespace {

constexpr std::string_view kUcx = "UCX_";

// The setting that a variable is about: of UCX_TLS and of APP_UCX_TLS it is TLS; empty for other variables.
std::string_view setting_of(std::string_view variable) {
  const std::size_t at = variable.find(kUcx);
  if (at == std::string_view::npos || (at > 0 && variable[at - 1] != '_')) return {};
  return variable.substr(at + kUcx.size());
}

std::optional<std::string_view> value_of(const std::string& variable) {
  // They are UCX's, which reads them whatever we do.
  const char* const value = std::getenv(variable.c_str());  // allow(no_environment)
  if (value == nullptr) return std::nullopt;
  return value;
}

void add(std::string& list, std::string_view item) {
  if (!list.empty()) list += ", ";
  list += item;
}

}  // namespace

std::optional<std::string_view> in_environment(std::string_view prefix, std::string_view name) {
  std::string variable{kUcx};
  variable += name;
  if (!prefix.empty()) {
    if (const auto value = value_of(std::string{prefix} + "_" + variable)) return value;
  }
  return value_of(variable);
}

std::string suspects_in_environment() {
  std::string unfit;
  std::string all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::size_t end = text.find('=');
    const std::string_view setting = setting_of(text.substr(0, end));
    if (setting.empty() || end == std::string_view::npos) continue;
    add(all, text);
    const std::string wanted = misfit(std::string{setting}, std::string{text.substr(end + 1)});
    if (!wanted.empty()) add(unfit, std::string{text} + " is not one that UCX can read: it takes " + wanted);
  }
  if (!unfit.empty()) return "in the environment " + unfit;
  if (!all.empty()) return "look at the settings given, and at these of the environment: " + all;
  return {};
}

}  // namespace weft::ucx::detail
