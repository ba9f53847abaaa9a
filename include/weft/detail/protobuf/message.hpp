// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message.h>

#include <climits>
#include <cstdint>
#include <new>
#include <string_view>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"

/// Messages and the bytes of calls. A body is one run of memory on both sides, the outgoing chunk and the
/// received one, so messages are written and parsed there as arrays, which is protobuf's fastest way.
namespace weft::protobuf::detail {

// Failures of messages. Without memory for its text, a failure goes without.

/// Returns a failure that names the malformed part of these bytes: the field by its path, and the byte. Cold:
/// parses all of them.
Status undecodable(const google::protobuf::Message& message, Bytes body) noexcept;
/// Returns a failure that names the required fields which `message` lacks.
Status incomplete(const google::protobuf::Message& message) noexcept;
/// Returns the same failure for bytes that are an answer: then the server is at fault, and not the caller.
Status bad_answer(const Status& why) noexcept;
/// Protobuf counts in int.
Status too_large(const google::protobuf::Message& message, std::size_t bytes) noexcept;

inline constexpr std::size_t kMessageBytesMax = INT_MAX;
/// Lacks the name of the message's type, because the first use of a type takes memory.
inline constexpr FixedFailure kNoMemoryForMessage{StatusCode::kResourceExhausted, Layer::kCodec,
                                                  Retry::kBackoff, "out of memory for a message"};

/// Reads `body` into `message`, which is cleared first. Sets `failure` when it is no such message.
template <typename Message>
void read_message(Message& message, Bytes body, Status& failure) noexcept {
  try {
    if (body.size() > kMessageBytesMax) [[unlikely]] {
      failure = too_large(message, body.size());
    } else if (!message.ParsePartialFromArray(body.data(), static_cast<int>(body.size()))) [[unlikely]] {
      failure = undecodable(message, body);
    } else if (!message.IsInitialized()) [[unlikely]] {
      failure = incomplete(message);
    }
  } catch (const std::bad_alloc&) {
    failure = Status::of<kNoMemoryForMessage>();
  }
}

/// The same, of an answer.
template <typename Message>
void read_answer(Message& message, Bytes body, Status& failure) noexcept {
  read_message(message, body, failure);
  if (failure.code() == StatusCode::kInvalidArgument) [[unlikely]] {
    failure = bad_answer(failure);
  }
}

/// Writes `message`, whose ByteSizeLong() was asked just before.
inline void write_message(const google::protobuf::Message& message, std::byte* to) {
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(to));
}

}  // namespace weft::protobuf::detail
