// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "weft/detail/wire/crc32c.hpp"
#include "weft/detail/wire/frame.hpp"
#include "weft/detail/wire/heads.hpp"
#include "weft/detail/wire/hello.hpp"

/// Builds the bytes of a peer that makes its frames by hand.
namespace weft::testing {

using namespace weft::detail;

/// The bytes of a well-behaved hello.
inline std::string hello_bytes(std::uint64_t features_required = 0,
                               std::uint64_t features_supported = wire::Features::kAll) {
  wire::Hello hello;
  hello.features_supported = features_supported;
  hello.features_required = features_required;
  hello.body_bytes_max = 16u << 20;
  hello.attachment_bytes_max = 1u << 30;
  hello.calls_in_flight_max = 1u << 20;
  return wire::encode_hello(hello);
}

/// The bytes of a header alone, whatever it says.
inline std::string header_bytes(const wire::FrameHeader& header) {
  std::string bytes(wire::kHeaderBytes, '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

inline void append_padded(std::string& to, std::string_view part) {
  to.append(part);
  to.resize(wire::padded(to.size()));
}

/// A frame up to its attachment, of which `header` says how long it is; the length of the body is filled in.
inline std::string frame_head(wire::FrameHeader header, std::string_view body = {}, bool checksum = false) {
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  std::string bytes(wire::head_bytes(header.body_bytes, checksum), '\0');
  auto* at = reinterpret_cast<std::byte*>(bytes.data());
  wire::store_header(at, header);
  body.copy(bytes.data() + wire::kHeaderBytes, body.size());
  wire::finish_frame(at, header.body_bytes, checksum);
  return bytes;
}

/// An attachment as it follows its frame.
inline std::string attachment_bytes(const std::string& attachment, bool checksum) {
  std::string bytes;
  append_padded(bytes, attachment);
  if (!checksum) return bytes;
  const std::uint64_t sum = wire::crc32c(as_bytes(attachment));
  return bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
}

/// A whole frame without checksums; lengths and the attachment's flag are filled in.
inline std::string frame_bytes(wire::FrameHeader header, std::string_view body = {},
                               std::string_view attachment = {}) {
  header.attachment_bytes = attachment.size();
  if (!attachment.empty()) header.flags |= wire::FrameFlags::kAttachment;
  std::string bytes = frame_head(header, body);
  append_padded(bytes, attachment);
  return bytes;
}

inline std::string control_bytes(wire::FrameType type, std::uint64_t id = wire::kNoId) {
  wire::FrameHeader header;
  header.type = type;
  header.id = id;
  return frame_bytes(header);
}

}  // namespace weft::testing
