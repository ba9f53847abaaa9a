// SPDX-License-Identifier: Apache-2.0
// A call's metadata: what is accepted can be walked to its very end, and put together again from its pairs.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/calls/terms/answer_metadata.hpp"
#include "weft/detail/calls/terms/metadata.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft {

using namespace weft::detail;
namespace {

void check(Bytes input) {
  if (!detail::is_metadata(input)) return;
  const MetadataView view{input};
  Metadata again;
  std::size_t walked = 0;
  for (const auto& [key, value] : view) {
    WEFT_ASSERT(!key.empty(), "a pair without a key was accepted");
    walked += 4 + key.size() + value.size();
    if (input.size() <= wire::kMetadataBytesMax) again.add(key, value).value();
  }
  WEFT_ASSERT(walked == input.size(), "the pairs are not all there is");
  const bool is_large = input.size() > wire::kMetadataBytesMax;
  WEFT_ASSERT(is_large || std::ranges::equal(again.view().bytes(), input), "added pairs change");
  static const auto budget = std::make_shared<MemoryBudget>(std::size_t{1} << 20);
  LocalBudget memory{budget};
  AnswerMetadata answer;
  for (const bool initial : {true, false, false}) {
    if (!answer.take(input, initial, memory).ok()) continue;
    const MetadataView taken = initial ? answer.initial() : answer.trailing();
    WEFT_ASSERT(is_metadata(taken.bytes()), "metadata of answers do not add up");
    const auto end = taken.bytes().last(input.size());
    WEFT_ASSERT(std::ranges::equal(end, input), "metadata of an answer change");
  }
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::check({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
