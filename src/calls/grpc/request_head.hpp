// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/terms/metadata.hpp"

namespace weft::detail::grpc {

/// Compression of the messages of a request.
enum class Compression : std::uint8_t { kIdentity, kGzip };

/// Head of a request of gRPC, from its fields. The first fault is kept, and the rest of the fields ignored.
/// Metadata are collected in the form of calls. Reused for each head of a connection, and keeps its memory.
class RequestHead {
 public:
  /// Each field counts with its name, its value and 32 bytes.
  explicit RequestHead(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Forgets the last head.
  void clear() noexcept;
  /// Takes the next field. Throws std::bad_alloc.
  void add(std::string_view name, std::string_view value);

  /// Status of HTTP for a request of another protocol than gRPC; 0 for a request of gRPC.
  int http_refusal() const noexcept;
  /// Fault of the request; ok if there is none.
  const Status& fault() const noexcept { return fault_; }
  /// Name of the called method, "package.Service/Method".
  std::string_view method_name() const noexcept;
  /// Pairs of the caller, in the form of calls.
  MetadataView metadata() const noexcept { return MetadataView{Bytes{pairs_.data(), pairs_.size()}}; }
  std::optional<Duration> timeout() const noexcept { return timeout_; }
  Compression compression() const noexcept { return compression_; }

 private:
  void add_pseudo(std::string_view name, std::string_view value);
  void add_reserved(std::string_view name, std::string_view value);
  void add_metadata(std::string_view name, std::string_view value);
  void add_pair(std::string_view name, std::string_view value);
  void fail(Status why) noexcept;

  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::size_t pair_count_ = 0;
  std::string path_;
  std::string decoded_;
  std::vector<std::byte> pairs_;
  std::optional<Duration> timeout_;
  Status fault_;
  Compression compression_ = Compression::kIdentity;
  bool is_post_ = false;
  bool is_grpc_ = false;
};

}  // namespace weft::detail::grpc
