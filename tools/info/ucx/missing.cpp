// SPDX-License-Identifier: Apache-2.0
#include "info/ucx/missing.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace weft::info {
namespace {

struct Group {
  std::string_view name;
  std::string_view begins[6];
};
/// UCX's names for several transports, and how those begin. "mm" and the like are of shared memory.
constexpr Group kGroups[] = {
    {"shm", {"posix", "sysv", "xpmem", "cma", "knem"}},
    {"sm", {"posix", "sysv", "xpmem", "cma", "knem"}},
    {"mm", {"posix", "sysv", "xpmem"}},
    {"ib", {"rc_", "ud_", "dc_"}},
    {"rc_v", {"rc_verbs"}},
    {"rc_x", {"rc_mlx5"}},
    {"ud_v", {"ud_verbs"}},
    {"ud_x", {"ud_mlx5"}},
    {"dc_x", {"dc_mlx5"}},
};

bool is_of(std::string_view transport, std::string_view name) {
  const auto* const group = std::find_if(std::begin(kGroups), std::end(kGroups),
                                         [&](const Group& each) { return each.name == name; });
  // Beside these, groups are what the names of their transports begin with: rc_verbs, cuda_copy.
  if (group == std::end(kGroups)) return transport == name || transport.starts_with(std::string{name} + "_");
  return std::any_of(std::begin(group->begins), std::end(group->begins),
                     [&](std::string_view begin) { return !begin.empty() && transport.starts_with(begin); });
}

// Of transports only: UCX knows no devices but by their names. What is behind a backslash is no group.
bool stands_for_any(std::string_view name) {
  return name == "all" || name.starts_with('^');
}
bool is_asked_for(std::string_view transport, std::string_view name) {
  return name.starts_with('\\') ? transport == name.substr(1) : is_of(transport, name);
}

}  // namespace

std::vector<std::string> missing_names(const UcxFacts& facts, const load::UcxFlags& asked) {
  std::vector<std::string> missing;
  const auto look_for = [&](const std::vector<std::string>& names, auto is) {
    for (const std::string& name : names) {
      const auto found = [&](const UcxResource& resource) { return is(resource, name); };
      if (std::none_of(facts.resources.begin(), facts.resources.end(), found)) missing.push_back(name);
    }
  };
  if (std::none_of(asked.transports.begin(), asked.transports.end(), stands_for_any)) {
    look_for(asked.transports, [](const UcxResource& resource, const std::string& name) {
      return is_asked_for(resource.transport, name);
    });
  }
  look_for(asked.devices, [](const UcxResource& resource, const std::string& name) {
    return name == "all" || resource.device == name;
  });
  return missing;
}

}  // namespace weft::info
