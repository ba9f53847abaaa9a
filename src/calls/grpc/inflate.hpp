// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"

namespace weft::detail::grpc {

/// Replaces `message` by the bytes that `compressed` stands for, in the format gzip. Nothing is written
/// beyond `bytes_max`. Errors: kInternal for bytes that are not gzip, kResourceExhausted for a message over
/// the limit. Throws std::bad_alloc.
Status inflate_gzip(Bytes compressed, std::vector<std::byte>& message, std::size_t bytes_max);

}  // namespace weft::detail::grpc
