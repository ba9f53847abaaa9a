// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace weft::ucx::detail {

/// What `print(FILE*)` writes; empty when memory is out.
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

}  // namespace weft::ucx::detail
