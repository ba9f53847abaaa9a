// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/verbs/memory.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "weft/detail/verbs/status.hpp"

namespace weft::verbs {

namespace {

constexpr std::size_t kPageBytes = 4096;

int flags_of(Access access) {
  int flags = IBV_ACCESS_LOCAL_WRITE;
  if (access.remote_read) flags |= IBV_ACCESS_REMOTE_READ;
  if (access.remote_write) flags |= IBV_ACCESS_REMOTE_WRITE;
  if (access.remote_atomic) flags |= IBV_ACCESS_REMOTE_ATOMIC;
  if (access.relaxed_ordering) flags |= IBV_ACCESS_RELAXED_ORDERING;
  return flags;
}

struct Region final : MemoryBlock {
  Region(std::shared_ptr<ProtectionDomain> of, ibv_mr* registration,
         weft::detail::UniqueFunction<void()> then) noexcept
      : MemoryBlock(&Region::end, registration), domain(std::move(of)), on_released(std::move(then)) {}

  // Deregister first: afterwards only the owner accesses the bytes.
  static void end(MemoryBlock& block) noexcept {
    auto& self = static_cast<Region&>(block);
    self.domain->driver().dereg_mr(self.registration());
    if (self.on_released) self.on_released();
    delete &self;
  }

  const std::shared_ptr<ProtectionDomain> domain;
  weft::detail::UniqueFunction<void()> on_released;
};

}  // namespace

Result<MemoryRegion> MemoryRegion::register_memory(std::shared_ptr<ProtectionDomain> domain,
                                                   MutableBytes bytes,
                                                   weft::detail::UniqueFunction<void()> on_released,
                                                   Access access) {
  if (bytes.empty()) {
    return Status{StatusCode::kInvalidArgument, Layer::kTransport, "a memory region of no bytes"};
  }
  Driver& driver = domain->driver();
  ibv_mr* const registration = driver.reg_mr(domain->handle(), bytes.data(), bytes.size(), flags_of(access));
  if (registration == nullptr) return call_status(errno, "registering memory");
  auto* const region = new (std::nothrow) Region(std::move(domain), registration, std::move(on_released));
  if (region == nullptr) {
    driver.dereg_mr(registration);
    return call_status(ENOMEM, "registering memory");
  }
  return MemoryRegion{Memory{*region, bytes}};
}

Result<MemoryRegion> MemoryRegion::allocate(std::shared_ptr<ProtectionDomain> domain, std::size_t size,
                                            Access access) {
  const std::size_t rounded = (size + kPageBytes - 1) / kPageBytes * kPageBytes;
  void* const memory = rounded < size ? nullptr : std::aligned_alloc(kPageBytes, rounded);
  if (memory == nullptr) return call_status(ENOMEM, "memory for a region");
  std::memset(memory, 0, size);
  auto region = register_memory(
      std::move(domain), {static_cast<std::byte*>(memory), size}, [memory] { std::free(memory); }, access);
  if (!region.ok()) std::free(memory);
  return region;
}

std::array<std::byte, RemoteMemory::kEncodedBytes> RemoteMemory::encode() const noexcept {
  std::array<std::byte, kEncodedBytes> to;
  weft::detail::store_le(to.data(), address);
  weft::detail::store_le(to.data() + 8, bytes);
  weft::detail::store_le(to.data() + 16, rkey);
  return to;
}

std::optional<RemoteMemory> RemoteMemory::decode(Bytes from) noexcept {
  if (from.size() != kEncodedBytes) return std::nullopt;
  const RemoteMemory memory{weft::detail::load_le<std::uint64_t>(from.data()),
                            weft::detail::load_le<std::uint64_t>(from.data() + 8),
                            weft::detail::load_le<std::uint32_t>(from.data() + 16)};
  if (memory.address + memory.bytes < memory.address) return std::nullopt;
  return memory;
}

}  // namespace weft::verbs
