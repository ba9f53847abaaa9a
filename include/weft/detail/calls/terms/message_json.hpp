// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"

namespace weft::detail {

/// Messages of a call.
enum class CallPart : std::uint8_t {
  kArguments,
  kResult,
  kItemIn,   ///< an item of the request's stream
  kItemOut,  ///< an item of the answer's stream
};

/// Converts the messages of one method to JSON and back, for protocols that carry JSON. Immutable. Thread:
/// any, several at a time. Throws std::bad_alloc.
class MessageJson {
 public:
  /// Returns true if the method has this part: messages that from_json() or to_json() converts.
  virtual bool has(CallPart part) const = 0;
  /// JSON of the arguments of a call without a body.
  virtual std::string_view no_arguments() const = 0;
  /// Replaces `message` by the message that `json` stands for. Errors: kInvalidArgument with the place of the
  /// fault, kResourceExhausted if the message is longer than `bytes_max`, kUnimplemented if the method has no
  /// such part.
  virtual Status from_json(CallPart part, std::string_view json, std::vector<std::byte>& message,
                           std::size_t bytes_max) const = 0;
  /// Replaces `json` by the text of `message`. Errors: kResourceExhausted if the text is longer than
  /// `bytes_max`, kInvalidArgument if `message` is malformed, kUnimplemented if the method has no such part.
  virtual Status to_json(CallPart part, Bytes message, std::string& json, std::size_t bytes_max) const = 0;

 protected:
  ~MessageJson() = default;
};

}  // namespace weft::detail
