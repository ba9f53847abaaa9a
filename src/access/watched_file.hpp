// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/detail/access/file_options.hpp"
#include "weft/detail/base/keyed_hash.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/secret.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// A file that is looked at from time to time, by whoever comes by, and read when it is another. Thread: any
/// for is_due(), one at a time for the rest.
class WatchedFile {
 public:
  WatchedFile(std::string path, Duration look_interval, std::size_t bytes_max);

  const std::string& path() const noexcept { return path_; }
  /// It is time for a look.
  bool is_due(TimePoint now) const noexcept {
    return now.time_since_epoch().count() >= next_look_.load(std::memory_order_relaxed);
  }
  /// Returns its contents. Errors: of the system (errno), kFailedPrecondition when it is no regular file,
  /// kResourceExhausted when it is too long. Throws std::bad_alloc.
  Result<Secret> read();
  /// Looks at it, and reads it if it is not what was read last: contents, or what is wrong now and was not
  /// before. None: nothing has changed. Throws std::bad_alloc.
  std::optional<Result<Secret>> look(TimePoint now);
  /// Has the next look read it again, since what was read could not be taken.
  void forget() noexcept { stamp_ = Stamp{}, contents_ = 0; }

 private:
  /// Facts of a file that is another when they are.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;
    timespec changed{};
    int error = 0;
    bool operator==(const Stamp& other) const noexcept;
  };
  static Stamp stamp_of(const struct stat& facts) noexcept;
  Stamp stamp() const noexcept;
  void note(const Stamp& stamp) noexcept;

  const std::string path_;
  const Duration look_interval_;
  const std::size_t bytes_max_;
  const KeyedHash hash_ = KeyedHash::of_system();
  std::atomic<std::int64_t> next_look_;
  Stamp stamp_;
  std::uint64_t contents_ = 0;
};

}  // namespace weft::detail
