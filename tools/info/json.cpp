// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "info/missing.hpp"
#include "info/report.hpp"
#include "info/why.hpp"
#include "info/words.hpp"

namespace weft::info {
namespace {

using Json = nlohmann::ordered_json;

Json failure(const Status& status) {
  return {{"code", std::string{to_string(status.code())}},
          {"message", std::string{status.message()}},
          {"native", status.native()}};
}

Json ucx_json(const UcxFacts& facts, const std::vector<std::string>& missing, bool all) {
  Json json{{"version", facts.version}, {"compiled_with", facts.compiled_version}};
  json["resources"] = Json::array();
  for (const UcxResource& resource : facts.resources) {
    json["resources"].push_back({{"transport", resource.transport}, {"device", resource.device}});
  }
  if (!missing.empty()) json["not_here"] = missing;
  json["settings"] = Json::object();
  for (const UcxSetting& setting : facts.settings) {
    if (all || setting.differs()) {
      json["settings"][setting.name] = {{"value", setting.value}, {"default", setting.usual}};
    }
  }
  return json;
}

Json port_json(const RdmaPort& port) {
  Json json{{"port", port.number}, {"state", port.state},     {"link", port.link},    {"lid", port.lid},
            {"mtu", port.mtu},     {"mtu_max", port.mtu_max}, {"chosen", port.chosen}};
  json["gids"] = Json::array();
  for (const RdmaGid& gid : port.gids) {
    json["gids"].push_back(
        {{"index", gid.index}, {"type", gid.type}, {"address", gid.address}, {"chosen", gid.chosen}});
  }
  return json;
}

Json rdma_json(const RdmaFacts& facts) {
  Json json{{"devices", Json::array()}};
  for (const RdmaDevice& device : facts.devices) {
    Json described{{"name", device.name}, {"choice", device.choice}, {"ports", Json::array()}};
    if (!device.failure.empty()) described["failure"] = device.failure;
    for (const RdmaPort& port : device.ports) described["ports"].push_back(port_json(port));
    json["devices"].push_back(std::move(described));
  }
  return json;
}

Json words_json(const std::vector<Word>& words) {
  Json json;
  for (const Word& word : words) {
    if (word.number) {
      json[word.name] = *word.number;
    } else {
      json[word.name] = word.value;
    }
  }
  return json;
}

Json probe_json(const Probe& probe, const Options& options) {
  Json json{{"url", options.connect},
            {"local", probe.local},
            {"remote", probe.remote},
            {"carrier", probe.carrier},
            {"asked_for", to_string(probe.asked)},
            {"this_side", policy_name(probe.ours)},
            {"server", policy_name(probe.theirs)},
            {"same_host", probe.same_host},
            {"milliseconds", probe.milliseconds}};
  if (!probe.refusal.empty()) json["refusal"] = probe.refusal;
  json["passed_over"] = Json::array();
  for (const PassedOverCarrier& each : probe.passed_over) {
    json["passed_over"].push_back({{"carrier", to_string(each.kind)}, {"reason", each.reason}});
  }
  if (probe.carrier == "verbs") json["description"] = probe.description;
  json["lanes"] = Json::array();
  for (const Lane& lane : probe.lanes) {
    json["lanes"].push_back({{"transport", lane.transport}, {"device", lane.device}, {"uses", lane.uses}});
  }
  return json;
}

Json connection_json(const Report& report, const Options& options) {
  if (!report.probe.ok()) return {{"url", options.connect}, {"failure", failure(report.probe.status())}};
  Json json = probe_json(*report.probe, options);
  if (report.ucx.ok()) json["why"] = reasons(*report.probe, *report.ucx, options);
  return json;
}

}  // namespace

std::string to_json(const Report& report, const Options& options) {
  Json json;
  json["ucx"] = report.ucx.ok() ? ucx_json(*report.ucx, missing_names(*report.ucx, options.ucx), options.all)
                                : Json{{"failure", failure(report.ucx.status())}};
  json["options"] = words_json(effective_options(options));
  json["rdma"] =
      report.rdma.ok() ? rdma_json(*report.rdma) : Json{{"failure", failure(report.rdma.status())}};
  json["verbs_options"] = words_json(effective_verbs_options(options));
  if (!options.connect.empty()) json["connection"] = connection_json(report, options);
  return json.dump() + "\n";
}

}  // namespace weft::info
