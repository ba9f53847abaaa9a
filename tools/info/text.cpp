// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "info/report.hpp"
#include "info/words.hpp"

namespace weft::info {
namespace {

std::string ours_text(const Probe& probe, const CarrierNames& asked, const Options& options) {
  const bool is_tls = options.connect.starts_with("tls");
  const std::string& flag = is_tls ? asked.beside_tls_flag : asked.prefer_flag;
  if (probe.ours == CarrierPolicy::kRequire) {
    return "requires " + asked.title + ", because the URL begins with " + asked.scheme;
  }
  if (probe.ours == CarrierPolicy::kPrefer) {
    return "uses " + asked.title + " if it can be had (" + flag + ")";
  }
  const bool is_tcp = !is_tls && !options.connect.starts_with("unix");
  return "does not ask for " + asked.title + (is_tcp ? " (a " + asked.scheme + " URL or " : " (") + flag +
         " does)";
}

std::string theirs_text(const Probe& probe, const CarrierNames& asked) {
  if (probe.theirs == CarrierPolicy::kRequire) return "requires " + asked.title;
  return (probe.theirs == CarrierPolicy::kPrefer ? "offers " : "does not offer ") + asked.title;
}

std::string host_text(const Probe& probe, const CarrierFacts& asked) {
  return (probe.same_host ? "yes, by the addresses" : "no, by the addresses") +
         std::string{asked.host_note(probe.same_host)};
}

std::string probe_text(const Report& report, const Options& options) {
  const Result<Probe>& probe = report.probe;
  std::string text = heading("Connecting to " + options.connect);
  if (!probe.ok()) return text + row("failed", probe.status().to_string());
  const CarrierFacts& asked = carrier_of(report.carriers, probe->asked);
  const CarrierFacts& carrier = carrying(report.carriers, *probe);
  char took[32];
  std::snprintf(took, sizeof took, "%.1f ms", probe->milliseconds);
  text += row("from, to", probe->local + ", " + probe->remote);
  text += row("up after", took);
  text += row("this side", ours_text(*probe, asked.names(), options));
  text += row("the server", theirs_text(*probe, asked.names()));
  text += row("same host", host_text(*probe, asked));
  text += row("carried by", carrier.carries_text(*probe));
  if (!probe->refusal.empty()) text += row("because", probe->refusal);
  for (const PassedOverCarrier& each : probe->passed_over) {
    text += row("passed over", std::string{to_string(each.kind)} + ": " + each.reason);
  }
  return text + carrier.probe_text(*probe, options);
}

}  // namespace

int exit_code_of(const Report& report, const Options& options) {
  const bool failed = std::any_of(report.carriers.begin(), report.carriers.end(),
                                  [&](const auto& carrier) { return carrier->failed(options); });
  return failed || !report.probe.ok() ? 1 : 0;
}

std::string to_text(const Report& report, const Options& options) {
  std::string text;
  const auto add = [&](const std::string& part) {
    text += (text.empty() || part.empty() ? "" : "\n") + part;
  };
  for (const auto& carrier : report.carriers) add(carrier->text(options));
  if (!options.connect.empty()) add(probe_text(report, options));
  return text;
}

}  // namespace weft::info
