// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::detail::wire {

/// Feature bits of the hello.
struct Features {
  /// Every frame carries a CRC32C of its header and body, and one of its attachment.
  static constexpr std::uint64_t kChecksum = 1u << 0;
  /// Attachments may come in pieces.
  static constexpr std::uint64_t kPieces = 1u << 1;
  /// Attachments in pieces may wait until their receiver asks for them.
  static constexpr std::uint64_t kContinue = 1u << 2;
  /// Methods may be streams: items and credits follow their requests. The hello has stream_window_bytes.
  static constexpr std::uint64_t kStreams = 1u << 3;
  /// Items of streams may have attachments, which come in pieces.
  static constexpr std::uint64_t kItemAttachments = 1u << 4;
  /// Answers may carry the details of their failure.
  static constexpr std::uint64_t kDetails = 1u << 5;
  /// Metadata of answers come in frames of their own.
  static constexpr std::uint64_t kAnswerMetadata = 1u << 6;
  /// Features that this build knows.
  static constexpr std::uint64_t kAll =
      kChecksum | kPieces | kContinue | kStreams | kItemAttachments | kDetails | kAnswerMetadata;
};

/// A way by which frames may travel: the base carrier that the hello came on, or one beside it.
enum class CarrierKind : std::uint8_t { kStream = 0, kUcx = 1, kVerbs = 2, kSharedMemory = 3 };

std::string_view to_string(CarrierKind kind);

/// One offered carrier, and the parameters that the peer needs for its decision; the layout of `parameters`
/// is the carrier's own. Further data to establish it follows in carrier frames (wire/carrier.hpp), when both
/// sides want it.
struct CarrierOffer {
  CarrierKind kind = CarrierKind::kStream;
  std::string parameters{};
  friend bool operator==(const CarrierOffer&, const CarrierOffer&) = default;
};

/// First message of each side. Both send one as soon as the base carrier is up; neither waits for the
/// other's.
///
///      0        1        2        3        4        5        6        7
///  0 | F7     | 'W'    | 'F'    | 'T'    | version         | zero            |
///  8 | payload_bytes                     | zero                              |
/// 16 | features_supported                                                    |
/// 24 | features_required                                                     |
/// 32 | attachment_bytes_max                                                  |
/// 40 | body_bytes_max                    | calls_in_flight_max               |
/// 48 | carrier_count   | zero                                                |
/// 56 | then carrier_count times: kind u8, zero u8, parameter_bytes u16, parameters
///
/// then, with Features::kStreams, padded with zeros to a multiple of 8: stream_window_bytes u32, zero u32;
/// then fields of a later build, which this one skips, zeros up to a multiple of 8, and in the last 8 bytes
/// the CRC32C of all before it and four of zero. payload_bytes counts from offset 16 to the end.
struct Hello {
  std::uint16_t version = 1;
  std::uint64_t features_supported = 0;
  std::uint64_t features_required = 0;
  std::uint32_t body_bytes_max = 0;
  std::uint64_t attachment_bytes_max = 0;
  std::uint32_t calls_in_flight_max = 0;
  std::vector<CarrierOffer> carriers{};
  /// Items that each stream may send to this side before it grants more, see CreditHead. Of a side that
  /// supports streams.
  std::uint32_t stream_window_bytes = 0;
  friend bool operator==(const Hello&, const Hello&) = default;
};

inline constexpr std::size_t kHelloPrefixBytes = 16;
inline constexpr std::size_t kHelloBytesMax = 4096;
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::byte kFirstByte{0xF7};

/// The bytes of `hello`, a multiple of 8. The offers must fit kHelloBytesMax; that is asserted.
std::string encode_hello(const Hello& hello);

/// Size of the whole hello, from its first kHelloPrefixBytes. Errors: kInvalidArgument for another protocol
/// (named, if its first bytes are known) or a size over kHelloBytesMax. May be called with fewer bytes: it
/// then checks those and returns 0 when they can still become a hello.
Result<std::size_t> hello_length(Bytes beginning);

/// Reads a whole hello, of exactly hello_length() bytes. Carriers that this build does not know are left out.
/// Errors: kInvalidArgument, kDataLoss for a wrong checksum, kFailedPrecondition for a version or a required
/// feature that this build lacks.
Result<Hello> decode_hello(Bytes hello);

/// The features both sides use. Errors: kFailedPrecondition names the feature that one side requires and the
/// other lacks.
Result<std::uint64_t> agree_features(const Hello& ours, const Hello& theirs);

}  // namespace weft::detail::wire
