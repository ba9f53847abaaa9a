// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/descriptor.hpp"
#include "weft/detail/base/status.hpp"

namespace weft::detail {

/// Outcome of one read: a number of bytes, or a failure. A read that must not wait may return neither.
struct ReadPart {
  std::size_t bytes = 0;
  Status failure{};
  /// The bytes are not in memory, so only a read that waits brings them.
  bool would_wait = false;
};

/// Descriptor of a file that is read at offsets, by any number of threads at the same time.
class OpenFile {
 public:
  OpenFile(Descriptor descriptor, std::string path) noexcept
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  /// Reads one byte or more into `into`, which has some. Waits for the disk.
  ReadPart read(std::uint64_t offset, MutableBytes into) const;
  /// The same, if it need not wait.
  ReadPart read_what_is_cached(std::uint64_t offset, MutableBytes into) const;

 private:
  ReadPart read(std::uint64_t offset, MutableBytes into, int flags) const;

  Descriptor descriptor_;
  std::string path_;
};

}  // namespace weft::detail
