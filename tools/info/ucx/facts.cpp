// SPDX-License-Identifier: Apache-2.0
// For a build with UCX.
#include "info/ucx/facts.hpp"

#include <ucp/api/ucp.h>

#include <cstdlib>
#include <map>
#include <string_view>

#include "load/carrier_options.hpp"
#include "weft/detail/transport/ucx.hpp"
#include "weft/detail/ucx/context.hpp"
#include "weft/detail/ucx/library.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): some systems do not declare it

namespace weft::info {
namespace {

constexpr std::string_view kPrefix = "UCX_";
/// The group of transports by shared memory, and one of them: UCX lists the group's settings under each.
constexpr std::string_view kGroup = "UCX_MM_";
constexpr std::string_view kOneOfGroup = "UCX_POSIX_";

/// Takes UCX's variables out of the environment as long as it lives.
class WithoutUcxVariables {
 public:
  WithoutUcxVariables() {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text{*entry};
      const std::size_t end = text.find('=');
      if (text.starts_with(kPrefix) && end != std::string_view::npos) {
        taken_.emplace(text.substr(0, end), text.substr(end + 1));
      }
    }
    for (const auto& [name, value] : taken_) ::unsetenv(name.c_str());
  }
  ~WithoutUcxVariables() {
    for (const auto& [name, value] : taken_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  WithoutUcxVariables(const WithoutUcxVariables&) = delete;
  WithoutUcxVariables& operator=(const WithoutUcxVariables&) = delete;

 private:
  std::map<std::string, std::string> taken_;
};

using Values = std::map<std::string, std::string>;

Values values_of(const std::string& lines) {
  Values values;
  for (auto& [name, value] : parse_settings(lines)) {
    // UCX 1.13 prints what is kept for a transport without its prefix.
    values.insert_or_assign(name.starts_with(kPrefix) ? name : std::string{kPrefix} + name, std::move(value));
  }
  return values;
}

Values usual_values() {
  const WithoutUcxVariables without;
  return values_of(ucx::settings_before_contexts());
}

std::string find(const Values& values, const std::string& name) {
  auto found = values.find(name);
  if (found == values.end() && name.starts_with(kGroup)) {
    found = values.find(std::string{kOneOfGroup} + name.substr(kGroup.size()));
  }
  return found != values.end() ? found->second : std::string{};
}

/// Reads the settings of the environment, and over them those that the context was given.
std::vector<UcxSetting> settings_of(const std::string& in_effect, const Values& usual) {
  Values values = values_of(ucx::settings_before_contexts());
  for (auto& [name, value] : values_of(in_effect)) values.insert_or_assign(name, value);
  std::vector<UcxSetting> settings;
  for (auto& [name, value] : values) {
    settings.push_back({name, value, find(usual, name)});
  }
  return settings;
}

}  // namespace

Result<UcxFacts> ucx_facts(const Options& options) {
  const Values usual = usual_values();
  const auto described = detail::describe_ucx(load::ucx_options(options.ucx));
  if (!described.ok()) return described.status();
  UcxFacts facts;
  facts.version = ucx::detail::library.ucp_get_version_string();
  facts.compiled_version = std::to_string(UCP_API_MAJOR) + "." + std::to_string(UCP_API_MINOR);
  facts.resources = parse_resources(described->resources);
  facts.settings = settings_of(described->settings, usual);
  return facts;
}

}  // namespace weft::info
