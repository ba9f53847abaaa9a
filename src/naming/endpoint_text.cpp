// SPDX-License-Identifier: Apache-2.0
#include "naming/endpoint_text.hpp"

#include <charconv>
#include <utility>

#include "weft/detail/base/peer_text.hpp"

namespace weft::detail {

namespace {

constexpr std::size_t kShownBytesMax = 100;

bool is_graphic(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

Status wrong(std::string_view text, std::string_view why) {
  return bad_name("\"" + peer_text(text, kShownBytesMax) + "\" is no endpoint: " + std::string{why} +
                  " (tcp://10.0.0.7:9000 weight=3 zone=a)");
}

std::string_view next_word(std::string_view& rest) {
  const std::size_t begin = std::min(rest.find_first_not_of(" \t\r"), rest.size());
  const std::size_t end = std::min(rest.find_first_of(" \t\r", begin), rest.size());
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

bool parse_weight(std::string_view text, std::uint32_t& weight) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
  return error == std::errc{} && end == text.data() + text.size() && weight <= kEndpointWeightMax;
}

}  // namespace

Status bad_name(std::string_view message) {
  return {StatusCode::kInvalidArgument, Layer::kRuntime, message};
}

Result<void> check_endpoint(const Endpoint& endpoint) {
  if (endpoint.url.empty()) return wrong(endpoint.url, "the URL is missing");
  if (endpoint.url.size() > kEndpointUrlBytesMax) return wrong(endpoint.url, "the URL is too long");
  // The layer that connects parses the URL; here it only has to be one word, and no comment or setting.
  if (!is_graphic(endpoint.url) || endpoint.url.find(':') == std::string::npos ||
      endpoint.url.find(',') != std::string::npos || endpoint.url.front() == '#') {
    return wrong(endpoint.url, "the URL has no colon, or holds a comma, a blank or what is no ASCII");
  }
  if (endpoint.zone.size() > kEndpointZoneBytesMax || !is_graphic(endpoint.zone) ||
      endpoint.zone.find(',') != std::string::npos) {
    return wrong(endpoint.zone, "the zone is too long, or holds a comma, a blank or what is no ASCII");
  }
  if (endpoint.weight > kEndpointWeightMax) return wrong(endpoint.url, "the weight is above 1000000");
  return {};
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  std::string_view rest = text;
  Endpoint endpoint{.url = std::string{next_word(rest).substr(0, kEndpointUrlBytesMax + 1)}};
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
    if (word.starts_with("weight=")) {
      if (!parse_weight(word.substr(7), endpoint.weight)) {
        return wrong(text, "the weight is no number from 0 to 1000000");
      }
    } else if (word.starts_with("zone=")) {
      endpoint.zone = word.substr(5, kEndpointZoneBytesMax + 1);
    } else {
      return wrong(text, "behind the URL stands what is neither weight= nor zone=");
    }
  }
  if (auto checked = check_endpoint(endpoint); !checked.ok()) return std::move(checked).status();
  return endpoint;
}

std::string to_text(const Endpoint& endpoint) {
  std::string text = endpoint.url + " weight=" + std::to_string(endpoint.weight);
  if (!endpoint.zone.empty()) text += " zone=" + endpoint.zone;
  return text;
}

Result<std::vector<Endpoint>> parse_lines(std::string_view text, std::size_t endpoints_max) {
  std::vector<Endpoint> endpoints;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return bad_name("line " + std::to_string(number) + " is not ended, so the file may be cut; end it");
    }
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    std::string_view look = line;
    const std::string_view first = next_word(look);
    if (first.empty() || first.front() == '#') continue;
    auto endpoint = parse_endpoint(line);
    if (!endpoint.ok()) return endpoint.status().with_context("line " + std::to_string(number));
    if (endpoints.size() == endpoints_max) {
      return Status{StatusCode::kResourceExhausted, Layer::kRuntime,
                    "more endpoints than NameOptions::endpoints_max allows; raise it if they are right"};
    }
    endpoints.push_back(std::move(*endpoint));
  }
  return endpoints;
}

}  // namespace weft::detail
