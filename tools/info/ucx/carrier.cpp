// SPDX-License-Identifier: Apache-2.0
#include "info/ucx/carrier.hpp"

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "info/json.hpp"
#include "info/ucx/lanes.hpp"
#include "info/ucx/missing.hpp"
#include "info/ucx/why.hpp"
#include "load/carrier_options.hpp"
#include "weft/transports.hpp"

namespace weft::info {
namespace {

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

std::string uses_text(const Lane& lane) {
  std::string text;
  for (const std::string& use : lane.uses) text += (text.empty() ? "" : ", ") + meaning_of(use);
  return text.empty() ? "nothing so far" : text;
}

Json facts_json(const UcxFacts& facts, const Options& options) {
  Json json{{"version", facts.version}, {"compiled_with", facts.compiled_version}};
  json["resources"] = Json::array();
  for (const UcxResource& resource : facts.resources) {
    json["resources"].push_back({{"transport", resource.transport}, {"device", resource.device}});
  }
  const std::vector<std::string> missing = missing_names(facts, options.ucx);
  if (!missing.empty()) json["not_here"] = missing;
  json["settings"] = Json::object();
  for (const UcxSetting& setting : facts.settings) {
    if (options.all || setting.differs()) {
      json["settings"][setting.name] = {{"value", setting.value}, {"default", setting.usual}};
    }
  }
  return json;
}

// What options leave open the environment may have closed.
Word choice_word(std::string name, const std::vector<std::string>& names, const char* variable) {
  Word word{std::move(name), joined(names, "UCX chooses")};
  const char* const given = std::getenv(variable);
  if (names.empty() && given != nullptr) {
    word.note = "from what the environment leaves: " + std::string{variable} + "=" + given;
  }
  return word;
}

/// The lanes of a connection; none when UCX does not carry it.
std::vector<Lane> lanes_of(const Probe& probe) {
  return probe.carrier == "ucx" ? parse_lanes(probe.description) : std::vector<Lane>{};
}

class UcxCarrier final : public CarrierFacts {
 public:
  explicit UcxCarrier(Result<UcxFacts> facts) : facts_(std::move(facts)) {}

  CarrierNames names() const override {
    return {detail::wire::CarrierKind::kUcx, "UCX", "ucx://", "--prefer-ucx", "--beside-tls ucx"};
  }
  void look(const Options& options) override { facts_ = ucx_facts(options); }
  bool failed(const Options& options) const override {
    return is_failure(facts_.status(), options.ucx.any()) ||
           (facts_.ok() && !missing_names(*facts_, options.ucx).empty());
  }
  std::string text(const Options& options) const override;
  void add_json(const Options& options, Json& report) const override {
    report["ucx"] =
        facts_.ok() ? facts_json(*facts_, options) : Json{{"failure", failure_json(facts_.status())}};
    report["options"] = words_json(effective_ucx_options(options));
  }

  bool asked_for(const Options& options) const override {
    return options.ucx.prefer || options.connect.starts_with("ucx://") || options.tls.has_beside("ucx");
  }
  void configure(const Options& options, TransportOptions& transports) const override {
    transports.ucx = load::ucx_options(options.ucx);
  }
  std::string_view host_note(bool same_host) const override {
    return same_host ? ": UCX may use shared memory" : ": UCX needs a network transport";
  }
  std::string probe_text(const Probe& probe, const Options& options) const override;
  void add_probe_json(const Probe& probe, const Options& options, Json& connection) const override;

 private:
  Result<UcxFacts> facts_;
};

std::string UcxCarrier::text(const Options& options) const {
  std::string text = heading("UCX");
  if (!facts_.ok()) return text + "  " + std::string{facts_.status().message()} + "\n";
  text += row("version", facts_->version + ", compiled with the headers of " + facts_->compiled_version);
  text += "\n" + heading("Transports and their devices (those that these options open)");
  text += resources_text(facts_->resources);
  for (const std::string& name : missing_names(*facts_, options.ucx)) {
    text += row("not here", name + ": nothing of that name can be opened (ucx_info -d lists what can)");
  }
  text += "\n" + heading("Weft's options for ucx:// (UcxOptions)");
  text += words_text(effective_ucx_options(options));
  text += "\n" + heading(options.all ? "Settings of UCX"
                                     : "Settings of UCX that differ from its own (--all: all of them)");
  return text + settings_text(facts_->settings, options.all);
}

std::string UcxCarrier::probe_text(const Probe& probe, const Options& options) const {
  const std::vector<Lane> lanes = lanes_of(probe);
  std::string text = row("error mode", options.ucx.mode_none ? "none, on both sides" : "peer, on both sides");
  for (const Lane& lane : lanes) text += row(lane.transport + " on " + lane.device, uses_text(lane));
  if (lanes.empty()) text += probe.description;
  if (!facts_.ok()) return text;
  for (const std::string& reason : reasons(lanes, probe.same_host, *facts_, options)) {
    text += row("why", reason);
  }
  return text;
}

void UcxCarrier::add_probe_json(const Probe& probe, const Options& options, Json& connection) const {
  const std::vector<Lane> lanes = lanes_of(probe);
  connection["lanes"] = Json::array();
  for (const Lane& lane : lanes) {
    connection["lanes"].push_back(
        {{"transport", lane.transport}, {"device", lane.device}, {"uses", lane.uses}});
  }
  if (facts_.ok()) connection["why"] = reasons(lanes, probe.same_host, *facts_, options);
}

}  // namespace

std::unique_ptr<CarrierFacts> ucx_carrier(Result<UcxFacts> facts) {
  return std::make_unique<UcxCarrier>(std::move(facts));
}

std::vector<Word> effective_ucx_options(const Options& options) {
  const UcxOptions ucx = load::ucx_options(options.ucx);
  return {policy_word("connecting", ucx.connecting, "ucx://"),
          policy_word("listening", ucx.listening, "ucx://"),
          choice_word("transports", ucx.transports, "UCX_TLS"),
          choice_word("devices", ucx.devices, "UCX_NET_DEVICES"),
          {"trusted_network", ucx.trusted_network ? "yes" : "no"},
          {"error_mode", ucx.error_mode == UcxErrorMode::kPeer ? "peer" : "none"},
          size_word("window_bytes", ucx.window_bytes),
          size_word("message_bytes", ucx.message_bytes),
          size_word("rendezvous_bytes_min", ucx.rendezvous_bytes_min),
          milliseconds_word("bring_up_timeout_ms", ucx.bring_up_timeout)};
}

}  // namespace weft::info
