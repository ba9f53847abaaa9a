// SPDX-License-Identifier: Apache-2.0
#include "access/watched_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <limits>
#include <memory>
#include <utility>

#include "weft/detail/base/descriptor.hpp"

namespace weft::detail {

namespace {

// The system's stamps of files are some milliseconds coarse: two writes may have the same one.
constexpr std::int64_t kCoarseStampNs = 100'000'000;

struct WipedBytes {
  explicit WipedBytes(std::size_t bytes) : memory(std::make_unique<char[]>(bytes)), size(bytes) {}
  WipedBytes(const WipedBytes&) = delete;
  WipedBytes& operator=(const WipedBytes&) = delete;
  ~WipedBytes() { wipe_memory(memory.get(), size); }
  std::unique_ptr<char[]> memory;
  std::size_t size;
};

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool is_young(const timespec& changed) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now) - nanoseconds(changed) < kCoarseStampNs;
}

}  // namespace

WatchedFile::WatchedFile(std::string path, Duration look_interval, std::size_t bytes_max)
    : path_(std::move(path)),
      look_interval_(look_interval),
      bytes_max_(bytes_max),
      next_look_(std::numeric_limits<std::int64_t>::min()) {}

bool WatchedFile::Stamp::operator==(const Stamp& other) const noexcept {
  return device == other.device && inode == other.inode && size == other.size &&
         nanoseconds(changed) == nanoseconds(other.changed) && error == other.error;
}

WatchedFile::Stamp WatchedFile::stamp_of(const struct stat& facts) noexcept {
  return {facts.st_dev, facts.st_ino, facts.st_size, facts.st_ctim, 0};
}

WatchedFile::Stamp WatchedFile::stamp() const noexcept {
  struct stat facts{};
  if (::stat(path_.c_str(), &facts) != 0) return {.error = errno};
  return stamp_of(facts);
}

// One that was changed just now may be changed again without another stamp, so it counts as unknown.
void WatchedFile::note(const Stamp& stamp) noexcept {
  stamp_ = stamp.error == 0 && is_young(stamp.changed) ? Stamp{} : stamp;
}

Result<Secret> WatchedFile::read() {
  // Without O_NONBLOCK a pipe in the file's place would block the loop.
  const Descriptor file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!file) {
    const int error = errno;
    note({.error = error});
    return errno_status(Layer::kRuntime, "open " + path_, error);
  }
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return errno_status(Layer::kRuntime, "stat " + path_, errno);
  note(stamp_of(facts));
  if (!S_ISREG(facts.st_mode)) {
    return Status{StatusCode::kFailedPrecondition, Layer::kRuntime,
                  path_ + " is no regular file; put one there"};
  }
  if (static_cast<std::uint64_t>(facts.st_size) > bytes_max_) {
    return Status{StatusCode::kResourceExhausted, Layer::kRuntime,
                  path_ + " is longer than " + std::to_string(bytes_max_) + " bytes"};
  }
  const WipedBytes bytes{static_cast<std::size_t>(facts.st_size) + 1};
  std::size_t filled = 0;
  while (filled < bytes.size) {
    const ssize_t got = ::read(file.get(), bytes.memory.get() + filled, bytes.size - filled);
    if (got == 0) break;
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      return errno_status(Layer::kRuntime, "read " + path_, errno);
    }
  }
  // One that grows or shrinks meanwhile has another stamp at the next look.
  const std::string_view text{bytes.memory.get(), std::min(filled, bytes.size - 1)};
  contents_ = hash_(as_bytes(text));
  return Secret{text};
}

std::optional<Result<Secret>> WatchedFile::look(TimePoint now) {
  next_look_.store(Deadline::after(now, look_interval_).at().time_since_epoch().count(),
                   std::memory_order_relaxed);
  const Stamp there = stamp();
  if (there == stamp_) return std::nullopt;
  const std::uint64_t before = contents_;
  const bool was_there = stamp_.error == 0;
  Result<Secret> contents = read();
  if (contents.ok() && was_there && contents_ == before) return std::nullopt;
  return contents;
}

}  // namespace weft::detail
