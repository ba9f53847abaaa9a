// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/url.hpp"

#include <algorithm>
#include <charconv>

namespace weft::detail {

namespace {

Status wrong(std::string_view text, std::string_view why) {
  return {
      StatusCode::kInvalidArgument, Layer::kTransport,
      "\"" + std::string{text} + "\" is not a URL: " + std::string{why} +
          " (tcp://127.0.0.1:9000 or 127.0.0.1:9000, tcp://[::1]:9000, unix:///run/name.sock, memory://name, "
          "tls://host:9000, ucx://127.0.0.1:9000, verbs://10.0.0.7:9000)"};
}

bool is_scheme(std::string_view text) {
  for (const char c : text) {
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9')) return false;
  }
  return !text.empty();
}

bool parse_port(std::string_view text, std::uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  const std::size_t colon = text.find("://");
  Url url;
  std::string_view rest = text;
  if (colon == std::string_view::npos) {
    url.scheme = "tcp";
  } else {
    url.scheme = text.substr(0, colon);
    if (!is_scheme(url.scheme)) return wrong(text, "the scheme is not of letters and digits");
    rest.remove_prefix(colon + 3);
  }
  if (rest.find('\0') != std::string_view::npos) return wrong(text, "there is a zero byte in it");
  if (url.scheme == "unix" || url.scheme == "memory") {
    if (rest.empty())
      return wrong(text, url.scheme == "unix" ? "the path is missing" : "the name is missing");
    if (url.scheme == "unix" && rest.front() != '/') return wrong(text, "the path is not absolute");
    url.host = rest;
    return url;
  }
  if (rest.find('/') != std::string_view::npos) {
    const bool one_slash = colon == std::string_view::npos && rest.find(":/") != std::string_view::npos;
    return wrong(text, one_slash ? "\"://\" follows the scheme" : "an address has no path");
  }
  // More colons than the one before the port.
  if (!rest.starts_with('[') && std::ranges::count(rest, ':') > 1) {
    return wrong(text, "there are several colons; an IPv6 address needs brackets");
  }
  const std::size_t bracket = rest.starts_with('[') ? rest.find(']') : 0;
  if (bracket == std::string_view::npos) return wrong(text, "the ']' is missing");
  const std::size_t port_at = rest.find(':', bracket);
  if (port_at == std::string_view::npos) {
    const bool is_known = std::ranges::find(kKnownSchemes, url.scheme) != kKnownSchemes.end();
    return wrong(text, is_known ? "the port is missing"
                                : "its scheme is none of these, and for any other the port is missing");
  }
  url.host = bracket > 0 ? rest.substr(1, bracket - 1) : rest.substr(0, port_at);
  if (url.host.empty() || url.host == "*") {
    return wrong(text,
                 "the host is missing; a server on 0.0.0.0 listens on every IPv4 address, on [::] on every "
                 "IPv6 address");
  }
  if (bracket > 0 && port_at != bracket + 1) return wrong(text, "something stands between ']' and ':'");
  if (!parse_port(rest.substr(port_at + 1), url.port)) {
    return wrong(text, "the port is not a number from 0 to 65535");
  }
  return url;
}

std::string Url::to_string() const {
  std::string text = scheme + "://";
  if (scheme == "unix" || scheme == "memory") return text + host;
  const bool bracketed = host.find(':') != std::string::npos;
  text += bracketed ? "[" + host + "]" : host;
  return text + ":" + std::to_string(port);
}

}  // namespace weft::detail
