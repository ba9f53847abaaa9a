// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "weft/detail/base/memory_runs.hpp"

namespace weft::detail {

/// Position in runs of memory, up to their end: bytes before it are consumed, bytes behind it are not.
/// Trivially copyable; a copy is a position of its own.
template <typename Byte>
class RunCursor {
 public:
  using Run = std::span<Byte>;

  RunCursor() = default;
  explicit RunCursor(const MemoryRuns<Byte>& runs) noexcept : runs_(runs) {}

  /// See MemoryRuns::is_shared().
  bool is_shared() const noexcept { return runs_.is_shared(); }
  /// The rest of the run that it is in; empty only at the end of all.
  Run rest() noexcept {
    while (run_ < runs_.count()) {
      const Run rest = runs_.run(run_).subspan(offset_);
      if (!rest.empty()) return rest;
      ++run_;
      offset_ = 0;
    }
    return {};
  }
  /// Passes `bytes` within rest().
  void pass(std::size_t bytes) noexcept { offset_ += bytes; }
  /// Advances by `bytes`, which must not exceed the number of bytes left.
  void advance(std::size_t bytes) noexcept {
    while (bytes > 0) {
      const std::size_t part = std::min(bytes, rest().size());
      if (part == 0) return;
      pass(part);
      bytes -= part;
    }
  }
  /// Calls `use` with each run, or part of one, of the next `bytes`, and passes them.
  template <typename Use>
  void take(std::size_t bytes, Use use) {
    while (bytes > 0) {
      const Run run = rest();
      if (run.empty()) return;
      const Run part = run.first(std::min(bytes, run.size()));
      pass(part.size());
      bytes -= part.size();
      use(part);
    }
  }
  /// Lists the next `bytes` in `places`, as far as `places` has room. Returns the number of entries used, and
  /// subtracts the listed bytes from `bytes`.
  std::size_t list(std::span<iovec> places, std::size_t& bytes) const noexcept {
    RunCursor at = *this;
    std::size_t count = 0;
    while (bytes > 0 && count < places.size()) {
      const Run run = at.rest();
      if (run.empty()) break;
      const std::size_t part = std::min(bytes, run.size());
      places[count++] = {const_cast<std::byte*>(run.data()), part};
      at.pass(part);
      bytes -= part;
    }
    return count;
  }

 private:
  MemoryRuns<Byte> runs_;
  std::size_t run_ = 0;
  std::size_t offset_ = 0;
};

}  // namespace weft::detail
