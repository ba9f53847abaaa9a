// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "weft/detail/base/memory_runs.hpp"

namespace weft::detail {

/// Place in runs of memory, which goes on to their end: what was before it is used, what is behind it is not.
/// Trivially copyable; a copy is a place of its own.
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
  /// Passes `bytes` of what is behind it, of which there are as many.
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
  /// Lists the next `bytes` in `places`, as far as these go. Returns how many are used, and takes from
  /// `bytes` what is listed.
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
