// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/rdma_cma.h>

#include "weft/detail/base/status.hpp"

/// Every function of librdmacm that the driver calls.
#define WEFT_RDMACM_FUNCTIONS(F) \
  F(rdma_accept)                 \
  F(rdma_ack_cm_event)           \
  F(rdma_bind_addr)              \
  F(rdma_connect)                \
  F(rdma_create_event_channel)   \
  F(rdma_create_id)              \
  F(rdma_destroy_event_channel)  \
  F(rdma_destroy_id)             \
  F(rdma_establish)              \
  F(rdma_event_str)              \
  F(rdma_get_cm_event)           \
  F(rdma_get_src_port)           \
  F(rdma_init_qp_attr)           \
  F(rdma_listen)                 \
  F(rdma_reject)                 \
  F(rdma_resolve_addr)           \
  F(rdma_resolve_route)

namespace weft::verbs::detail {

/// The functions of librdmacm by their own names. They are null until load_cm_library() has succeeded.
struct CmLibrary {
#define WEFT_RDMACM_MEMBER(name) decltype(&::name) name = nullptr;
  WEFT_RDMACM_FUNCTIONS(WEFT_RDMACM_MEMBER)
#undef WEFT_RDMACM_MEMBER
};

extern CmLibrary cm_library;

/// Loads librdmacm, once. Thread: any. Errors: kUnimplemented, with the package to install.
Status load_cm_library();

}  // namespace weft::verbs::detail
