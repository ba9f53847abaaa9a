// SPDX-License-Identifier: Apache-2.0
#include "access/lines.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {

namespace {

constexpr bool is_space(char c) {
  return c == ' ' || c == '\t';
}

constexpr bool is_control(char c) {
  return (c >= '\0' && c < ' ' && c != '\t') || c == '\x7F';
}

Result<Line> line_of(std::string_view text, std::size_t number) {
  Line line{number};
  while (true) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    if (text.empty() || text.front() == '#') return line;
    if (text.front() == '"') {
      const std::size_t end = text.find('"', 1);
      if (end == text.npos) return wrong_line(number, "a quote that begins does not end");
      if (end + 1 < text.size() && !is_space(text[end + 1])) {
        return wrong_line(number, "a quote ends within a word");
      }
      line.words.push_back(text.substr(1, end - 1));
      text.remove_prefix(end + 1);
      continue;
    }
    const std::size_t end = static_cast<std::size_t>(std::ranges::find_if(text, is_space) - text.begin());
    if (text.substr(0, end).find('"') != text.npos) return wrong_line(number, "a quote begins within a word");
    line.words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

Status wrong_line(std::size_t number, const std::string& why) {
  return {StatusCode::kInvalidArgument, Layer::kRpc, std::to_string(number) + ": " + why};
}

Result<void> check_ended(std::string_view text) {
  if (text.empty() || text.ends_with('\n')) return {};
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  return wrong_line(lines + 1, "the line is not ended, so the file may be cut; end it with a newline");
}

Result<std::vector<Line>> lines_of(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::ranges::any_of(line, is_control)) {
      return wrong_line(number, "the line has a character that is no text");
    }
    Result<Line> words = line_of(line, number);
    if (!words.ok()) return std::move(words).status();
    if (!words->words.empty()) lines.push_back(*std::move(words));
  }
  return lines;
}

}  // namespace weft::detail
