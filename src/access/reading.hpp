// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "access/watched_file.hpp"
#include "weft/detail/base/log_lines.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/base/unique_function.hpp"

namespace weft::detail {

/// Adds to `lines` that the file has changed and was taken.
void add_taken(LogLines& lines, std::string_view what, const std::string& path) noexcept;
/// Adds to `lines` that the file has changed and the previous contents stay, because of `why`.
void add_kept(LogLines& lines, std::string_view what, const std::string& path, const Status& why) noexcept;

/// Returns stderr_logger() for null.
inline Logger& logger_or_stderr(Logger* logger) noexcept {
  return logger != nullptr ? *logger : stderr_logger();
}

/// Returns `fault`, which begins with a line's number, with the file's name before it.
Status fault_in(const std::string& path, const Status& fault) noexcept;

/// Checks `file` and passes changed contents to `take`, which returns their fault, if any. Adds the outcome
/// to `lines`: the logger may call what holds the caller's lock.
template <typename Take>
void read_again(WatchedFile& file, TimePoint now, LogLines& lines, std::string_view what,
                Take take) noexcept {
  try {
    const std::optional<Result<Secret>> text = file.look(now);
    if (!text) return;
    if (!text->ok()) return add_kept(lines, what, file.path(), text->status());
    const Result<void> taken = take(text->value().view());
    if (!taken.ok()) return add_kept(lines, what, file.path(), taken.status());
    add_taken(lines, what, file.path());
  } catch (const std::bad_alloc&) {
    file.forget();
    add_kept(lines, what, file.path(), Status::of<kOutOfMemory>());
  }
}

/// A file whose contents have a version, which grows each time that they are taken; several loops look at it.
/// Thread: any.
class VersionedFile {
 public:
  /// Takes new contents, or returns their fault. Throws std::bad_alloc.
  using Take = UniqueFunction<Result<void>(std::string_view)>;

  /// `what` is for the log, and outlives this.
  VersionedFile(std::string path, const AccessFileOptions& options, std::size_t bytes_max,
                std::string_view what, Take take)
      : file_(std::move(path), options.look_interval, bytes_max),
        logger_(logger_or_stderr(options.logger)),
        what_(what),
        take_(std::move(take)) {}

  const std::string& path() const noexcept { return file_.path(); }
  /// Reads it for the first time. Throws std::bad_alloc.
  Result<void> begin();
  /// Returns the version, after checking the file if that is due. If another loop is checking it, returns the
  /// current one.
  std::uint64_t version(TimePoint now) noexcept {
    if (file_.is_due(now)) [[unlikely]] {
      look(now);
    }
    return version_.load(std::memory_order_acquire);
  }

 private:
  Result<void> take(std::string_view text);
  void look(TimePoint now) noexcept;

  WatchedFile file_;
  Logger& logger_;
  const std::string_view what_;
  std::mutex looking_;
  Take take_;
  std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace weft::detail
