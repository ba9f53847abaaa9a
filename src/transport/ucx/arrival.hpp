// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/message_header.hpp"

namespace weft::detail::ucx_carrier {

/// A message in UCX's memory, in a copy of ours, or, for a part, still at the sender. A plain value: the code
/// that takes it returns its memory.
struct Arrival {
  enum class Memory : std::uint8_t {
    kNone,    ///< no bytes, or already taken
    kUcx,     ///< to be given back by ucp_am_data_release
    kCopied,  ///< to be given back by std::free
  };
  MessageKind kind{};
  Memory memory = Memory::kNone;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t taken = 0;
  std::uint32_t cost = 0;  ///< of credit; the peer gets it back with the last byte
};

}  // namespace weft::detail::ucx_carrier
