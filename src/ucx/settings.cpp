// SPDX-License-Identifier: Apache-2.0
#include "ucx/settings.hpp"

#include <dlfcn.h>
#include <ucs/config/parser.h>
#include <ucs/debug/debug.h>
#include <uct/api/uct.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>
#include <sstream>
#include <string_view>

#include "ucx/environment.hpp"
#include "ucx/printed.hpp"
#include "ucx/setting_values.hpp"
#include "weft/detail/ucx/status.hpp"

namespace weft::ucx::detail {

namespace {

// Every setting of UCX and of the transports that are installed. The modules are loaded first: each brings
// its own.
std::string print_all(unsigned flags) {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct_query_components(&components, &count) == UCS_OK) uct_release_component_list(components);
  return printed([flags](std::FILE* stream) {
    ucs_config_parser_print_all_opts(stream, "UCX_", static_cast<ucs_config_print_flags_t>(flags),
                                     &ucs_config_global_list);
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

// Whether UCX may open a transport of its shared memory group: it warns of settings for what it does not
// open.
bool opens_shared_memory(const std::vector<std::string>& transports) {
  if (transports.empty()) return true;
  return std::any_of(transports.begin(), transports.end(), [](const std::string& name) {
    constexpr std::string_view kNames[] = {"all", "shm", "sm", "mm", "posix", "sysv", "xpmem"};
    return name.starts_with('^') || std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
  });
}

// Whether options, the environment or UCX's file of settings chose them.
std::vector<std::string> transports_in_effect(const ucp_config_t* config, const ContextOptions& options) {
  if (!options.transports.empty()) return one_by_one(options.transports);
  const std::string all = printed(
      [config](std::FILE* stream) { ucp_config_print(config, stream, nullptr, UCS_CONFIG_PRINT_CONFIG); });
  return one_by_one({value_in(all, "UCX_TLS").value_or("all")});
}

// Whether the environment or UCX's file of settings says anything of a setting of the group of shared memory,
// for the group or for one of it. `known` is everything as it is in effect.
bool is_said(const std::string& name, const std::string& known, const ContextOptions& options) {
  for (const char* const one : {"MM_", "POSIX_", "SYSV_", "XPMEM_"}) {
    if (in_environment(options.environment_prefix, one + name)) return true;
    const auto value = value_in(known, std::string{"UCX_"} + one + name);
    if (value && value != usual_value(one + name)) return true;
  }
  return false;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

void add_shared_memory_defaults(Settings& settings, const ContextOptions& options) {
  if (!options.shared_memory_in_peer_mode && options.shared_memory_element_bytes == 0) return;
  const std::string known = print_all(UCS_CONFIG_PRINT_CONFIG | UCS_CONFIG_PRINT_HIDDEN);
  const auto add = [&](const std::string& name, std::string value) {
    if (!is_said(name, known, options)) settings.emplace_back("MM_" + name, std::move(value));
  };
  if (options.shared_memory_in_peer_mode) add("ERROR_HANDLING", "y");
  if (options.shared_memory_element_bytes != 0) {
    add("FIFO_ELEM_SIZE", std::to_string(options.shared_memory_element_bytes));
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
  const ucs_status_t status = ucp_config_modify(config, name, value.c_str());
  if (status == UCS_OK) return {};
  return to_status(status, "the UCX setting " + std::string{name} + "=" + value);
}

}  // namespace

Result<void> apply_settings(ucp_config_t* config, const ContextOptions& options) {
  Settings settings;
  if (!options.transports.empty()) settings.emplace_back("TLS", joined(options.transports));
  if (!options.devices.empty()) settings.emplace_back("NET_DEVICES", joined(options.devices));
  if (opens_shared_memory(transports_in_effect(config, options))) {
    add_shared_memory_defaults(settings, options);
  }
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

void give_back_signals() {
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    struct sigaction now{};
    if (::sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) == 0) continue;
    Dl_info owner{};
    const void* handler = reinterpret_cast<const void*>(now.sa_sigaction);
    if (handler == nullptr || ::dladdr(handler, &owner) == 0 || owner.dli_fname == nullptr) continue;
    if (std::strstr(owner.dli_fname, "libucs.so") != nullptr) ucs_debug_disable_signal(signal);
  }
}

}  // namespace weft::ucx::detail

namespace weft::ucx {

std::string settings_before_contexts() {
  return detail::print_all(UCS_CONFIG_PRINT_CONFIG | UCS_CONFIG_PRINT_HIDDEN);
}

}  // namespace weft::ucx
