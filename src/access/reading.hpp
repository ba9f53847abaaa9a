// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "access/watched_file.hpp"
#include "weft/base/log.hpp"
#include "weft/base/result.hpp"
#include "weft/base/time.hpp"

namespace weft::detail {

/// Where a file's keeper says what became of a change of it.
class AccessLog {
 public:
  /// Null: stderr_logger().
  explicit AccessLog(Logger* logger) : logger_(logger != nullptr ? *logger : stderr_logger()) {}
  void taken(std::string_view what, const std::string& path) noexcept;
  void kept(std::string_view what, const std::string& path, const Status& why) noexcept;

 private:
  Logger& logger_;
};

/// Returns `fault`, which begins with a line's number, with the file's name before it.
Status fault_in(const std::string& path, const Status& fault) noexcept;

/// Looks at `file` and gives what is new to `take`, which returns what is wrong with it; the log hears what
/// became of it.
template <typename Take>
void read_again(WatchedFile& file, TimePoint now, AccessLog& log, std::string_view what, Take take) noexcept {
  try {
    const std::optional<Result<Secret>> text = file.look(now);
    if (!text) return;
    if (!text->ok()) return log.kept(what, file.path(), text->status());
    const Result<void> taken = take(text->value().view());
    if (!taken.ok()) return log.kept(what, file.path(), taken.status());
    log.taken(what, file.path());
  } catch (const std::bad_alloc&) {
    file.forget();
    log.kept(what, file.path(), Status::of<kOutOfMemory>());
  }
}

}  // namespace weft::detail
