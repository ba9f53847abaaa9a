// SPDX-License-Identifier: Apache-2.0
#include "access/reading.hpp"

namespace weft::detail {

void AccessLog::taken(std::string_view what, const std::string& path) noexcept {
  write_line(logger_, LogLevel::kInfo, [&] {
    return "the " + std::string{what} + " in " + path + " has changed, and counts from now on";
  });
}

void AccessLog::kept(std::string_view what, const std::string& path, const Status& why) noexcept {
  write_line(logger_, LogLevel::kError, [&] {
    return "the " + std::string{what} + " in " + path +
           " has changed and is no good, so what it was before still counts: " + why.to_string();
  });
}

Status fault_in(const std::string& path, const Status& fault) noexcept {
  return {fault.code(), fault.layer(), [&] { return path + ":" + std::string{fault.message()}; }};
}

}  // namespace weft::detail
