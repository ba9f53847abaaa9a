// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/detail/access/file_options.hpp"
#include "weft/detail/base/file_text.hpp"
#include "weft/detail/base/keyed_hash.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/secret.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// A file that callers look at from time to time, and read when it has changed. A file that is renamed over
/// the old one is read at the next look. A file that is written in place, or appears where none was, is read
/// once two looks in a row find the same, because its writer may not be done before. Thread: any for
/// is_due(), one at a time for the rest.
class WatchedFile {
 public:
  WatchedFile(std::string path, Duration look_interval, std::size_t bytes_max);

  const std::string& path() const noexcept { return path_; }
  /// It is time for a look.
  bool is_due(TimePoint now) const noexcept {
    return now.time_since_epoch().count() >= next_look_.load(std::memory_order_relaxed);
  }
  /// Returns its contents. Errors: see read_file(). Throws std::bad_alloc.
  Result<Secret> read();
  /// Checks the file, and reads it if it has changed: returns its new contents, or a new fault. None: nothing
  /// has changed. Throws std::bad_alloc.
  std::optional<Result<Secret>> look(TimePoint now);
  /// Makes the next look read it again, because its contents could not be taken.
  void forget() noexcept { unsure_ = true, contents_ = 0; }

 private:
  const std::string path_;
  const Duration look_interval_;
  const std::size_t bytes_max_;
  const KeyedHash hash_ = KeyedHash::of_system();
  std::atomic<std::int64_t> next_look_;
  FileStamp stamp_;  ///< of the file that was read last
  FileStamp seen_;   ///< of a change that the next look judges
  /// The file may have changed since without another stamp.
  bool unsure_ = false;
  std::uint64_t contents_ = 0;
};

}  // namespace weft::detail
