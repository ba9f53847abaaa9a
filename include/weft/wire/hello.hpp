// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/bytes.hpp"
#include "weft/base/result.hpp"

namespace weft::wire {

/// Feature bits of the hello.
struct Features {
  /// Every frame carries a CRC32C of its header and body.
  static constexpr std::uint64_t kChecksum = 1u << 0;
};

/// A way by which frames may travel beside the stream the hello came on.
enum class DataPath : std::uint8_t { kStream = 0, kUcx = 1, kVerbs = 2, kSharedMemory = 3 };

/// One offered data path and what the peer needs to bring it up; the layout of `parameters` is the path's own.
struct DataPathOffer {
  DataPath path = DataPath::kStream;
  std::string parameters;
};

/// What each side says first. Both send one as soon as the stream is up; neither waits for the other's.
///
///   0 | F7 | 'W' | 'F' | 'T' | version u16     | zero u16        |
///   8 | payload_bytes u32    | then the payload (docs/internals/wire.md)
struct Hello {
  std::uint16_t version = 1;
  std::uint64_t features_supported = 0;
  std::uint64_t features_required = 0;
  std::uint32_t body_bytes_max = 0;
  std::uint64_t attachment_bytes_max = 0;
  std::uint32_t calls_in_flight_max = 0;
  std::vector<DataPathOffer> paths;
};

inline constexpr std::size_t kHelloPrefixBytes = 12;
inline constexpr std::size_t kHelloBytesMax = 4096;
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::byte kFirstByte{0xF7};

std::string encode_hello(const Hello& hello);

/// Length of the whole hello, from its first kHelloPrefixBytes. Errors: kInvalidArgument for another protocol
/// (says which, where its first bytes tell) or a length over kHelloBytesMax.
/// May be asked with fewer bytes, then it judges those and answers 0 when they could still become a hello.
Result<std::size_t> hello_length(Bytes beginning);

/// Errors: kInvalidArgument, kFailedPrecondition for a version or a required feature that this build lacks.
Result<Hello> decode_hello(Bytes hello);

/// The features both sides use. Errors: kFailedPrecondition names the feature that one side requires and the other lacks.
Result<std::uint64_t> agree_features(const Hello& ours, const Hello& theirs);

}  // namespace weft::wire
