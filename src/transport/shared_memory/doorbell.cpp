// SPDX-License-Identifier: Apache-2.0
#include "transport/shared_memory/doorbell.hpp"

#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace weft::detail::shared_memory {

namespace {

// Rings without a refill: at one per nanosecond it lasts for 146 years.
constexpr std::uint64_t kRings = std::uint64_t{1} << 62;

Status no_doorbell(int error) {
  return {StatusCode::kResourceExhausted, Layer::kTransport,
          [=] { return "making a doorbell: " + std::generic_category().message(error); }, error};
}

}  // namespace

Result<Descriptor> make_doorbell() {
  Descriptor doorbell{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)};
  if (!doorbell) return no_doorbell(errno);
  const std::uint64_t rings = kRings;
  if (::write(doorbell.get(), &rings, sizeof rings) != sizeof rings) return no_doorbell(errno);
  return doorbell;
}

// All files that exist only as descriptors (eventfd, epoll, timerfd, signalfd) share one inode, so a
// descriptor with the inode of an eventfd is one of them. A read with RWF_NOWAIT does not wait for these.
Status check_doorbell(const Descriptor& doorbell) {
  const Descriptor known{::eventfd(0, EFD_CLOEXEC)};
  struct stat ours{};
  struct stat theirs{};
  if (!known || ::fstat(known.get(), &ours) != 0) return no_doorbell(errno);
  if (::fstat(doorbell.get(), &theirs) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino) {
    return {};
  }
  return {StatusCode::kInvalidArgument, Layer::kTransport, "the peer's doorbell is not an eventfd"};
}

void ring(const Descriptor& doorbell) noexcept {
  std::uint64_t one = 0;
  const iovec into{&one, sizeof one};
  static_cast<void>(::preadv2(doorbell.get(), &into, 1, -1, RWF_NOWAIT));
}

}  // namespace weft::detail::shared_memory
