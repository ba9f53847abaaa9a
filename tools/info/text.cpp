// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <map>

#include "info/missing.hpp"
#include "info/report.hpp"
#include "info/why.hpp"
#include "info/words.hpp"

namespace weft::info {
namespace {

constexpr std::size_t kNameColumn = 22;

/// A device, and by which transports UCX reaches it.
std::string resources_text(const std::vector<UcxResource>& resources) {
  std::map<std::string, std::string> by_transport;
  for (const UcxResource& resource : resources) {
    std::string& devices = by_transport[resource.transport];
    devices += (devices.empty() ? "" : ", ") + resource.device;
  }
  std::string text;
  for (const auto& [transport, devices] : by_transport) text += row(transport, devices);
  return text;
}

std::string settings_text(const std::vector<UcxSetting>& settings, bool all) {
  std::string text;
  for (const UcxSetting& setting : settings) {
    if (!all && !setting.differs()) continue;
    std::string line = setting.name + "=" + setting.value;
    if (setting.differs())
      line += "   (UCX's own: " + (setting.usual.empty() ? "not told" : setting.usual) + ")";
    text += "  " + line + "\n";
  }
  return text.empty() ? "  none\n" : text;
}

std::string ucx_text(const Result<UcxFacts>& ucx, const Options& options) {
  if (!ucx.ok()) return heading("UCX") + "  " + std::string{ucx.status().message()} + "\n";
  std::string text = heading("UCX");
  text += row("version", ucx->version + ", compiled with the headers of " + ucx->compiled_version);
  text += "\n" + heading("Transports and their devices (those that these options open)");
  text += resources_text(ucx->resources);
  for (const std::string& name : missing_names(*ucx, options.ucx)) {
    text += row("not here", name + ": nothing of that name can be opened (ucx_info -d lists what can)");
  }
  text += "\n" + heading("Weft's options for ucx:// (UcxOptions)");
  text += words_text(effective_options(options));
  text += "\n" + heading(options.all ? "Settings of UCX"
                                     : "Settings of UCX that differ from its own (--all: all of them)");
  return text + settings_text(ucx->settings, options.all);
}

/// A carrier, its URLs, and the flag that lets it be used with other URLs.
struct CarrierWords {
  const char* name;
  const char* scheme;
  const char* flag;
};

CarrierWords words_of(detail::wire::CarrierKind carrier) {
  if (carrier == detail::wire::CarrierKind::kVerbs) return {"RDMA", "verbs://", "--prefer-rdma"};
  return {"UCX", "ucx://", "--prefer-ucx"};
}

std::string ours_text(const Probe& probe, const Options& options) {
  const CarrierWords carrier = words_of(probe.asked);
  const std::string name = carrier.name;
  if (probe.ours == CarrierPolicy::kRequire) {
    return "requires " + name + ", because the URL begins with " + carrier.scheme;
  }
  if (probe.ours == CarrierPolicy::kPrefer)
    return "uses " + name + " if it can be had (" + carrier.flag + ")";
  const bool unix_socket = options.connect.starts_with("unix");
  return "does not ask for " + name +
         (unix_socket ? " (" : " (a " + std::string{carrier.scheme} + " URL or ") + carrier.flag + " does)";
}

std::string theirs_text(const Probe& probe) {
  const std::string name = words_of(probe.asked).name;
  if (probe.theirs == CarrierPolicy::kRequire) return "requires " + name;
  return (probe.theirs == CarrierPolicy::kPrefer ? "offers " : "does not offer ") + name;
}

std::string carrier_text(const Probe& probe) {
  if (probe.carrier == "ucx" || probe.carrier == "verbs") {
    const auto carrier =
        probe.carrier == "ucx" ? detail::wire::CarrierKind::kUcx : detail::wire::CarrierKind::kVerbs;
    return std::string{words_of(carrier).name} +
           "; the stream stays beside it and tells when the server is gone";
  }
  return "the stream (" + probe.carrier + ")";
}

std::string host_text(const Probe& probe) {
  if (probe.asked == detail::wire::CarrierKind::kVerbs) {
    return probe.same_host ? "yes, by the addresses" : "no, by the addresses";
  }
  return probe.same_host ? "yes, by the addresses: UCX may use shared memory"
                         : "no, by the addresses: UCX needs a network transport";
}

std::string uses_text(const Lane& lane) {
  std::string text;
  for (const std::string& use : lane.uses) text += (text.empty() ? "" : ", ") + meaning_of(use);
  return text.empty() ? "nothing so far" : text;
}

std::string lanes_text(const Probe& probe, const Options& options) {
  std::string text = row("error mode", options.ucx.mode_none ? "none, on both sides" : "peer, on both sides");
  for (const Lane& lane : probe.lanes) text += row(lane.transport + " on " + lane.device, uses_text(lane));
  return probe.lanes.empty() ? text + probe.description : text;
}

std::string probe_text(const Report& report, const Options& options) {
  const Result<Probe>& probe = report.probe;
  std::string text = heading("Connecting to " + options.connect);
  if (!probe.ok()) return text + row("failed", probe.status().to_string());
  char took[32];
  std::snprintf(took, sizeof took, "%.1f ms", probe->milliseconds);
  text += row("from, to", probe->local + ", " + probe->remote);
  text += row("up after", took);
  text += row("this side", ours_text(*probe, options));
  text += row("the server", theirs_text(*probe));
  text += row("same host", host_text(*probe));
  text += row("carried by", carrier_text(*probe));
  if (!probe->refusal.empty()) text += row("because", probe->refusal);
  for (const PassedOverCarrier& each : probe->passed_over) {
    text += row("passed over", std::string{to_string(each.kind)} + ": " + each.reason);
  }
  if (probe->carrier == "verbs") text += row("by", probe->description);
  if (probe->carrier != "ucx") return text;
  text += lanes_text(*probe, options);
  if (!report.ucx.ok()) return text;
  for (const std::string& reason : reasons(*probe, *report.ucx, options)) text += row("why", reason);
  return text;
}

}  // namespace

std::string row(std::string name, std::string_view value) {
  name.resize(std::max(name.size() + 1, kNameColumn), ' ');
  return "  " + name + std::string{value} + "\n";
}

std::string words_text(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) {
    text += row(word.name, word.note.empty() ? word.value : word.value + " (" + word.note + ")");
  }
  return text;
}

