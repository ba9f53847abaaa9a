// SPDX-License-Identifier: Apache-2.0
#include "access/reading.hpp"

namespace weft::detail {

void add_taken(LogLines& lines, std::string_view what, const std::string& path) noexcept {
  lines.add(LogLevel::kInfo, [&] {
    return "the " + std::string{what} + " in " + path + " has changed, and counts from now on";
  });
}

void add_kept(LogLines& lines, std::string_view what, const std::string& path, const Status& why) noexcept {
  lines.add(LogLevel::kError, [&] {
    return "the " + std::string{what} + " in " + path +
           " has changed and is no good, so what it was before still counts: " + why.to_string();
  });
}

Status fault_in(const std::string& path, const Status& fault) noexcept {
  return {fault.code(), fault.layer(), [&] { return path + ":" + std::string{fault.message()}; }};
}

Result<void> VersionedFile::begin() {
  const Result<Secret> text = file_.read();
  return text.ok() ? take(text->view()) : Result<void>{text.status()};
}

Result<void> VersionedFile::take(std::string_view text) {
  Result<void> taken = take_(text);
  if (taken.ok()) version_.fetch_add(1, std::memory_order_release);
  return taken;
}

void VersionedFile::look(TimePoint now) noexcept {
  LogLines lines;
  {
    const std::unique_lock looking{looking_, std::try_to_lock};
    if (!looking.owns_lock() || !file_.is_due(now)) return;
    read_again(file_, now, lines, what_, [this](std::string_view text) { return take(text); });
  }
  lines.write_to(logger_);
}

}  // namespace weft::detail
