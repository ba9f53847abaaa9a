// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// All limits that the codec applies to untrusted bytes. docs/internals/codec.md explains their values.
struct CodecLimits {
  /// Depth to which containers and unique_ptrs may nest in one value; the stack is bounded by it.
  static constexpr unsigned kDepthMax = 64;
  /// Elements that take no bytes on the wire (std::vector<Empty>), counted over a whole message.
  static constexpr std::size_t kEmptyElementsMax = 1024;
  /// Memory for decoded elements that are larger in memory than on the wire: at most this much ...
  static constexpr std::size_t kMemoryFloorBytes = std::size_t{64} << 10;
  /// ... plus this many bytes for each byte of the message.
  static constexpr std::size_t kMemoryPerMessageByte = 32;
  /// Estimated cost of a node of a list, a tree or a hash table beside its value.
  static constexpr std::size_t kNodeOverheadBytes = 32;
  /// Keys that may share one bucket of an unordered container before it counts as an attack.
  static constexpr std::size_t kBucketElementsMax = 64;
  /// Fields of an aggregate that is encoded without a CodecTraits.
  static constexpr std::size_t kFieldsMax = 32;
  /// Values without braces that an aggregate takes at most if `{}` cannot initialise one of its fields.
  static constexpr std::size_t kSlotsMax = 256;
  /// Elements of one container.
  static constexpr std::uint64_t kElementsMax = 0xFFFF'FFFF;
};

}  // namespace weft::detail
