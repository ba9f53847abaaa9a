// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/metadata.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "weft/detail/base/secret.hpp"

namespace weft {

namespace {

constexpr std::size_t kPairLengths = 4;

void append_pair(std::vector<std::byte>& block, std::string_view key, std::string_view value) {
  std::byte lengths[kPairLengths];
  detail::store_le<std::uint16_t>(lengths, static_cast<std::uint16_t>(key.size()));
  detail::store_le<std::uint16_t>(lengths + 2, static_cast<std::uint16_t>(value.size()));
  for (const Bytes part : {Bytes{lengths}, as_bytes(key), as_bytes(value)}) {
    block.insert(block.end(), part.begin(), part.end());
  }
}

}  // namespace

std::optional<std::string_view> MetadataView::find(std::string_view key) const {
  for (const auto& [each, value] : *this) {
    if (each == key) return value;
  }
  return std::nullopt;
}

Result<void> Metadata::set(std::string_view key, std::string_view value) {
  if (key.empty()) return Status{StatusCode::kInvalidArgument, Layer::kRpc, "metadata: a key has no text"};
  std::vector<std::byte> changed;
  std::size_t pairs = 1;
  for (const auto& [other, its_value] : view()) {
    if (other == key) continue;
    append_pair(changed, other, its_value);
    ++pairs;
  }
  const std::size_t room = detail::wire::kMetadataBytesMax - changed.size();
  // Each on its own first: a sum could overflow.
  const bool fits =
      key.size() <= room && value.size() <= room && kPairLengths + key.size() + value.size() <= room;
  if (!fits || pairs > kMetadataPairsMax) {
    return Status{StatusCode::kResourceExhausted, Layer::kRpc,
                  "metadata: with '" + std::string{key.substr(0, 40)} + "' it would be over the limit of " +
                      std::to_string(fits ? kMetadataPairsMax : detail::wire::kMetadataBytesMax) +
                      (fits ? " pairs" : " bytes")};
  }
  append_pair(changed, key, value);
  block_ = std::move(changed);
  return {};
}

namespace detail {

std::size_t remove_pair(MutableBytes metadata, std::string_view key) noexcept {
  for (std::size_t at = 0; at < metadata.size();) {
    const MutableBytes rest = metadata.subspan(at);
    const std::size_t key_bytes = load_le<std::uint16_t>(rest.data());
    const std::size_t pair = kPairLengths + key_bytes + load_le<std::uint16_t>(rest.data() + 2);
    if (as_text(rest.subspan(kPairLengths, key_bytes)) != key) {
      at += pair;
      continue;
    }
    std::memmove(rest.data(), rest.data() + pair, rest.size() - pair);
    wipe_memory(metadata.data() + metadata.size() - pair, pair);
    return metadata.size() - pair;
  }
  return metadata.size();
}

bool is_metadata(Bytes bytes) noexcept {
  if (bytes.empty()) return true;
  std::array<std::string_view, kMetadataPairsMax> keys;
  std::size_t pairs = 0;
  while (!bytes.empty()) {
    if (bytes.size() < kPairLengths || pairs == keys.size()) return false;
    const std::size_t key_bytes = load_le<std::uint16_t>(bytes.data());
    const std::size_t value_bytes = load_le<std::uint16_t>(bytes.data() + 2);
    if (key_bytes == 0 || bytes.size() - kPairLengths < key_bytes + value_bytes) return false;
    const std::string_view key = as_text(bytes.subspan(kPairLengths, key_bytes));
    const auto known = keys.begin() + static_cast<std::ptrdiff_t>(pairs);
    if (std::find(keys.begin(), known, key) != known) return false;
    keys[pairs++] = key;
    bytes = bytes.subspan(kPairLengths + key_bytes + value_bytes);
  }
  return true;
}

}  // namespace detail

}  // namespace weft
