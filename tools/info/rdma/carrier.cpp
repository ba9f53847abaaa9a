// SPDX-License-Identifier: Apache-2.0
#include "info/rdma/carrier.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "info/json.hpp"
#include "load/carrier_options.hpp"
#include "weft/transports.hpp"

namespace weft::info {
namespace {

std::string port_text(const RdmaPort& port) {
  std::string text = port.state + ", " + port.link + ", MTU " + std::to_string(port.mtu);
  if (port.mtu != port.mtu_max) text += " of " + std::to_string(port.mtu_max);
  if (port.link == "InfiniBand") text += ", LID " + std::to_string(port.lid);
  return text;
}

std::string device_text(const RdmaDevice& device) {
  std::string text;
  if (!device.failure.empty()) text += row(device.name, device.failure);
  for (const RdmaPort& port : device.ports) {
    text += row(device.name + " port " + std::to_string(port.number), port_text(port));
    for (const RdmaGid& gid : port.gids) {
      text += row("  GID " + std::to_string(gid.index),
                  gid.type + ", " + gid.address + (gid.chosen ? "   <- chosen" : ""));
    }
  }
  if (!device.choice.empty()) text += row("  connections", device.choice);
  return text;
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

Json facts_json(const RdmaFacts& facts) {
  Json json{{"devices", Json::array()}};
  for (const RdmaDevice& device : facts.devices) {
    Json described{{"name", device.name}, {"choice", device.choice}, {"ports", Json::array()}};
    if (!device.failure.empty()) described["failure"] = device.failure;
    for (const RdmaPort& port : device.ports) described["ports"].push_back(port_json(port));
    json["devices"].push_back(std::move(described));
  }
  return json;
}

class RdmaCarrier final : public CarrierFacts {
 public:
  explicit RdmaCarrier(Result<RdmaFacts> facts) : facts_(std::move(facts)) {}

  CarrierNames names() const override {
    return {detail::wire::CarrierKind::kVerbs, "RDMA", "verbs://", "--prefer-rdma", "--beside-tls rdma"};
  }
  void look(const Options& options) override { facts_ = rdma_facts(options); }
  bool failed(const Options& options) const override {
    return is_failure(facts_.status(), options.rdma.any());
  }
  std::string text(const Options& options) const override;
  void add_json(const Options& options, Json& report) const override {
    report["rdma"] = facts_.ok() ? facts_json(*facts_) : Json{{"failure", failure_json(facts_.status())}};
    report["verbs_options"] = words_json(effective_verbs_options(options));
  }

  bool asked_for(const Options& options) const override {
    return options.rdma.prefer || options.connect.starts_with("verbs://") || options.tls.has_beside("rdma");
  }
  void configure(const Options& options, TransportOptions& transports) const override {
    transports.verbs = load::verbs_options(options.rdma);
  }
  std::string probe_text(const Probe& probe, const Options&) const override {
    return row("by", probe.description);
  }
  void add_probe_json(const Probe& probe, const Options&, Json& connection) const override {
    if (probe.carrier == "verbs") connection["description"] = probe.description;
  }

 private:
  Result<RdmaFacts> facts_;
};

std::string RdmaCarrier::text(const Options& options) const {
  std::string text = heading("RDMA devices");
  if (!facts_.ok()) return text + "  " + std::string{facts_.status().message()} + "\n";
  if (facts_->devices.empty()) {
    return text + "  this machine has none (./dev rdma-vm emulates one, for tests)\n";
  }
  for (const RdmaDevice& device : facts_->devices) text += device_text(device);
  if (facts_->devices.size() > 1 && options.rdma.device.empty()) {
    text += row("several devices", "connections take those that can be used in turn");
  }
  text += "\n" + heading("Weft's options for verbs:// (VerbsOptions)");
  return text + words_text(effective_verbs_options(options));
}

}  // namespace

std::unique_ptr<CarrierFacts> rdma_carrier(Result<RdmaFacts> facts) {
  return std::make_unique<RdmaCarrier>(std::move(facts));
}

std::vector<Word> effective_verbs_options(const Options& options) {
  const VerbsOptions verbs = load::verbs_options(options.rdma);
  return {policy_word("connecting", verbs.connecting, "verbs://"),
          policy_word("listening", verbs.listening, "verbs://"),
          {"connect_by", verbs.connect_by == VerbsConnect::kRdmaCm ? "rdma_cm" : "hello"},
          {"devices", joined(verbs.devices, "all, in turn")},
          {"gid_index", verbs.gid_index ? std::to_string(*verbs.gid_index) : "the best"},
          size_word("message_bytes", verbs.message_bytes),
          size_word("block_bytes", verbs.block_bytes),
          count_word("credits_min", verbs.credits_min),
          count_word("credits_max", verbs.credits_max),
          count_word("sends_max", verbs.sends_max),
          size_word("inline_bytes", verbs.inline_bytes),
          count_word("connections_max", verbs.connections_max),
          size_word("receive_bytes_max", verbs.receive_bytes_max),
          size_word("send_bytes_max", verbs.send_bytes_max),
          size_word("rendezvous_bytes_min", verbs.rendezvous_bytes_min),
          size_word("attachment_bytes_max", verbs.attachment_bytes_max),
          milliseconds_word("bring_up_timeout_ms", verbs.bring_up_timeout)};
}

}  // namespace weft::info