std::string heading(std::string_view words) {
  return std::string{words} + "\n";
}

std::string meaning_of(std::string_view use) {
  if (use == "am") return "messages";
  if (use == "am_bw") return "large messages";
  if (use == "rma") return "remote memory";
  if (use == "rma_bw") return "rendezvous";
  if (use == "rkey_ptr") return "rendezvous by mapping";
  if (use == "amo") return "atomics";
  if (use == "tag_offload") return "matching tags";
  if (use == "wireup") return "setting up";
  if (use == "keepalive") return "noticing a dead peer";
  if (use == "cm") return "connecting";
  return std::string{use};
}

int exit_code_of(const Report& report, const Options& options) {
  const auto failed = [](const Status& status, bool asked) {
    return !status.ok() && (asked || status.code() != StatusCode::kUnimplemented);
  };
  if (failed(report.ucx.status(), options.ucx.any()) || failed(report.rdma.status(), options.rdma.any()))
    return 1;
  if (report.ucx.ok() && !missing_names(*report.ucx, options.ucx).empty()) return 1;
  return report.probe.ok() ? 0 : 1;
}

std::string to_text(const Report& report, const Options& options) {
  std::string text = rdma_text(report.rdma, options) + "\n" + ucx_text(report.ucx, options);
  if (!options.connect.empty()) text += "\n" + probe_text(report, options);
  return text;
}

}  // namespace weft::info
