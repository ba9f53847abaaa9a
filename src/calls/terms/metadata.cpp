// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/metadata.hpp"

#include <cstring>
#include <iterator>
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

/// Fails unless a pair fits behind `bytes` bytes of `pairs` other pairs.
Result<void> check_pair(std::string_view key, std::string_view value, std::size_t bytes, std::size_t pairs) {
  if (key.empty()) return Status{StatusCode::kInvalidArgument, Layer::kRpc, "metadata: a key has no text"};
  const std::size_t room = detail::wire::kMetadataBytesMax - bytes;
  // Each on its own first: a sum could overflow.
  const bool fits =
      key.size() <= room && value.size() <= room && kPairLengths + key.size() + value.size() <= room;
  if (fits && pairs < kMetadataPairsMax) return {};
  return Status{StatusCode::kResourceExhausted, Layer::kRpc,
                "metadata: with '" + std::string{key.substr(0, 40)} + "' it would be over the limit of " +
                    std::to_string(fits ? kMetadataPairsMax : detail::wire::kMetadataBytesMax) +
                    (fits ? " pairs" : " bytes")};
}

}  // namespace

std::optional<std::string_view> MetadataView::find(std::string_view key) const {
  for (const auto& [each, value] : *this) {
    if (each == key) return value;
  }
  return std::nullopt;
}

Result<void> Metadata::set(std::string_view key, std::string_view value) {
  std::vector<std::byte> changed;
  std::size_t pairs = 0;
  for (const auto& [other, its_value] : view()) {
    if (other == key) continue;
    append_pair(changed, other, its_value);
    ++pairs;
  }
  if (Result<void> fits = check_pair(key, value, changed.size(), pairs); !fits.ok()) return fits;
  append_pair(changed, key, value);
  block_ = std::move(changed);
  return {};
}

// Key and value may lie in the block, which moves when it grows.
Result<void> Metadata::add(std::string_view key, std::string_view value) {
  const auto pairs = static_cast<std::size_t>(std::distance(view().begin(), view().end()));
  if (Result<void> fits = check_pair(key, value, block_.size(), pairs); !fits.ok()) return fits;
  std::vector<std::byte> changed;
  changed.reserve(block_.size() + kPairLengths + key.size() + value.size());
  changed = block_;
  append_pair(changed, key, value);
  block_ = std::move(changed);
  return {};
}

namespace detail {

std::size_t remove_pairs(MutableBytes metadata, std::string_view key) noexcept {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < metadata.size();) {
    const MutableBytes rest = metadata.subspan(at);
    const std::size_t key_bytes = load_le<std::uint16_t>(rest.data());
    const std::size_t pair = kPairLengths + key_bytes + load_le<std::uint16_t>(rest.data() + 2);
    at += pair;
    if (as_text(rest.subspan(kPairLengths, key_bytes)) == key) continue;
    if (kept != at - pair) std::memmove(metadata.data() + kept, rest.data(), pair);
    kept += pair;
  }
  wipe_memory(metadata.data() + kept, metadata.size() - kept);
  return kept;
}

bool is_metadata(Bytes bytes) noexcept {
  for (std::size_t pairs = 0; !bytes.empty(); ++pairs) {
    if (bytes.size() < kPairLengths || pairs == kMetadataPairsMax) return false;
    const std::size_t key_bytes = load_le<std::uint16_t>(bytes.data());
    const std::size_t value_bytes = load_le<std::uint16_t>(bytes.data() + 2);
    if (key_bytes == 0 || bytes.size() - kPairLengths < key_bytes + value_bytes) return false;
    bytes = bytes.subspan(kPairLengths + key_bytes + value_bytes);
  }
  return true;
}

}  // namespace detail

}  // namespace weft
