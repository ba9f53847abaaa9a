// SPDX-License-Identifier: Apache-2.0
#include "calls/grpc/request_head.hpp"

#include <utility>

#include "calls/grpc/header_texts.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail::grpc {

namespace {

constexpr std::size_t kFieldOverhead = 32;
constexpr std::size_t kPairLengths = 4;

constexpr FixedFailure kTooLarge{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kNever,
                                 "the headers are over the server's limit (GrpcOptions::header_bytes_max)"};
constexpr FixedFailure kTooMuchMetadata{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kNever,
    "the metadata are over the limits of a call, 64 pairs and 8 KiB, 4 bytes for each pair counted"};
constexpr FixedFailure kBadTimeout{StatusCode::kInternal, Layer::kRpc, Retry::kNever,
                                   "grpc-timeout is one to eight digits and a unit: H, M, S, m, u or n"};
constexpr FixedFailure kBadBinary{StatusCode::kInternal, Layer::kRpc, Retry::kNever,
                                  "the value of a key that ends in -bin is no base64"};
constexpr FixedFailure kUnknownEncoding{
    StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
    "the messages have an encoding that the server does not know; grpc-accept-encoding has those that it "
    "knows"};

}  // namespace

void RequestHead::clear() noexcept {
  bytes_ = pair_count_ = 0;
  path_.clear();
  pairs_.clear();
  timeout_.reset();
  fault_ = {};
  compression_ = Compression::kIdentity;
  is_post_ = is_grpc_ = false;
}

void RequestHead::fail(Status why) noexcept {
  if (fault_.ok()) fault_ = std::move(why);
}

void RequestHead::add(std::string_view name, std::string_view value) {
  bytes_ += name.size() + value.size() + kFieldOverhead;
  if (bytes_ > bytes_max_) return fail(Status::of<kTooLarge>());
  if (name.starts_with(':')) return add_pseudo(name, value);
  if (name.starts_with("grpc-")) return add_reserved(name, value);
  if (name == "content-type") {
    is_grpc_ = is_grpc_content(value);
  } else if (name != "te" && name != "user-agent" && name != "content-length") {
    add_metadata(name, value);
  }
}

void RequestHead::add_pseudo(std::string_view name, std::string_view value) {
  if (name == ":path") path_ = value;
  if (name == ":method") is_post_ = value == "POST";
}

// Names of gRPC that this side does not know go to the handler: traces and tags are among them.
void RequestHead::add_reserved(std::string_view name, std::string_view value) {
  if (name == "grpc-timeout") {
    timeout_ = parse_timeout(value);
    if (!timeout_) fail(Status::of<kBadTimeout>());
  } else if (name == "grpc-encoding") {
    if (value != "identity" && value != "gzip") return fail(Status::of<kUnknownEncoding>());
    compression_ = value == "gzip" ? Compression::kGzip : Compression::kIdentity;
  } else if (name != "grpc-accept-encoding" && name != "grpc-message-type") {
    add_metadata(name, value);
  }
}

// One field may have several values of a binary key, with commas between them.
void RequestHead::add_metadata(std::string_view name, std::string_view value) {
  if (!is_binary_key(name)) return add_pair(name, value);
  for (bool has_more = true; has_more;) {
    const std::size_t comma = value.find(',');
    has_more = comma != std::string_view::npos;
    std::string_view one = value.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (!decode_binary_value(one, decoded_)) return fail(Status::of<kBadBinary>());
    add_pair(name, decoded_);
    if (has_more) value.remove_prefix(comma + 1);
  }
}

void RequestHead::add_pair(std::string_view name, std::string_view value) {
  const std::size_t room = wire::kMetadataBytesMax - pairs_.size();
  const bool fits = name.size() <= room && value.size() <= room &&
                    kPairLengths + name.size() + value.size() <= room && pair_count_ < kMetadataPairsMax;
  if (!fits) return fail(Status::of<kTooMuchMetadata>());
  ++pair_count_;
  std::byte lengths[kPairLengths];
  store_le<std::uint16_t>(lengths, static_cast<std::uint16_t>(name.size()));
  store_le<std::uint16_t>(lengths + 2, static_cast<std::uint16_t>(value.size()));
  for (const Bytes part : {Bytes{lengths}, as_bytes(name), as_bytes(value)}) {
    pairs_.insert(pairs_.end(), part.begin(), part.end());
  }
}

int RequestHead::http_refusal() const noexcept {
  if (!is_grpc_) return 415;
  return is_post_ ? 0 : 405;
}

std::string_view RequestHead::method_name() const noexcept {
  const std::string_view path = path_;
  return path.starts_with('/') ? path.substr(1) : std::string_view{};
}

}  // namespace weft::detail::grpc
