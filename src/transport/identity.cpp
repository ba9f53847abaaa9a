// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/identity.hpp"

#include <algorithm>
#include <utility>

namespace weft {

namespace {

constexpr std::size_t kHostBytesMax = 253;
constexpr std::string_view kSpiffe = "spiffe://";

constexpr bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr char lowered(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr bool is_visible(char c) {
  return c > ' ' && c < '\x7F';
}

bool is_word(std::string_view text, std::size_t bytes_max) {
  return !text.empty() && text.size() <= bytes_max && std::ranges::all_of(text, is_visible);
}

// Of a subject or a common name, which may have spaces.
bool is_line(std::string_view text) {
  const auto is_text = [](char c) { return c == ' ' || is_visible(c); };
  return !text.empty() && text.size() <= Identity::kNameBytesMax && std::ranges::all_of(text, is_text);
}

// Source: SPIFFE-ID, sections 2.1 to 2.4.
bool is_spiffe_id(std::string_view uri) {
  if (!uri.starts_with(kSpiffe)) return false;
  uri.remove_prefix(kSpiffe.size());
  const std::string_view domain = uri.substr(0, uri.find('/'));
  const auto of_domain = [](char c) {
    return is_lower(c) || is_digit(c) || c == '.' || c == '-' || c == '_';
  };
  if (domain.empty() || domain.size() > 255 || !std::ranges::all_of(domain, of_domain)) return false;
  std::string_view path = uri.substr(domain.size());
  const auto of_path = [](char c) {
    return is_lower(lowered(c)) || is_digit(c) || c == '.' || c == '-' || c == '_';
  };
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view segment = path.substr(0, path.find('/'));
    if (segment.empty() || segment == "." || segment == ".." || !std::ranges::all_of(segment, of_path)) {
      return false;
    }
    path.remove_prefix(segment.size());
  }
  return true;
}

}  // namespace

Identity Identity::of_certificate(const Certificate& contents) {
  auto facts = std::make_shared<Facts>();
  facts->kind = Kind::kCertificate;
  // A certificate with two URIs has no SPIFFE id (X509-SVID, section 2).
  if (contents.uris.size() == 1 && contents.uris.front().size() <= kNameBytesMax &&
      is_spiffe_id(contents.uris.front())) {
    facts->spiffe = contents.uris.front();
    facts->names.push_back(facts->spiffe);
  }
  const auto has_room = [&] { return facts->names.size() < kNamesMax - 2; };
  for (const std::string& name : contents.dns_names) {
    if (!has_room()) break;
    if (!is_word(name, kHostBytesMax)) continue;
    std::string& kept = facts->dns_names.emplace_back(name);
    std::ranges::transform(kept, kept.begin(), lowered);
    facts->names.push_back("dns:" + kept);
  }
  for (const std::string& uri : contents.uris) {
    if (!has_room()) break;
    if (!is_word(uri, kNameBytesMax)) continue;
    facts->uris.push_back(uri);
    if (uri != facts->spiffe) facts->names.push_back("uri:" + uri);
  }
  if (is_line(contents.common_name)) facts->names.push_back("cn:" + contents.common_name);
  if (is_line(contents.subject)) {
    facts->subject = contents.subject;
    facts->names.push_back("subject:" + contents.subject);
  }
  return Identity{std::move(facts)};
}

Identity Identity::of_process(const Process& process) {
  auto facts = std::make_shared<Facts>();
  facts->kind = Kind::kUnixProcess;
  facts->process = process;
  facts->names.push_back("uid:" + std::to_string(process.uid));
  facts->names.push_back("gid:" + std::to_string(process.gid));
  return Identity{std::move(facts)};
}

Identity Identity::of_token(std::string_view subject, std::vector<std::string> more) {
  auto facts = std::make_shared<Facts>();
  facts->kind = Kind::kToken;
  facts->subject = subject;
  facts->names.push_back("token:" + facts->subject);
  facts->names.insert(facts->names.end(), std::make_move_iterator(more.begin()),
                      std::make_move_iterator(more.end()));
  return Identity{std::move(facts)};
}

std::span<const std::string> Identity::dns_names() const noexcept {
  return facts_ != nullptr ? std::span<const std::string>{facts_->dns_names} : std::span<const std::string>{};
}

std::span<const std::string> Identity::uris() const noexcept {
  return facts_ != nullptr ? std::span<const std::string>{facts_->uris} : std::span<const std::string>{};
}

std::span<const std::string> Identity::names() const noexcept {
  return facts_ != nullptr ? std::span<const std::string>{facts_->names} : std::span<const std::string>{};
}

std::string_view Identity::name() const noexcept {
  if (is_anonymous()) return "anonymous";
  if (facts_->names.empty()) return "a certificate without a name";
  return facts_->names.front();
}

std::string_view to_string(Identity::Kind kind) {
  switch (kind) {
    case Identity::Kind::kAnonymous:
      return "anonymous";
    case Identity::Kind::kCertificate:
      return "certificate";
    case Identity::Kind::kUnixProcess:
      return "Unix process";
    case Identity::Kind::kToken:
      return "token";
  }
  return "?";
}

}  // namespace weft
