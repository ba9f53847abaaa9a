// SPDX-License-Identifier: Apache-2.0
#include "info/words.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weft::info {
namespace {

constexpr std::size_t kNameColumn = 22;

std::string size_text(std::size_t bytes) {
  if (bytes >= 1024 * 1024 && bytes % (1024 * 1024) == 0)
    return std::to_string(bytes / (1024 * 1024)) + " MiB";
  if (bytes >= 1024 && bytes % 1024 == 0) return std::to_string(bytes / 1024) + " KiB";
  return std::to_string(bytes) + " B";
}

}  // namespace

std::string policy_name(CarrierPolicy policy) {
  switch (policy) {
    case CarrierPolicy::kPrefer:
      return "prefer";
    case CarrierPolicy::kRequire:
      return "require";
    case CarrierPolicy::kForbid:
      break;
  }
  return "forbid";
}

Word count_word(std::string name, std::size_t count) {
  return {std::move(name), std::to_string(count), count};
}

Word size_word(std::string name, std::size_t bytes) {
  return {std::move(name), size_text(bytes), bytes};
}

Word milliseconds_word(std::string name, Duration time) {
  const auto milliseconds =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  return {std::move(name), std::to_string(milliseconds), milliseconds};
}

Word policy_word(std::string name, CarrierPolicy policy, std::string_view scheme) {
  const char* const of_url = name == "connecting" ? " URL requires it" : " URL offers it";
  Word word{std::move(name), policy_name(policy)};
  if (policy == CarrierPolicy::kForbid) {
    word.note = "with tcp:// and unix://; a " + std::string{scheme} + of_url;
  }
  return word;
}

std::string joined(const std::vector<std::string>& names, std::string_view when_empty) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ",") + name;
  return all.empty() ? std::string{when_empty} : all;
}

std::string row(std::string name, std::string_view value) {
  name.resize(std::max(name.size() + 1, kNameColumn), ' ');
  return "  " + name + std::string{value} + "\n";
}

std::string words_text(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) {
    text += row(word.name, word.note.empty() ? word.value : word.value + " (" + word.note + ")");
  }
  return text;
}

std::string heading(std::string_view words) {
  return std::string{words} + "\n";
}

}  // namespace weft::info
