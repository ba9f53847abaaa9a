// SPDX-License-Identifier: Apache-2.0
#include "ucx/settings.hpp"

#include <ucs/config/parser.h>
#include <uct/api/uct.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "ucx/environment.hpp"
#include "ucx/internals.hpp"
#include "ucx/printed.hpp"
#include "ucx/setting_values.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/status.hpp"

namespace weft::ucx::detail {

namespace {

// Without knowledge of the prefixes of transports, UCX's parser finds a transport's setting only without the
// prefix, for all transports that have it. Only TCP has this one.
constexpr bool kParserKnowsPrefixes = !std::is_invocable_v<decltype(&ucs_config_parser_set_value), void*,
                                                           ucs_config_field_t*, const char*, const char*>;
constexpr const char* kTcpSegmentSetting = kParserKnowsPrefixes ? "TCP_TX_SEG_SIZE" : "TX_SEG_SIZE";

// Every setting of UCX and of the transports that are installed. The modules are loaded first: each brings
// its own.
std::string print_all(unsigned flags) {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (detail::internals.uct_query_components(&components, &count) == UCS_OK)
    detail::internals.uct_release_component_list(components);
  return printed([flags](std::FILE* stream) {
    detail::internals.ucs_config_parser_print_all_opts(stream, "UCX_",
                                                       static_cast<ucs_config_print_flags_t>(flags),
                                                       detail::internals.ucs_config_global_list);
  });
}

// UCX 1.13 takes any name, and warns of an unknown one long after: it is looked up here.
Status refusal(const std::string& known, const std::string& name) {
  constexpr std::string_view kInherits = "# inherits:  UCX_";
  // The name of a group stands nowhere else.
  if (known.find(std::string{kInherits} + name + "\n") != std::string::npos) return {};
  const std::string line = "\nUCX_" + name + "=";
  const std::size_t at = known.find(line);
  const auto invalid = [](std::string_view text) {
    return Status{StatusCode::kInvalidArgument, Layer::kTransport, text, UCS_ERR_NO_ELEM};
  };
  if (at == std::string::npos) {
    return invalid("UCX has no setting " + name + " (ucx_info -f lists them, without UCX_ in front)");
  }
  // A setting that one transport inherits from a group is set by the group's name.
  const std::size_t paragraph = known.rfind("\n\n", at);
  const std::size_t inherits = known.rfind(kInherits, at);
  if (inherits != std::string::npos && paragraph != std::string::npos && inherits > paragraph) {
    const std::size_t begin = inherits + kInherits.size();
    const std::string group = known.substr(begin, known.find('\n', begin) - begin);
    return invalid("UCX takes the setting " + name + " under the name " + group + " only");
  }
  return {};
}

// As in UCX_TLS, an entry may be several names with commas between them.
std::vector<std::string> one_by_one(const std::vector<std::string>& entries) {
  std::vector<std::string> names;
  for (const std::string& entry : entries) {
    std::istringstream parts{entry};
    for (std::string name; std::getline(parts, name, ',');) names.push_back(name);
  }
  return names;
}

// Whether UCX may open a transport of its shared memory group: it warns about settings of transports that it
// does not open.
bool opens_shared_memory(const std::vector<std::string>& transports) {
  if (transports.empty()) return true;
  return std::any_of(transports.begin(), transports.end(), [](const std::string& name) {
    constexpr std::string_view kNames[] = {"all", "shm", "sm", "mm", "posix", "sysv", "xpmem"};
    return name.starts_with('^') || std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
  });
}

// Whether UCX may open TCP: that is not so on devices of RDMA alone, whose names end in a port.
bool opens_tcp(const std::vector<std::string>& transports, const std::vector<std::string>& devices) {
  const bool leaves_out = !transports.empty() && transports.front().starts_with('^');
  const bool named = std::any_of(transports.begin(), transports.end(), [](std::string_view name) {
    if (name.starts_with('^')) name.remove_prefix(1);
    return name == "tcp" || name == "all";
  });
  return named != leaves_out && std::any_of(devices.begin(), devices.end(), [](const std::string& name) {
           return name.find(':') == std::string::npos;
         });
}

/// Transports and devices that are in effect, whether options, the environment or UCX's file of settings
/// chose them.
struct Choice {
  Choice(const ucp_config_t* config, const ContextOptions& options) {
    const std::string all = printed([config](std::FILE* stream) {
      detail::library.ucp_config_print(config, stream, nullptr, UCS_CONFIG_PRINT_CONFIG);
    });
    const auto in_effect = [&](const std::vector<std::string>& ours, const char* variable) {
      return one_by_one(ours.empty() ? std::vector{value_in(all, variable).value_or("all")} : ours);
    };
    transports = in_effect(options.transports, "UCX_TLS");
    devices = in_effect(options.devices, "UCX_NET_DEVICES");
  }
  std::vector<std::string> transports;
  std::vector<std::string> devices;
};

// Whether the environment or UCX's file of settings says anything of one of these settings. `known` is
// everything as it is in effect.
bool is_said(const std::vector<std::string>& names, const std::string& known, const ContextOptions& options) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    if (in_environment(options.environment_prefix, name)) return true;
    const auto value = value_in(known, "UCX_" + name);
    return value && value != usual_value(name);
  });
}

