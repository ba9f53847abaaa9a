// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include "weft/detail/base/result.hpp"

/// Every function of libucp that the binding calls, its own headers and the carrier's too.
#define WEFT_UCX_FUNCTIONS(F)       \
  F(ucp_am_data_release)            \
  F(ucp_am_recv_data_nbx)           \
  F(ucp_am_send_nbx)                \
  F(ucp_atomic_op_nbx)              \
  F(ucp_cleanup)                    \
  F(ucp_config_modify)              \
  F(ucp_config_print)               \
  F(ucp_config_read)                \
  F(ucp_config_release)             \
  F(ucp_conn_request_query)         \
  F(ucp_context_print_info)         \
  F(ucp_ep_close_nbx)               \
  F(ucp_ep_create)                  \
  F(ucp_ep_flush_nbx)               \
  F(ucp_ep_print_info)              \
  F(ucp_ep_rkey_unpack)             \
  F(ucp_get_nbx)                    \
  F(ucp_get_version_string)         \
  F(ucp_init_version)               \
  F(ucp_listener_create)            \
  F(ucp_listener_destroy)           \
  F(ucp_listener_query)             \
  F(ucp_listener_reject)            \
  F(ucp_mem_map)                    \
  F(ucp_mem_query)                  \
  F(ucp_mem_unmap)                  \
  F(ucp_put_nbx)                    \
  F(ucp_request_cancel)             \
  F(ucp_request_free)               \
  F(ucp_rkey_buffer_release)        \
  F(ucp_rkey_destroy)               \
  F(ucp_rkey_pack)                  \
  F(ucp_rkey_ptr)                   \
  F(ucp_stream_recv_nbx)            \
  F(ucp_stream_send_nbx)            \
  F(ucp_tag_msg_recv_nbx)           \
  F(ucp_tag_probe_nb)               \
  F(ucp_tag_recv_nbx)               \
  F(ucp_tag_send_nbx)               \
  F(ucp_tag_send_sync_nbx)          \
  F(ucp_worker_arm)                 \
  F(ucp_worker_create)              \
  F(ucp_worker_destroy)             \
  F(ucp_worker_fence)               \
  F(ucp_worker_flush_nbx)           \
  F(ucp_worker_get_address)         \
  F(ucp_worker_get_efd)             \
  F(ucp_worker_progress)            \
  F(ucp_worker_query)               \
  F(ucp_worker_release_address)     \
  F(ucp_worker_set_am_recv_handler) \
  F(ucs_status_string)

namespace weft::ucx::detail {

/// The functions of UCX by their own names. They are null until load() has found UCX.
///
/// No program links UCX for Weft's sake: loading libucs installs handlers for signals of errors before main()
/// begins. A program that calls UCX itself links it, and then has one UCX with Weft.
struct Library {
#define WEFT_UCX_MEMBER(name) decltype(&::name) name = nullptr;
  WEFT_UCX_FUNCTIONS(WEFT_UCX_MEMBER)
#undef WEFT_UCX_MEMBER
};

extern Library library;

/// Loads UCX into the process, once; later calls cost a lock. Handlers of signals stay as they are unless
/// `signal_handlers`. UCX may patch the memory functions of the process if the first call has `memory_hooks`,
/// and the program has no sanitizer. Thread: any. Errors: kUnimplemented, with the loader's message, when UCX
/// is not installed or lacks a function.
Status load(bool signal_handlers = false, bool memory_hooks = false);
bool is_loaded() noexcept;

}  // namespace weft::ucx::detail
