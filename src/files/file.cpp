// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/files/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <stop_token>

#include "files/open_file.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/yield.hpp"
#include "weft/detail/runtime/on_worker.hpp"

namespace weft {

namespace {

// On a loop: copied within some 50 us. On a worker: between two of them it is looked for a stop.
constexpr std::size_t kCachedPartBytes = 256 * 1024;
constexpr std::size_t kWaitedPartBytes = 1024 * 1024;

using Opened = std::shared_ptr<const detail::OpenFile>;

/// Place up to which a buffer is filled, from an offset of a file on.
struct Filling {
  std::uint64_t offset = 0;
  std::size_t filled = 0;

  std::uint64_t at() const noexcept { return offset + filled; }
  MutableBytes next(Buffer& into, std::size_t bytes_max) const noexcept {
    return into.mutable_bytes().subspan(filled, std::min(bytes_max, into.size() - filled));
  }
};

// Owns the file and the buffer, so that a dropped coroutine does not destroy them while they are used.
Result<Buffer> read_the_rest(const std::stop_token& stop, const Opened& file, Filling filling, Buffer into) {
  while (filling.filled < into.size() && !stop.stop_requested()) {
    detail::ReadPart part = file->read(filling.at(), filling.next(into, kWaitedPartBytes));
    if (!part.failure.ok()) return std::move(part).failure;
    filling.filled += part.bytes;
  }
  return into;
}

Task<Result<Buffer>> fill(Opened file, WorkerPool* workers, std::uint64_t offset, Buffer into) {
  const CancelScope* const scope = co_await this_cancel_scope();
  Filling filling{.offset = offset};
  while (filling.filled < into.size()) {
    if (scope != nullptr && scope->cancelled()) co_return to_status(scope->reason());
    detail::ReadPart part = file->read_what_is_cached(filling.at(), filling.next(into, kCachedPartBytes));
    if (!part.failure.ok()) co_return std::move(part).failure;
    if (part.would_wait) {
      Result<Buffer> whole =
          co_await on_worker(*workers, &read_the_rest, std::move(file), filling, std::move(into));
      if (scope != nullptr && scope->cancelled()) co_return to_status(scope->reason());
      co_return whole;
    }
    filling.filled += part.bytes;
    if (filling.filled < into.size()) co_await yield();
  }
  co_return into;
}

Task<Result<Buffer>> fill_new(Opened file, WorkerPool* workers, std::uint64_t offset, std::size_t bytes) {
  auto memory = Buffer::try_allocate(bytes);
  if (!memory.ok()) co_return std::move(memory).status();
  Task<Result<Buffer>> filling = fill(std::move(file), workers, offset, *std::move(memory));
  co_return co_await std::move(filling);
}

}  // namespace

Result<File> File::open(const std::string& path, WorkerPool& workers) {
  // Without O_NONBLOCK a pipe in the file's place would wait for a writer.
  detail::Descriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!descriptor && errno == ENOENT) {
    return Status{StatusCode::kNotFound, Layer::kRuntime, "open " + path + ": there is no such file", ENOENT};
  }
  if (!descriptor) return detail::errno_status(Layer::kRuntime, "open " + path, errno);
  struct stat facts{};
  if (::fstat(descriptor.get(), &facts) != 0)
    return detail::errno_status(Layer::kRuntime, "stat " + path, errno);
  if (!S_ISREG(facts.st_mode)) {
    return Status{StatusCode::kFailedPrecondition, Layer::kRuntime,
                  path + " is no regular file, and only such can be read at offsets"};
  }
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  return File{std::make_shared<const detail::OpenFile>(std::move(descriptor), path), size, workers};
}

Task<Result<Buffer>> File::read(std::uint64_t offset, std::size_t bytes) const {
  return fill_new(opened_, workers_, offset, bytes);
}

Task<Result<Buffer>> File::read(std::uint64_t offset, Buffer into) const {
  return fill(opened_, workers_, offset, std::move(into));
}

}  // namespace weft
