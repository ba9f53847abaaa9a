// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/terms/metadata.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail {

/// A request as it was received, independent of its protocol: the id of the call on its connection, and the
/// bytes of metadata and arguments, which are valid while the request is being received.
struct ReceivedRequest {
  const std::uint64_t id;
  /// The metadata, padded to a multiple of 8, and behind them the arguments.
  const Bytes bytes;
  /// Size of the metadata without their padding.
  const std::size_t metadata_bytes = 0;

  MetadataView metadata() const { return MetadataView{bytes.first(metadata_bytes)}; }
  Bytes arguments() const { return bytes.subspan(wire::padded(metadata_bytes)); }
};

}  // namespace weft::detail
