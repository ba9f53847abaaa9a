// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/answer_metadata.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "weft/detail/base/status.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft {

namespace {

constexpr FixedFailure kMalformedMetadata{
    StatusCode::kDataLoss, Layer::kRpc, Retry::kNever,
    "the metadata of the answer are malformed: not made of whole pairs, each with a key"};
constexpr FixedFailure kTooMuchMetadata{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kNever,
    "the metadata of the answer exceed 64 pairs or 8192 bytes (kMetadataPairsMax, wire::kMetadataBytesMax)"};
constexpr FixedFailure kNoMemoryForMetadata{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "out of memory for the metadata of an answer (process_memory_max)"};

std::size_t pairs_in(MetadataView metadata) {
  return static_cast<std::size_t>(std::distance(metadata.begin(), metadata.end()));
}

}  // namespace

Status AnswerMetadata::take(Bytes pairs, bool initial, detail::LocalBudget& memory) noexcept {
  if (pairs.size() > detail::wire::kMetadataBytesMax) return Status::of<kTooMuchMetadata>();
  if (!detail::is_metadata(pairs)) return Status::of<kMalformedMetadata>();
  if (pairs.empty()) return {};
  Kept& kept = initial ? initial_ : trailing_;
  const Bytes before = view_of(kept).bytes();
  const std::size_t bytes = before.size() + pairs.size();
  if (bytes > detail::wire::kMetadataBytesMax ||
      pairs_in(view_of(kept)) + pairs_in(MetadataView{pairs}) > kMetadataPairsMax) {
    return Status::of<kTooMuchMetadata>();
  }
  if (!memory.try_reserve(bytes)) return Status::of<kNoMemoryForMetadata>();
  bool reserved = true;
  try {
    Buffer both = Buffer::short_block(bytes, memory.shared());
    reserved = false;  // the block releases it
    std::byte* const rest = std::copy(before.begin(), before.end(), both.data());
    std::copy(pairs.begin(), pairs.end(), rest);
    kept = std::make_shared<const Buffer>(std::move(both));
    return {};
  } catch (const std::bad_alloc&) {
    if (reserved) memory.release(bytes);
    return Status::of<kNoMemoryForMetadata>();
  }
}

}  // namespace weft
