// SPDX-License-Identifier: Apache-2.0
#include "files/open_file.hpp"

#include <sys/uio.h>

#include <cerrno>
#include <limits>
#include <string>

namespace weft::detail {

ReadPart OpenFile::read(std::uint64_t offset, MutableBytes into) const {
  return read(offset, into, 0);
}

ReadPart OpenFile::read_what_is_cached(std::uint64_t offset, MutableBytes into) const {
  return read(offset, into, RWF_NOWAIT);
}

ReadPart OpenFile::read(std::uint64_t offset, MutableBytes into, int flags) const {
  const iovec place{into.data(), into.size()};
  ssize_t got = 0;
  do {
    got = ::preadv2(descriptor_.get(), &place, 1, static_cast<off_t>(offset), flags);
  } while (got < 0 && errno == EINTR);
  if (got > 0) return {.bytes = static_cast<std::size_t>(got)};
  // Not every file system can report which parts are cached.
  if (got < 0 && flags != 0 && (errno == EAGAIN || errno == EOPNOTSUPP)) return {.would_wait = true};
  const bool is_behind_all = offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (got < 0 && !is_behind_all) return {.failure = errno_status(Layer::kRuntime, "read " + path_, errno)};
  return {.failure = {StatusCode::kOutOfRange, Layer::kRuntime, [&] {
                        return path_ + " ends before byte " + std::to_string(offset + 1) +
                               ", which was to be read: it is shorter than was thought, or was cut meanwhile";
                      }}};
}

}  // namespace weft::detail
