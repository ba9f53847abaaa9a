// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message.h>

#include <cstddef>

#include "weft/detail/calls/call/awaited_call.hpp"
#include "weft/detail/protobuf/message.hpp"

namespace weft::protobuf::detail {

/// Bytes of a request; kUnencodable for one that is too large.
inline std::size_t bytes_of(const google::protobuf::Message& message) {
  const std::size_t size = message.ByteSizeLong();
  return size <= kMessageBytesMax ? size : weft::detail::kUnencodable;
}

inline Status fault_of(const google::protobuf::Message& request) {
  return request.IsInitialized() ? Status{} : incomplete(request);
}

}  // namespace weft::protobuf::detail
