// SPDX-License-Identifier: Apache-2.0
#include "transport/shared_memory/mapped_memory.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <system_error>

#include "transport/shared_memory/side_words.hpp"

// Newer than the system headers of Debian 12; Linux has the first since 5.1 and the second since 6.3.
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace weft::detail::shared_memory {

namespace {

// Without the seal on future writes the other side could free pages of the memory (FALLOC_FL_PUNCH_HOLE), and
// an access to a page that the system cannot replace ends the process with SIGBUS.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
// The unit of stat's st_blocks.
constexpr std::size_t kBlockBytes = 512;

Status failure(StatusCode code, const char* what, int error) {
  return {code, Layer::kTransport,
          [&] { return std::string{what} + ": " + std::generic_category().message(error); }, error};
}

Status exhausted(const char* what, int error) {
  return failure(StatusCode::kResourceExhausted, what, error);
}

Status not_memory(const char* why) {
  return {StatusCode::kInvalidArgument, Layer::kTransport, why};
}

int make_memory_file() {
  const int fd = ::memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  return fd >= 0 || errno != EINVAL ? fd : ::memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

// The system ends a process with SIGXFSZ that makes a file larger than this limit.
bool forbids(std::size_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes;
}

Result<MappedMemory> map(int fd, std::size_t ring_bytes, int protection) {
  void* const begin = ::mmap(nullptr, kWordsBytes + ring_bytes, protection, MAP_SHARED, fd, 0);
  if (begin == MAP_FAILED) return exhausted("mapping shared memory", errno);
  return MappedMemory{static_cast<std::byte*>(begin), ring_bytes};
}

}  // namespace

MappedMemory::~MappedMemory() {
  if (begin_ != nullptr) ::munmap(begin_, kWordsBytes + ring_bytes_);
}

MutableBytes MappedMemory::ring() const noexcept {
  return {begin_ + kWordsBytes, ring_bytes_};
}

Result<OwnMemory> make_own_memory(std::size_t ring_bytes) {
  const std::size_t bytes = kWordsBytes + ring_bytes;
  if (forbids(bytes)) return exhausted("making shared memory: the limit RLIMIT_FSIZE is too low", EFBIG);
  Descriptor file{make_memory_file()};
  if (!file) return exhausted("making shared memory", errno);
  if (::fallocate(file.get(), 0, 0, static_cast<off_t>(bytes)) != 0) {
    return exhausted("taking pages for shared memory", errno);
  }
  auto mapped = map(file.get(), ring_bytes, PROT_READ | PROT_WRITE);
  if (!mapped.ok()) return mapped.status();
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return failure(StatusCode::kUnavailable, "sealing shared memory, which needs Linux 5.1 or later", errno);
  }
  return OwnMemory{*std::move(mapped), std::move(file)};
}

// Seals come first: with them the other side can no longer change the size and the pages.
Result<MappedMemory> map_peer_memory(const Descriptor& descriptor, std::size_t ring_bytes) {
  const std::size_t bytes = kWordsBytes + ring_bytes;
  const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) return not_memory("the peer's memory is not sealed");
  struct statfs system{};
  if (::fstatfs(descriptor.get(), &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return not_memory("the peer's memory is not of ordinary pages");
  }
  struct stat file{};
  if (::fstat(descriptor.get(), &file) != 0 || file.st_size < 0 ||
      static_cast<std::size_t>(file.st_size) != bytes) {
    return not_memory("the peer's memory has another size than the peer says");
  }
  if (static_cast<std::size_t>(file.st_blocks) * kBlockBytes < bytes) {
    return not_memory("the peer's memory lacks pages");
  }
  return map(descriptor.get(), ring_bytes, PROT_READ);
}

}  // namespace weft::detail::shared_memory
