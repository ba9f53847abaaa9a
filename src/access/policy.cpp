// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/access/policy.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "access/lines.hpp"

namespace weft {

namespace {

using detail::wrong_line;

constexpr std::string_view kSpiffe = "spiffe://";
constexpr std::string_view kAnyone = "anyone";
constexpr std::string_view kKnown = "known";
constexpr std::array<std::string_view, 10> kPrefixes = {
    kSpiffe, "dns:", "uri:", "cn:", "subject:", "token:", "uid:", "gid:", "group:", "role:"};

/// A * stands for any characters. Time: of the lengths of both multiplied, at most.
bool matches(std::string_view pattern, std::string_view text) noexcept {
  std::size_t at = 0;
  std::size_t in_text = 0;
  std::size_t star = pattern.npos;
  std::size_t star_in_text = 0;
  while (in_text < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_in_text = in_text;
    } else if (at < pattern.size() && pattern[at] == text[in_text]) {
      ++at;
      ++in_text;
    } else if (star != pattern.npos) {
      at = star + 1;
      in_text = ++star_in_text;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == pattern.npos;
}

std::string known_forms() {
  std::string forms = "anyone, known";
  for (const std::string_view prefix : kPrefixes) forms += ", " + std::string{prefix} + "...";
  return forms;
}

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Returns the fault of a name in a rule; empty when there is none.
std::string fault_of_name(std::string_view prefix, std::string_view name) {
  if (name.empty()) return "nothing follows " + std::string{prefix};
  if (prefix == kSpiffe && name.substr(0, name.find('/')).find('*') != name.npos) {
    return "a * in the trust domain of a SPIFFE id would let in other domains; write spiffe://DOMAIN/*";
  }
  if (prefix == kSpiffe && name.find('/') == name.npos && name.find('*') != name.npos) {
    return "a SPIFFE id has a path behind its domain";
  }
  if (prefix == "dns:") {
    const std::size_t star = name.rfind('*');
    if (star != name.npos && (star != 0 || !name.starts_with("*.") || name.size() < 3)) {
      return "a * in a DNS name stands only for what is before a domain, as in dns:*.example.com";
    }
  }
  if ((prefix == "uid:" || prefix == "gid:") && name != "*" && !std::ranges::all_of(name, is_digit)) {
    return std::string{prefix} + " is followed by a number, or by *";
  }
  return {};
}

Result<std::string> who_of(std::string_view word, std::size_t line) {
  if (word == kAnyone || word == kKnown) return std::string{word};
  const auto* const prefix =
      std::ranges::find_if(kPrefixes, [&](std::string_view each) { return word.starts_with(each); });
  if (prefix == kPrefixes.end()) {
    return wrong_line(line, "\"" + std::string{word} + "\" is nobody; it is one of " + known_forms());
  }
  if (const std::string fault = fault_of_name(*prefix, word.substr(prefix->size())); !fault.empty()) {
    return wrong_line(line, fault);
  }
  std::string who{word};
  if (*prefix == "dns:") {
    std::ranges::transform(
        who, who.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  }
  return who;
}

class PolicyAuthorizer final : public Authorizer {
 public:
  explicit PolicyAuthorizer(Policy policy) : policy_(std::move(policy)) {}
  bool may_call(const Identity& caller, std::string_view method) noexcept override {
    return policy_.allows(caller, method);
  }
  bool may_know_methods(const Identity& caller) noexcept override {
    return policy_.allows_everything(caller);
  }

 private:
  const Policy policy_;
};

}  // namespace

Result<Policy> Policy::parse(std::string_view text) {
  if (text.size() > kTextBytesMax) return wrong_line(1, "a policy has at most a MiB");
  const Result<std::vector<detail::Line>> lines = detail::lines_of(text);
  if (!lines.ok()) return lines.status();
  Policy policy;
  for (const detail::Line& line : *lines) {
    if (line.words.front() != "allow") {
      return wrong_line(line.number, "a rule begins with \"allow\", not with \"" +
                                         std::string{line.words.front().substr(0, 100)} + "\"");
    }
    if (line.words.size() < 3) return wrong_line(line.number, "a rule is \"allow WHO METHOD...\"");
    if (policy.rules_.size() == kRulesMax) {
      return wrong_line(line.number, "a policy has at most " + std::to_string(kRulesMax) + " rules");
    }
    Result<std::string> who = who_of(line.words[1], line.number);
    if (!who.ok()) return std::move(who).status();
    Rule& rule = policy.rules_.emplace_back(Rule{*std::move(who), {}});
    for (std::size_t i = 2; i < line.words.size(); ++i) {
      if (line.words[i].empty()) return wrong_line(line.number, "a method's name has no text");
      rule.methods.emplace_back(line.words[i]);
    }
  }
  if (policy.rules_.empty()) return wrong_line(1, "there is no rule; \"allow anyone *\" is the least strict");
  return policy;
}

bool Policy::is_about(const Rule& rule, const Identity& caller) noexcept {
  if (rule.who == kAnyone) return true;
  if (rule.who == kKnown) return !caller.is_anonymous();
  return std::ranges::any_of(caller.names(),
                             [&](const std::string& name) { return matches(rule.who, name); });
}

bool Policy::allows(const Identity& caller, std::string_view method) const noexcept {
  return std::ranges::any_of(rules_, [&](const Rule& rule) {
    const auto covers = [&](const std::string& pattern) { return matches(pattern, method); };
    return is_about(rule, caller) && std::ranges::any_of(rule.methods, covers);
  });
}

bool Policy::allows_everything(const Identity& caller) const noexcept {
  return std::ranges::any_of(rules_, [&](const Rule& rule) {
    return is_about(rule, caller) && std::ranges::find(rule.methods, "*") != rule.methods.end();
  });
}

std::shared_ptr<Authorizer> authorize_by(Policy policy) {
  return std::make_shared<PolicyAuthorizer>(std::move(policy));
}

}  // namespace weft
