// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/runtime/worker_pool.hpp"

namespace weft {

namespace detail {
class OpenFile;
}  // namespace detail

/// A regular file with bytes to be sent as attachments: read in parts, without making a loop wait for the
/// disk.
///
/// Bytes in the system's cache are copied on the loop, 256 KiB at a time, and other work runs in between. For
/// the rest a thread of the pool waits. Copies share one descriptor, which is closed with the last of them
/// and the last read.
///
/// Thread: any for open(); the reads of one file may run on several loops at the same time.
class File {
 public:
  /// Opens the file at `path` for reading. Waits for the file system, so a coroutine that serves calls opens
  /// its files by `co_await on_worker(workers, ...)`, or before it serves. `workers` must outlive every read.
  /// Errors: those of the system, with errno as the native code: kNotFound, kPermissionDenied and so on;
  /// kFailedPrecondition for anything but a regular file.
  static Result<File> open(const std::string& path, WorkerPool& workers);

  /// Number of bytes that it had when it was opened.
  std::uint64_t size() const noexcept { return size_; }

  /// Reads `bytes` from `offset` on into memory of their own. Errors: as below, and kResourceExhausted when
  /// memory is exhausted.
  Task<Result<Buffer>> read(std::uint64_t offset, std::size_t bytes) const;
  /// Reads from `offset` into the whole of `into`, and returns it: for memory of the user's, such as memory
  /// registered with a device. A failure destroys the buffer.
  ///
  /// Cancel: stops reading, and fails with to_status(reason). When cancelled or dropped, the buffer is
  /// destroyed when no thread writes to it any more. Errors: kOutOfRange when the file ends before that;
  /// those of the system; those of on_worker(), such as kResourceExhausted for a pool with a full queue.
  Task<Result<Buffer>> read(std::uint64_t offset, Buffer into) const;

 private:
  File(std::shared_ptr<const detail::OpenFile> opened, std::uint64_t size, WorkerPool& workers) noexcept
      : opened_(std::move(opened)), size_(size), workers_(&workers) {}

  std::shared_ptr<const detail::OpenFile> opened_;
  std::uint64_t size_ = 0;
  WorkerPool* workers_;
};

}  // namespace weft
