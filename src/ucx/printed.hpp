// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace weft::ucx::detail {

/// Returns what `print(FILE*)` writes; empty when memory is exhausted.
template <typename Print>
std::string printed(Print&& print) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = ::open_memstream(&text, &size);
  if (stream == nullptr) return {};
  print(stream);
  std::fclose(stream);
  std::string copy{text, size};
  std::free(text);
  return copy;
}

/// The value of `variable` in lines of "VARIABLE=value", as UCX prints settings.
inline std::optional<std::string> value_in(std::string_view lines, const std::string& variable) {
  const std::string begin = variable + "=";
  for (std::size_t at = 0; at < lines.size();) {
    const std::string_view line = lines.substr(at, lines.find('\n', at) - at);
    if (line.starts_with(begin)) return std::string{line.substr(begin.size())};
    at += line.size() + 1;
  }
  return std::nullopt;
}

}  // namespace weft::ucx::detail
