// SPDX-License-Identifier: Apache-2.0
#include "info/json.hpp"

#include <nlohmann/json.hpp>

#include "info/report.hpp"

namespace weft::info {
namespace {

Json probe_json(const Report& report, const Options& options) {
  const Probe& probe = *report.probe;
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
  for (const auto& carrier : report.carriers) carrier->add_probe_json(probe, options, json);
  return json;
}

}  // namespace

Json failure_json(const Status& status) {
  return {{"code", std::string{to_string(status.code())}},
          {"message", std::string{status.message()}},
          {"native", status.native()}};
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

std::string to_json(const Report& report, const Options& options) {
  Json json;
  for (const auto& carrier : report.carriers) carrier->add_json(options, json);
  if (!options.connect.empty()) {
    json["connection"] =
        report.probe.ok() ? probe_json(report, options)
                          : Json{{"url", options.connect}, {"failure", failure_json(report.probe.status())}};
  }
  return json.dump() + "\n";
}

}  // namespace weft::info
