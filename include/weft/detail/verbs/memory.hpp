// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/memory/counted_memory.hpp"
#include "weft/detail/verbs/device.hpp"

namespace weft::verbs {

/// The owner of some registered bytes. Never released while the device may touch them.
using MemoryBlock = weft::detail::CountedBlock<ibv_mr*>;

/// A handle to registered bytes that keeps them, and their registration, alive: used by every operation
/// instead of a span, because the device uses the bytes until it completes the work request, even if the
/// coroutine ends before. Made by MemoryRegion.
class Memory final : public weft::detail::CountedMemory<Memory, ibv_mr*> {
 public:
  Memory() noexcept = default;
  /// Bytes that `block` owns.
  Memory(MemoryBlock& block, MutableBytes bytes) noexcept : Memory(bytes.data(), bytes.size(), &block) {}

  /// Returns how a work request names them. Not for empty ones.
  ibv_sge segment() const noexcept {
    return {reinterpret_cast<std::uintptr_t>(data()), static_cast<std::uint32_t>(size()),
            block()->registration()->lkey};
  }

 private:
  friend CountedMemory;
  Memory(std::byte* data, std::size_t size, MemoryBlock* block) noexcept : CountedMemory(data, size, block) {}
};

/// Access of peers to a region. Its owner may always read and write it.
struct Access {
  bool remote_read = false;
  bool remote_write = false;
  bool remote_atomic = false;
  /// Lets writes to it arrive in another order where the device can (IBV_ACCESS_RELAXED_ORDERING).
  bool relaxed_ordering = false;
};

/// Bytes of a peer's region: what read, write and atomics go to.
struct RemoteMemory {
  static constexpr std::size_t kEncodedBytes = 20;

  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t rkey = 0;

  /// The `size` bytes from `offset` on, which must lie within.
  RemoteMemory slice(std::uint64_t offset, std::uint64_t size) const noexcept {
    WEFT_ASSERT(offset <= bytes && size <= bytes - offset, "a slice lies within its memory");
    return {address + offset, size, rkey};
  }
  /// Address, bytes, rkey, little-endian: what a peer is sent.
  std::array<std::byte, kEncodedBytes> encode() const noexcept;
  /// Nothing when it is not what encode() makes.
  static std::optional<RemoteMemory> decode(Bytes from) noexcept;
};

/// Registered memory: pinned, and known to the device. The registration ends with the last handle to it,
/// which may be an operation's that the device has not completed. Thread: one loop's.
class MemoryRegion {
 public:
  /// `size` bytes of its own, page-aligned, zeroed. Errors: kResourceExhausted when memory or the limit on
  /// locked memory is exhausted (the text names the limit).
  static Result<MemoryRegion> allocate(std::shared_ptr<ProtectionDomain> domain, std::size_t size,
                                       Access access = {});
  /// Memory of the caller's, who keeps it until `on_released` was called: after the last operation on it,
  /// which may be later than the region's end. Errors: the same.
  static Result<MemoryRegion> register_memory(std::shared_ptr<ProtectionDomain> domain, MutableBytes bytes,
                                              weft::detail::UniqueFunction<void()> on_released,
                                              Access access = {});

  /// All of it.
  const Memory& memory() const noexcept { return memory_; }
  std::byte* data() const noexcept { return memory_.data(); }
  std::size_t size() const noexcept { return memory_.size(); }
  MutableBytes bytes() const noexcept { return memory_.mutable_bytes(); }
  Memory slice(std::size_t offset, std::size_t size) const noexcept { return memory_.slice(offset, size); }
  /// Returns what a peer needs to reach this memory, as far as its access allows.
  RemoteMemory remote() const noexcept {
    return {reinterpret_cast<std::uintptr_t>(data()), size(), memory_.block()->registration()->rkey};
  }

 private:
  explicit MemoryRegion(Memory memory) noexcept : memory_(std::move(memory)) {}

  Memory memory_;
};

}  // namespace weft::verbs
