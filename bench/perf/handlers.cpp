// SPDX-License-Identifier: Apache-2.0
#include "perf/handlers.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "load/cpu.hpp"
#include "perf/limits.hpp"

namespace weft::perf {
namespace {

struct PatternMemory {
  std::vector<std::byte> bytes;
  MemoryLease lease{};  // ends before the bytes
};
using Pattern = std::shared_ptr<PatternMemory>;

/// One pattern for each of the server's threads, as large as was asked for so far. An answer that is still on
/// its way keeps the one it was sent from. Errors: those of registering it.
Result<Pattern> pattern_of(std::uint64_t bytes, const Server* registrar) {
  thread_local Pattern pattern = std::make_shared<PatternMemory>();
  if (pattern->bytes.size() >= bytes) return pattern;
  auto larger = std::make_shared<PatternMemory>(std::vector<std::byte>(bytes));
  load::fill_pattern(larger->bytes);
  if (registrar != nullptr) {
    auto lease = registrar->register_memory(larger->bytes);
    if (!lease.ok()) return std::move(lease).status();
    larger->lease = *std::move(lease);
  }
  pattern = std::move(larger);
  return pattern;
}

Status too_large(std::uint64_t bytes) {
  return {StatusCode::kInvalidArgument, Layer::kUser,
          "an answer of " + std::to_string(bytes) + " bytes is more than a measurement may ask for"};
}

/// The pattern itself, which stays while this does.
Buffer attachment_of(const Pattern& pattern, std::uint64_t bytes) {
  auto* const owner = new Pattern(pattern);
  return Buffer::adopt(MutableBytes{pattern->bytes}.first(bytes), owner,
                       [](void* kept) noexcept { delete static_cast<Pattern*>(kept); });
}

}  // namespace

Result<TaggedPattern> perf_generate(std::string_view payload, std::uint64_t answer_bytes) {
  if (answer_bytes > kPayloadBytesMax) return too_large(answer_bytes);
  const Pattern pattern = pattern_of(answer_bytes, nullptr).value();
  return TaggedPattern{Bytes{pattern->bytes}.first(answer_bytes), load::read_tag(as_bytes(payload))};
}

void perf_echo_attachment(CallContext& context) {
  context.set_attachment(context.take_attachment());
}

Task<TimerLateness> perf_timer_lateness(CallContext&, std::uint64_t for_ns) {
  constexpr std::uint64_t kDayNs = 86'400'000'000'000;
  load::Histogram late;
  const std::int64_t now_ns = load::now_ns();
  co_await watch_timer(now_ns, now_ns + static_cast<std::int64_t>(std::min(for_ns, kDayNs)), &late);
  co_return TimerLateness::of(late);
}

Result<std::uint64_t> perf_generate_attachment(CallContext& context, std::uint64_t answer_bytes,
                                               const Server* registrar) {
  if (answer_bytes > kPayloadBytesMax) return too_large(answer_bytes);
  auto pattern = pattern_of(answer_bytes, registrar);
  if (!pattern.ok()) return std::move(pattern).status();
  context.set_attachment(attachment_of(*pattern, answer_bytes));
  return load::read_tag(context.attachment());
}

Stream<TaggedPattern> perf_send_items(std::uint64_t item_bytes) {
  if (item_bytes > kPayloadBytesMax) throw too_large(item_bytes);
  const Pattern pattern = pattern_of(item_bytes, nullptr).value();
  TaggedPattern item{Bytes{pattern->bytes}.first(item_bytes)};
  for (;; ++item.tag) co_yield item;
}

Stream<std::uint64_t> perf_send_attachments(std::uint64_t bytes) {
  if (bytes > kPayloadBytesMax) throw too_large(bytes);
  const Pattern pattern = pattern_of(bytes, nullptr).value();
  for (std::uint64_t tag = 0;; ++tag) co_yield with_attachment(tag, attachment_of(pattern, bytes));
}

Task<Result<std::uint64_t>> perf_take_attachments(Reader<std::uint64_t>& items) {
  std::uint64_t whole = 0;
  while (auto item = co_await items.next()) {
    if (look_at_pattern(items.attachment()).pattern_intact) ++whole;
  }
  if (!items.status().ok()) co_return items.status();
  co_return whole;
}

Task<Result<std::uint64_t>> perf_take_items(Reader<SeenPayload>& items) {
  std::uint64_t whole = 0;
  while (auto item = co_await items.next()) {
    if (item->pattern_intact) ++whole;
  }
  if (!items.status().ok()) co_return items.status();
  co_return whole;
}

Task<Result<void>> perf_echo_items(Reader<std::string_view>& items, Writer<std::string_view>& back) {
  while (auto item = co_await items.next()) {
    if (const bool taken = co_await back.write(*item); !taken) co_return back.status();
  }
  co_return Result<void>{};
}

}  // namespace weft::perf
