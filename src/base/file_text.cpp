// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/file_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <memory>

#include "weft/detail/base/descriptor.hpp"

namespace weft::detail {

namespace {

constexpr std::int64_t kCoarseStampNs = 100'000'000;

struct WipedBytes {
  explicit WipedBytes(std::size_t bytes) : memory(std::make_unique<char[]>(bytes)), size(bytes) {}
  WipedBytes(const WipedBytes&) = delete;
  WipedBytes& operator=(const WipedBytes&) = delete;
  ~WipedBytes() { wipe_memory(memory.get(), size); }
  std::unique_ptr<char[]> memory;
  std::size_t size;
};

std::int64_t nanoseconds(const timespec& time) noexcept {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileStamp stamp_of(const struct stat& facts) noexcept {
  return {facts.st_dev, facts.st_ino, facts.st_size, nanoseconds(facts.st_ctim), 0};
}

Status being_written(Layer layer, const std::string& path) {
  return {StatusCode::kUnavailable, layer,
          path + " is being written; write a new file and rename it over this", 0, Retry::kBackoff};
}

}  // namespace

bool FileStamp::is_young() const noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return error == 0 && nanoseconds(now) - changed_ns < kCoarseStampNs;
}

FileStamp stamp_of_file(const std::string& path) noexcept {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return {.error = errno};
  return stamp_of(facts);
}

Result<FileText> read_file(Layer layer, const std::string& path, std::size_t bytes_max) {
  // Without O_NONBLOCK a pipe in the file's place would block the loop.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!file) return errno_status(layer, "open " + path, errno);
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return errno_status(layer, "stat " + path, errno);
  const FileStamp stamp = stamp_of(facts);
  if (!S_ISREG(facts.st_mode)) {
    return Status{StatusCode::kFailedPrecondition, layer, path + " is no regular file; put one there"};
  }
  if (static_cast<std::uint64_t>(facts.st_size) > bytes_max) {
    return Status{StatusCode::kResourceExhausted, layer,
                  path + " is longer than " + std::to_string(bytes_max) + " bytes"};
  }
  const WipedBytes bytes{static_cast<std::size_t>(facts.st_size) + 1};
  std::size_t filled = 0;
  while (filled < bytes.size) {
    const ssize_t got = ::read(file.get(), bytes.memory.get() + filled, bytes.size - filled);
    if (got == 0) break;
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      return errno_status(layer, "read " + path, errno);
    }
  }
  if (::fstat(file.get(), &facts) != 0) return errno_status(layer, "stat " + path, errno);
  if (filled + 1 != bytes.size || stamp_of(facts) != stamp) return being_written(layer, path);
  return FileText{Secret{std::string_view{bytes.memory.get(), filled}}, stamp};
}

}  // namespace weft::detail
