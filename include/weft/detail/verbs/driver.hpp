// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/status.hpp"

namespace weft::verbs {

class CmDriver;

/// All control calls of libibverbs: set-up, queries, destruction. The one seam between Weft and RDMA devices;
/// tests put a simulated device behind it that fails and delays as they choose.
///
/// The calls that move bytes (ibv_post_send, ibv_post_recv, ibv_post_srq_recv, ibv_poll_cq,
/// ibv_req_notify_cq) are not here: libibverbs already dispatches them through the table in ibv_context,
/// which a simulated device fills in, so they cost nothing extra.
///
/// Each function behaves as the ibv_ function of its name, with the same results: null and errno, or an errno
/// number. Outlives all objects made through it. Thread: any.
class Driver {
 public:
  virtual ~Driver() = default;

  /// Loads the library behind the other calls; comes before them. Errors: kUnimplemented if it is not
  /// installed, with the package to install.
  virtual Status load() noexcept { return {}; }

  virtual ibv_device** get_device_list(int* count) noexcept = 0;
  virtual void free_device_list(ibv_device** list) noexcept = 0;
  virtual ibv_context* open_device(ibv_device* device) noexcept = 0;
  virtual int close_device(ibv_context* context) noexcept = 0;
  virtual int query_device(ibv_context* context, ibv_device_attr* attributes) noexcept = 0;
  virtual int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) noexcept = 0;
  /// ibv_query_gid_ex(): ENODATA for an index that is not in use.
  virtual int query_gid(ibv_context* context, std::uint8_t port, std::uint32_t index,
                        ibv_gid_entry* entry) noexcept = 0;

  /// The NUMA node of the device of that name, and that of the processor that the calling thread runs on; -1
  /// where it is not known. How far one node is from another, as the kernel has it: 10 for itself.
  virtual int numa_node(const char* device) noexcept = 0;
  virtual int current_numa_node() noexcept = 0;
  virtual int numa_distance(int from, int to) noexcept = 0;

  /// Blocks, unless the context's async_fd was made non-blocking: then EAGAIN. -1 and errno.
  virtual int get_async_event(ibv_context* context, ibv_async_event* event) noexcept = 0;
  virtual void ack_async_event(ibv_async_event* event) noexcept = 0;

  virtual ibv_pd* alloc_pd(ibv_context* context) noexcept = 0;
  virtual int dealloc_pd(ibv_pd* domain) noexcept = 0;
  virtual ibv_mr* reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) noexcept = 0;
  virtual int dereg_mr(ibv_mr* region) noexcept = 0;

  /// Looks on Ethernet for the way to the peer, as moving a queue pair to "ready to receive" does; blocks for
  /// as long.
  virtual ibv_ah* create_ah(ibv_pd* domain, ibv_ah_attr* attributes) noexcept = 0;
  virtual int destroy_ah(ibv_ah* handle) noexcept = 0;

  virtual ibv_comp_channel* create_comp_channel(ibv_context* context) noexcept = 0;
  virtual int destroy_comp_channel(ibv_comp_channel* channel) noexcept = 0;
  virtual ibv_cq* create_cq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel,
                            int vector) noexcept = 0;
  virtual int destroy_cq(ibv_cq* queue) noexcept = 0;
  /// Blocks, unless the channel's fd was made non-blocking: then EAGAIN. -1 and errno.
  virtual int get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) noexcept = 0;
  virtual void ack_cq_events(ibv_cq* queue, unsigned count) noexcept = 0;

  virtual ibv_srq* create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) noexcept = 0;
  virtual int modify_srq(ibv_srq* queue, ibv_srq_attr* attributes, int mask) noexcept = 0;
  virtual int destroy_srq(ibv_srq* queue) noexcept = 0;

  virtual ibv_qp* create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) noexcept = 0;
  virtual int modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) noexcept = 0;
  virtual int query_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask,
                       ibv_qp_init_attr* made_with) noexcept = 0;
  virtual int destroy_qp(ibv_qp* pair) noexcept = 0;

  /// The connection manager of the same devices; null if this build has none. Lives as long as this.
  virtual CmDriver* cm() noexcept { return nullptr; }
};

/// The machine's RDMA devices, by libibverbs. Never ends.
Driver& system_driver() noexcept;

}  // namespace weft::verbs
