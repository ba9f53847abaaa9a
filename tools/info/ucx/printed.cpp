// SPDX-License-Identifier: Apache-2.0
// What UCX prints for people, read back. No UCX in here: what is not understood is left out.
#include "info/ucx/facts.hpp"
#include "info/ucx/lanes.hpp"

namespace weft::info {
namespace {

/// The text up to `end`, taken off the front of `rest` together with it; all of it when there is none.
std::string_view take_until(std::string_view& rest, char end) {
  const std::size_t at = rest.find(end);
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return taken;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    if (const std::string_view word = take_until(line, ' '); !word.empty()) words.push_back(word);
  }
  return words;
}

/// "tcp/lo" of "3:tcp/lo.0"; empty when it is none.
std::string_view resource_of(std::string_view word) {
  const std::size_t number = word.find_first_not_of("0123456789");
  if (number != std::string_view::npos && word[number] == ':') word.remove_prefix(number + 1);
  const std::size_t path = word.rfind('.');
  if (path != std::string_view::npos && path > word.rfind('/')) word = word.substr(0, path);
  return word.find('/') == std::string_view::npos ? std::string_view{} : word;
}

UcxResource split(std::string_view resource) {
  const std::string transport{take_until(resource, '/')};
  return {transport, std::string{resource}};
}

/// Lanes are used for "am_bw#0": the number only orders those of a kind.
std::string use_of(std::string_view word) {
  return std::string{word.substr(0, word.find('#'))};
}

}  // namespace

std::vector<UcxResource> parse_resources(std::string_view description) {
  std::vector<UcxResource> resources;
  while (!description.empty()) {
    const auto words = words_of(take_until(description, '\n'));
    if (words.size() < 4 || words[0] != "#" || words[1] != "resource") continue;
    const std::string_view resource = resource_of(words.back());
    if (!resource.empty()) resources.push_back(split(resource));
  }
  return resources;
}

std::vector<std::pair<std::string, std::string>> parse_settings(std::string_view lines) {
  std::vector<std::pair<std::string, std::string>> settings;
  while (!lines.empty()) {
    std::string_view line = take_until(lines, '\n');
    if (line.empty() || line[0] == '#' || line.find('=') == std::string_view::npos) continue;
    std::string name{take_until(line, '=')};
    settings.emplace_back(std::move(name), std::string{line});
  }
  return settings;
}

std::vector<Lane> parse_lanes(std::string_view description) {
  std::vector<Lane> lanes;
  while (!description.empty()) {
    const auto words = words_of(take_until(description, '\n'));
    if (words.size() < 3 || !words[1].starts_with("lane[")) continue;
    const std::string_view resource = resource_of(words[2]);
    if (resource.empty()) continue;
    UcxResource parts = split(resource);
    Lane lane{std::move(parts.transport), std::move(parts.device), {}};
    // lane[0]: 3:tcp/lo.0 md[1] -> md[1]/tcp/sysdev[255] am am_bw#0 wireup
    std::size_t at = 3;
    while (at < words.size() && words[at] != "->") ++at;
    for (at += 2; at < words.size(); ++at) lane.uses.push_back(use_of(words[at]));
    lanes.push_back(std::move(lane));
  }
  return lanes;
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

}  // namespace weft::info
