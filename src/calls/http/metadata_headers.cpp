// SPDX-License-Identifier: Apache-2.0
#include "calls/http/metadata_headers.hpp"

#include <new>
#include <vector>

#include "weft/detail/base/base64.hpp"
#include "weft/detail/calls/gate/authenticator.hpp"
#include "weft/detail/http/response_writer.hpp"

namespace weft::detail::http {

namespace {

constexpr std::string_view kPrefix = "weft-meta-";
constexpr std::string_view kWrittenPrefix = "Weft-Meta-";
constexpr std::string_view kTraceParent = "traceparent";
constexpr std::string_view kBinary = "-bin";

Status invalid(const char* text) {
  return {StatusCode::kInvalidArgument, Layer::kRpc, text};
}

Result<void> add_binary(Metadata& metadata, std::string_view key, std::string_view value) {
  // Many senders leave out the padding.
  std::string text{value};
  while (text.size() % 4 != 0) text += '=';
  const auto bytes = base64_decoded_size(text);
  std::vector<std::byte> decoded(bytes.value_or(0));
  if (!bytes || !decode_base64(text, decoded.data())) return invalid("the value is no base64");
  return metadata.add(key, as_text(decoded));
}

bool is_space(char byte) {
  return byte == ' ' || byte == '\t';
}

/// Returns true if readers, who strip spaces, see the same value (RFC 9110, 5.5).
bool is_unchanged_by_readers(std::string_view value) {
  return value.empty() || (!is_space(value.front()) && !is_space(value.back()));
}

}  // namespace

Result<void> add_metadata_header(Metadata& metadata, std::string_view name, std::string_view value) {
  Result<void> added;
  if (name == kAuthorizationKey || name == kTraceParent) {
    added = metadata.view().find(name) ? invalid("it comes more than once") : metadata.add(name, value);
  } else if (name.starts_with(kPrefix)) {
    const std::string_view key = name.substr(kPrefix.size());
    added = key.ends_with(kBinary) ? add_binary(metadata, key, value) : metadata.add(key, value);
  }
  if (added.ok()) return added;
  return added.status().with_context("the header '" + std::string{name} + "'");
}

Status append_metadata_headers(std::string& lines, MetadataView pairs) {
  const std::size_t before = lines.size();
  ResponseWriter writer{lines};
  std::string name;
  std::string encoded;
  for (const auto& [key, value] : pairs) {
    name.assign(kWrittenPrefix).append(key);
    std::string_view written = value;
    if (key.ends_with(kBinary)) {
      encoded.clear();
      append_base64(encoded, as_bytes(value));
      written = encoded;
    }
    if (is_unchanged_by_readers(written) && writer.add(name, written)) continue;
    writer.finish();
    lines.resize(before);
    return {
        StatusCode::kInternal, Layer::kRpc,
        "the answer's metadata '" + std::string{key} +
            "' fit no header of HTTP: a key has letters, digits and '-', and a value that is not plain text "
            "needs a key that ends with '-bin'"};
  }
  if (!writer.finish()) throw std::bad_alloc{};
  return {};
}

}  // namespace weft::detail::http
