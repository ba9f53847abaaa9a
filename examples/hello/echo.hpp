// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

inline std::string echo(std::string_view text) {
  return std::string{text};
}
