// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/detail/base/result.hpp"
#include "weft/detail/base/secret.hpp"

namespace weft::detail {

/// Facts of a file that differ once the file has changed, so that a change is seen without reading.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t bytes = -1;
  std::int64_t changed_ns = 0;
  /// The errno of a file that cannot be looked at.
  int error = 0;

  constexpr bool is_there() const noexcept { return error == 0 && bytes >= 0; }
  /// True if the file changed a moment ago: the system's clock for stamps is coarse, so another change may
  /// leave the same stamp.
  bool is_young() const noexcept;
  bool operator==(const FileStamp&) const = default;
};

/// Returns the stamp of the file that `path` leads to.
FileStamp stamp_of_file(const std::string& path) noexcept;

/// True if the writer of a file whose stamp went from `before` to `now` may not be done: the file was written
/// in place, or was missing before. Another file in its place was renamed there, and is whole.
constexpr bool may_be_half_written(const FileStamp& before, const FileStamp& now) noexcept {
  const bool same_file = before.device == now.device && before.inode == now.inode;
  return now.is_there() && (!before.is_there() || same_file);
}

/// Contents of a file, and the stamp that the file had before and after reading.
struct FileText {
  Secret text;
  FileStamp stamp;
};

/// Reads a regular file; does not open pipes or devices, which could block or never end. Errors, of `layer`:
/// those of the system (errno), kFailedPrecondition for anything but a regular file, kResourceExhausted above
/// `bytes_max`, kUnavailable for a file that changed meanwhile. Throws std::bad_alloc.
Result<FileText> read_file(Layer layer, const std::string& path, std::size_t bytes_max);

}  // namespace weft::detail
