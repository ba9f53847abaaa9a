// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::ucx::detail {

/// Kind of the bytes in a frame. UCX reads addresses and keys without knowing where they end, so garbage
/// must not reach it:
///
///   0        4        8                 16
///   | magic  | length | FNV-1a of bytes | bytes ...
enum class Framed : std::uint32_t { kAddress = 0x31415857, kKey = 0x314b5857 };

std::vector<std::byte> frame(Framed what, Bytes bytes);
/// The bytes in `framed`. Errors: kInvalidArgument with UCS_ERR_INVALID_ADDR.
Result<Bytes> unframe(Framed what, Bytes framed);

}  // namespace weft::ucx::detail
