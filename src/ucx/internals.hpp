// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucs/config/parser.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>
#include <uct/api/uct.h>

/// Functions and data of UCX below its interface that the binding uses.
#define WEFT_UCX_INTERNALS(F)         \
  F(ucs_config_global_list)           \
  F(ucs_config_parser_print_all_opts) \
  F(ucs_config_sscanf_table)          \
  F(ucs_debug_disable_signal)         \
  F(ucs_log_push_handler)             \
  F(uct_query_components)             \
  F(uct_release_component_list)

namespace weft::ucx::detail {

/// These by their own names, as Library has the others; null until load().
struct Internals {
#define WEFT_UCX_MEMBER(name) decltype(&::name) name = nullptr;
  WEFT_UCX_INTERNALS(WEFT_UCX_MEMBER)
#undef WEFT_UCX_MEMBER
};

extern Internals internals;

/// Gives UCX the handler of its log messages, once UCX is loaded and log_to() was called.
void listen_to_log();

}  // namespace weft::ucx::detail
