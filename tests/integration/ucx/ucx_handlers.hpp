// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <weft/weft.hpp>

#include "integration/carrier_handlers.hpp"

/// The ways in which the tests of ucx:// use UCX. Shared with the program that they kill.
namespace weft::ucx_testing {

using namespace carrier_testing;

/// UCX's own TCP and shared memory, in both error modes.
inline constexpr const char* kAllKinds[] = {"peer_tcp", "peer_shm", "none_tcp", "none_shm"};

inline UcxOptions options_of(std::string_view kind) {
  UcxOptions options;
  const bool peer = kind.starts_with("peer");
  options.error_mode = peer ? UcxErrorMode::kPeer : UcxErrorMode::kNone;
  options.transports = {kind.ends_with("tcp") ? "tcp" : "posix", "cma", "self"};
  return options;
}

}  // namespace weft::ucx_testing
