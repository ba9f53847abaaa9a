// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/untyped/call.hpp"

#include <new>

namespace weft::detail {

namespace {

constexpr FixedFailure kNoMemory{StatusCode::kResourceExhausted, Layer::kCodec, Retry::kBackoff,
                                 "out of memory for a received message"};

}  // namespace

void keep_message(Buffer& to, Bytes message, Status& failure) noexcept {
  try {
    to = Buffer::copy_of(message);
  } catch (const std::bad_alloc&) {
    failure = Status::of<kNoMemory>();
  }
}

}  // namespace weft::detail
