// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include "weft/detail/base/status.hpp"

/// Every function of libibverbs that the binding calls. Inline functions of libibverbs' header may be called
/// too if they dispatch through ibv_context; others call functions of the library, which no program links.
#define WEFT_VERBS_FUNCTIONS(F) \
  F(_ibv_query_gid_ex)          \
  F(ibv_ack_async_event)        \
  F(ibv_ack_cq_events)          \
  F(ibv_alloc_pd)               \
  F(ibv_close_device)           \
  F(ibv_create_ah)              \
  F(ibv_create_comp_channel)    \
  F(ibv_create_cq)              \
  F(ibv_create_qp)              \
  F(ibv_create_srq)             \
  F(ibv_dealloc_pd)             \
  F(ibv_dereg_mr)               \
  F(ibv_destroy_ah)             \
  F(ibv_destroy_comp_channel)   \
  F(ibv_destroy_cq)             \
  F(ibv_destroy_qp)             \
  F(ibv_destroy_srq)            \
  F(ibv_event_type_str)         \
  F(ibv_free_device_list)       \
  F(ibv_get_async_event)        \
  F(ibv_get_cq_event)           \
  F(ibv_get_device_list)        \
  F(ibv_modify_qp)              \
  F(ibv_modify_srq)             \
  F(ibv_open_device)            \
  F(ibv_query_device)           \
  F(ibv_query_port)             \
  F(ibv_query_qp)               \
  F(ibv_reg_mr_iova2)           \
  F(ibv_wc_status_str)

namespace weft::verbs::detail {

/// The functions of libibverbs by their own names. They are null until load_library() has succeeded.
struct Library {
#define WEFT_VERBS_MEMBER(name) decltype(&::name) name = nullptr;
  WEFT_VERBS_FUNCTIONS(WEFT_VERBS_MEMBER)
#undef WEFT_VERBS_MEMBER
};

extern Library library;

/// Loads libibverbs, once. Thread: any. Errors: kUnimplemented, with the package to install.
Status load_library();

}  // namespace weft::verbs::detail
