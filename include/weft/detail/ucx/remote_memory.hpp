// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/ucx/context.hpp"
#include "weft/detail/ucx/endpoint.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/memory.hpp"
#include "weft/detail/ucx/operation.hpp"
#include "weft/detail/ucx/posted.hpp"

namespace weft::ucx {

/// Access of peers to a region. Only network cards enforce it: docs/pitfalls/ucx.md.
struct RemoteAccess {
  bool read = true;
  bool write = true;
};

/// Memory that is registered with UCX, so that peers can put to it and get from it, and operations need not
/// register it again. The Memory handles that it gives keep the registration; the region itself is one of
/// them. Ends after every peer has stopped using its key: that is the user's to see to. Thread: one loop's.
class MemoryRegion {
 public:
  /// `size` bytes that UCX allocates where its transports reach them best, for instance in shared memory.
  /// Errors: kInvalidArgument for no bytes, kResourceExhausted when memory is exhausted.
  static Result<MemoryRegion> allocate(std::shared_ptr<Context> context, std::size_t size,
                                       RemoteAccess access = {});
  /// Registers `memory` where it is, and keeps it. Peers of the same host may then reach it by slower
  /// transports only. Errors: kInvalidArgument for no bytes.
  static Result<MemoryRegion> register_memory(std::shared_ptr<Context> context, Memory memory,
                                              RemoteAccess access = {});

  /// All of it. Copies of it and slices keep the region registered.
  const Memory& memory() const noexcept { return memory_; }
  /// Returns where it begins, as peers say it to put() and get().
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uint64_t>(memory_.data()); }
  /// Returns the packed key that a peer's RemoteKey::unpack() takes. Errors: UCX's.
  Result<std::vector<std::byte>> pack_key() const;

 private:
  struct Block;
  static Result<MemoryRegion> map(std::shared_ptr<Context> context, ucp_mem_map_params_t params,
                                  Memory memory, const char* what);
  explicit MemoryRegion(Memory memory, Block& block) noexcept : memory_(std::move(memory)), block_(&block) {}

  Memory memory_;
  Block* block_;
};

/// The right to access a peer's MemoryRegion, through one endpoint and the objects of the same worker.
/// Movable. Operations under way keep the parts that they need. Invalid after the worker has ended. Thread:
/// the endpoint's loop's.
class RemoteKey {
 public:
  /// `packed` is the result of pack_key(). Errors: kInvalidArgument for an invalid key; kUnavailable when the
  /// endpoint is closed; UCX's when the endpoint's transports cannot reach the region.
  static Result<RemoteKey> unpack(EndpointRef endpoint, Bytes packed);
  RemoteKey(RemoteKey&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  RemoteKey& operator=(RemoteKey&& other) noexcept {
    RemoteKey taken{std::move(other)};
    std::swap(core_, taken.core_);
    return *this;
  }
  ~RemoteKey() {
    if (core_ != nullptr) detail::KeyCore::release(core_);
  }

  /// Null when the worker ended.
  ucp_rkey_h handle() const noexcept { return core_->handle; }
  detail::KeyCore& core() const noexcept { return *core_; }

 private:
  explicit RemoteKey(detail::KeyCore* core) noexcept : core_(core) {}
  detail::KeyCore* core_;
};

namespace detail {

struct RemoteTransfer {
  using Value = void;
  static constexpr std::string_view kWhat = "access to remote memory";
};

/// `kCall` is ucp_put_nbx or ucp_get_nbx.
template <auto kCall>
[[gnu::always_inline]] inline Posted<RemoteTransfer> post_remote_access(EndpointRef endpoint,
                                                                        const Memory& memory,
                                                                        std::uint64_t address,
                                                                        KeyCore& key) noexcept {
  const auto call = [&](Operation& record) {
    ucp_request_param_t params = params_for(record, memory);
    params.cb.send = &Operation::sent;
    return (library.*kCall)(endpoint.handle, memory.data(), memory.size(), address, key.handle, &params);
  };
  return post<RemoteTransfer>(endpoint.operations, call, [&](Operation& record) {
    keep(record, memory);
    keep(record, key);
  });
}

}  // namespace detail

/// Writes `memory` to the peer's `address`. Returns Result<void> when the memory may be used again; it has
/// arrived after a flush. Cancel: the coroutine goes on, the bytes may be written.
[[gnu::always_inline]] inline detail::Posted<detail::RemoteTransfer> put(EndpointRef to, const Memory& memory,
                                                                         std::uint64_t address,
                                                                         const RemoteKey& key) noexcept {
  return detail::post_remote_access<&detail::Library::ucp_put_nbx>(to, memory, address, key.core());
}

/// Reads the peer's `address` into `memory`. Returns Result<void> when the data has arrived. Cancel: the
/// coroutine goes on, `memory` may still be written to.
[[gnu::always_inline]] inline detail::Posted<detail::RemoteTransfer> get(EndpointRef from,
                                                                         const Memory& memory,
                                                                         std::uint64_t address,
                                                                         const RemoteKey& key) noexcept {
  return detail::post_remote_access<&detail::Library::ucp_get_nbx>(from, memory, address, key.core());
}

}  // namespace weft::ucx
