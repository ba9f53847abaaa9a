// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/remote_memory.hpp"

#include "ucx/framed.hpp"
#include "weft/detail/ucx/library.hpp"

namespace weft::ucx {

// The registration, the context it is of, and the memory that was registered, if it was not UCX's own.
struct MemoryRegion::Block final : MemoryBlock {
  Block(std::shared_ptr<Context> of, ucp_mem_h handle, Memory kept) noexcept
      : MemoryBlock(&Block::end, handle), context(std::move(of)), memory(std::move(kept)) {}
  static void end(MemoryBlock& block) noexcept {
    auto& self = static_cast<Block&>(block);
    static_cast<void>(detail::library.ucp_mem_unmap(self.context->handle(), self.registration()));
    delete &self;
  }

  std::shared_ptr<Context> context;
  Memory memory;
};

namespace {

ucp_mem_map_params_t map_params(std::size_t size, RemoteAccess access) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_PROT;
  params.length = size;
  params.prot = UCP_MEM_MAP_PROT_LOCAL_READ | UCP_MEM_MAP_PROT_LOCAL_WRITE;
  if (access.read) params.prot |= UCP_MEM_MAP_PROT_REMOTE_READ;
  if (access.write) params.prot |= UCP_MEM_MAP_PROT_REMOTE_WRITE;
  return params;
}

}  // namespace

Result<MemoryRegion> MemoryRegion::map(std::shared_ptr<Context> context, ucp_mem_map_params_t params,
                                       Memory memory, const char* what) {
  if (params.length == 0) {
    return to_status(UCS_ERR_INVALID_PARAM, what, "a region has at least one byte");
  }
  ucp_mem_h handle = nullptr;
  if (const ucs_status_t status = detail::library.ucp_mem_map(context->handle(), &params, &handle);
      status != UCS_OK) {
    return to_status(status, what);
  }
  ucp_mem_attr_t attributes{};
  attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  if (const ucs_status_t status = detail::library.ucp_mem_query(handle, &attributes); status != UCS_OK) {
    static_cast<void>(detail::library.ucp_mem_unmap(context->handle(), handle));
    return to_status(status, what);
  }
  auto* block = new Block(std::move(context), handle, std::move(memory));
  return MemoryRegion{Memory{*block, {static_cast<std::byte*>(attributes.address), params.length}}, *block};
}

Result<MemoryRegion> MemoryRegion::allocate(std::shared_ptr<Context> context, std::size_t size,
                                            RemoteAccess access) {
  ucp_mem_map_params_t params = map_params(size, access);
  params.field_mask |= UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  return map(std::move(context), params, {}, "allocating a memory region");
}

Result<MemoryRegion> MemoryRegion::register_memory(std::shared_ptr<Context> context, Memory memory,
                                                   RemoteAccess access) {
  ucp_mem_map_params_t params = map_params(memory.size(), access);
  params.field_mask |= UCP_MEM_MAP_PARAM_FIELD_ADDRESS;
  params.address = memory.data();
  return map(std::move(context), params, std::move(memory), "registering a memory region");
}

Result<std::vector<std::byte>> MemoryRegion::pack_key() const {
  void* key = nullptr;
  std::size_t size = 0;
  const ucs_status_t status =
      detail::library.ucp_rkey_pack(block_->context->handle(), block_->registration(), &key, &size);
  if (status != UCS_OK) return to_status(status, "the key of a memory region");
  auto framed = detail::frame(detail::Framed::kKey, {static_cast<const std::byte*>(key), size});
  detail::library.ucp_rkey_buffer_release(key);
  return framed;
}

Result<RemoteKey> RemoteKey::unpack(EndpointRef endpoint, Bytes packed) {
  const auto raw = detail::unframe(detail::Framed::kKey, packed);
  if (!raw.ok()) return raw.status();
  if (endpoint.handle == nullptr) return to_status(UCS_ERR_NOT_CONNECTED, "a remote key");
  ucp_rkey_h key = nullptr;
  if (const ucs_status_t status = detail::library.ucp_ep_rkey_unpack(endpoint.handle, raw->data(), &key);
      status != UCS_OK) {
    return to_status(status, "a remote key");
  }
  auto* core = new detail::KeyCore(key);
  endpoint.operations->add(*core);
  return RemoteKey{core};
}

}  // namespace weft::ucx