bool is_set(const ContextOptions& options, std::string_view name) {
  return std::any_of(options.settings.begin(), options.settings.end(),
                     [&](const auto& setting) { return setting.first == name; });
}

using Settings = std::vector<std::pair<std::string, std::string>>;

void add_defaults(Settings& settings, const Choice& choice, const ContextOptions& options) {
  const bool of_shared_memory =
      opens_shared_memory(choice.transports) &&
      (options.shared_memory_in_peer_mode || options.shared_memory_element_bytes != 0);
  const bool of_tcp = options.tcp_segment_bytes != 0 && opens_tcp(choice.transports, choice.devices);
  if (!of_shared_memory && !of_tcp) return;
  const std::string known = print_all(UCS_CONFIG_PRINT_CONFIG | UCS_CONFIG_PRINT_HIDDEN);
  // A setting of the group of shared memory may be said for the group or for one of it.
  const auto add_of_shared_memory = [&](const std::string& name, std::string value) {
    if (is_said({"MM_" + name, "POSIX_" + name, "SYSV_" + name, "XPMEM_" + name}, known, options)) return;
    settings.emplace_back("MM_" + name, std::move(value));
  };
  if (of_shared_memory && options.shared_memory_in_peer_mode) add_of_shared_memory("ERROR_HANDLING", "y");
  if (of_shared_memory && options.shared_memory_element_bytes != 0) {
    add_of_shared_memory("FIFO_ELEM_SIZE", std::to_string(options.shared_memory_element_bytes));
  }
  if (of_tcp && !is_set(options, "TCP_TX_SEG_SIZE") && !is_set(options, "TCP_RX_SEG_SIZE") &&
      !is_said({"TCP_TX_SEG_SIZE", "TCP_RX_SEG_SIZE"}, known, options)) {
    settings.emplace_back(kTcpSegmentSetting, std::to_string(options.tcp_segment_bytes));
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) {
    if (!all.empty()) all += ',';
    all += name;
  }
  return all;
}

Result<void> set(ucp_config_t* config, const char* name, const std::string& value) {
  const ucs_status_t status = detail::library.ucp_config_modify(config, name, value.c_str());
  if (status == UCS_OK) return {};
  return to_status(status, "the UCX setting " + std::string{name} + "=" + value);
}

}  // namespace

Result<void> apply_settings(ucp_config_t* config, const ContextOptions& options) {
  Settings settings;
  if (!options.transports.empty()) settings.emplace_back("TLS", joined(options.transports));
  if (!options.devices.empty()) settings.emplace_back("NET_DEVICES", joined(options.devices));
  add_defaults(settings, {config, options}, options);
  if (!options.memory_hooks) settings.emplace_back("MEM_EVENTS", "n");
  for (const auto& [name, value] : settings) {
    if (auto done = set(config, name.c_str(), value); !done.ok()) return done;
  }
  if (options.settings.empty()) return {};
  const std::string known =
      print_all(UCS_CONFIG_PRINT_CONFIG | UCS_CONFIG_PRINT_HIDDEN | UCS_CONFIG_PRINT_DOC);
  for (const auto& [name, value] : options.settings) {
    if (Status status = refusal(known, name); !status.ok()) return status;
    if (const std::string wanted = misfit(name, value); !wanted.empty()) {
      std::string setting = "the UCX setting ";
      setting.append(name).append("=").append(value);
      return to_status(UCS_ERR_INVALID_PARAM, setting, "it takes: " + wanted);
    }
    if (auto done = set(config, name.c_str(), value); !done.ok()) return done;
  }
  return {};
}

}  // namespace weft::ucx::detail

namespace weft::ucx {

std::string settings_before_contexts() {
  if (!detail::load().ok()) return {};
  return detail::print_all(UCS_CONFIG_PRINT_CONFIG | UCS_CONFIG_PRINT_HIDDEN);
}

}  // namespace weft::ucx
