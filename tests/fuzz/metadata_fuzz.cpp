// SPDX-License-Identifier: Apache-2.0
// A call's metadata: what is accepted can be walked to its very end, and put together again from its pairs.
#include <cstdint>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/calls/terms/metadata.hpp"

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
    const bool is_first = view.find(key)->data() == value.data();
    if (is_first && input.size() <= wire::kMetadataBytesMax) again.set(key, value).value();
  }
  WEFT_ASSERT(walked == input.size(), "the pairs are not all there is");
  for (const auto& [key, value] : again.view()) {
    WEFT_ASSERT(view.find(key) == value, "a pair does not survive being set");
  }
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::check({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
