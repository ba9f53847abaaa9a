// SPDX-License-Identifier: Apache-2.0
#include "perf/handlers.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "perf/limits.hpp"

namespace weft::perf {
namespace {

using Pattern = std::shared_ptr<std::vector<std::byte>>;

/// One pattern for each of the server's threads, as large as was asked for so far. An answer that is still on
/// its way keeps the one it was sent from.
Pattern pattern_of(std::uint64_t bytes) {
  thread_local Pattern pattern = std::make_shared<std::vector<std::byte>>();
  if (pattern->size() < bytes) {
    pattern = std::make_shared<std::vector<std::byte>>(bytes);
    load::fill_pattern(*pattern);
  }
  return pattern;
}

Status too_large(std::uint64_t bytes) {
  return {StatusCode::kInvalidArgument, Layer::kUser,
          "an answer of " + std::to_string(bytes) + " bytes is more than a measurement may ask for"};
}

}  // namespace

Result<TaggedPattern> perf_generate(std::string_view payload, std::uint64_t reply_bytes) {
  if (reply_bytes > kPayloadBytesMax) return too_large(reply_bytes);
  return TaggedPattern{Bytes{*pattern_of(reply_bytes)}.first(reply_bytes), load::read_tag(as_bytes(payload))};
}

void perf_echo_attachment(CallContext& context) {
  context.set_attachment(context.take_attachment());
}

Result<std::uint64_t> perf_generate_attachment(CallContext& context, std::uint64_t reply_bytes) {
  if (reply_bytes > kPayloadBytesMax) return too_large(reply_bytes);
  auto* const owner = new Pattern(pattern_of(reply_bytes));
  context.set_attachment(Buffer::adopt(MutableBytes{**owner}.first(reply_bytes), owner,
                                       [](void* kept) noexcept { delete static_cast<Pattern*>(kept); }));
  return load::read_tag(context.attachment());
}

}  // namespace weft::perf
