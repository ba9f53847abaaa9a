// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail::http {

/// Bounds of one request. A request over a bound is refused with a status and a text that names the bound.
/// Bounds of lines and fields over 1 GiB count as 1 GiB.
///
/// A parser keeps the bytes of one head, a table of its fields (16 bytes for each), a decoded path, and one
/// trailer section: with these values less than 80 KiB for a hostile peer, and some hundred bytes for an
/// ordinary request. The body is not kept.
struct RequestLimits {
  /// Request line without its line end; more is refused with 414.
  std::size_t request_line_bytes_max = 8 * 1024;
  /// All header fields with their line ends; more is refused with 431.
  std::size_t header_bytes_max = 16 * 1024;
  /// Header fields; more are refused with 431.
  std::size_t header_count_max = 100;
  /// Body without the framing of its chunks; more is refused with 413. See RequestParser::limit_body().
  std::uint64_t body_bytes_max = 16 * 1024 * 1024;
  /// All trailer fields with their line ends; more is refused with 431.
  std::size_t trailer_bytes_max = 4 * 1024;
  /// Digits of the size of a chunk, leading zeros included; more are refused with 400. More than 16 count
  /// as 16.
  std::size_t chunk_digits_max = 8;
};

}  // namespace weft::detail::http
