// SPDX-License-Identifier: Apache-2.0
#include "perf/streams.hpp"

#include <string_view>
#include <utility>

#include "load/payload.hpp"
#include "perf/payload_types.hpp"

namespace weft::perf {
namespace {

using SendItems = Stream<SeenPayload>(std::uint64_t);
using TakeItems = Task<Result<std::uint64_t>>(Reader<TaggedPattern>&);
using SendAttachments = Stream<std::uint64_t>(std::uint64_t);
using TakeAttachments = Task<Result<std::uint64_t>>(Reader<std::uint64_t>&);
using EchoItems = Task<Result<void>>(Reader<TaggedPattern>&, Writer<SeenPayload>&);

/// Counts what comes at one time of the loop as one, as the limit does with what one receive brings.
class ItemCounter {
 public:
  explicit ItemCounter(Measurement& measurement)
      : measurement_(measurement), since_ns_(measurement.now_ns()) {}
  ~ItemCounter() { flush(measurement_.now_ns()); }
  ItemCounter(const ItemCounter&) = delete;
  ItemCounter& operator=(const ItemCounter&) = delete;

  /// False when the measurement is over.
  bool count() {
    ++items_;
    const std::int64_t now_ns = measurement_.now_ns();
    return now_ns == since_ns_ || flush(now_ns);
  }

 private:
  bool flush(std::int64_t now_ns) {
    if (items_ > 0) measurement_.meter().complete(since_ns_, now_ns, items_);
    items_ = 0;
    since_ns_ = now_ns;
    return measurement_.meter().tick(now_ns);
  }

  Measurement& measurement_;
  std::int64_t since_ns_;
  std::uint64_t items_ = 0;
};

bool is_item(const SeenPayload& item, std::uint64_t bytes, std::uint64_t tag) {
  return item.pattern_intact && item.bytes == bytes && item.tag == load::truncated_tag(tag, bytes);
}

Task<void> read_down(Measurement* measurement, Client* client) {
  const std::uint64_t bytes = measurement->options().size_bytes;
  auto stream = client->open<remote<"perf/send_items", SendItems>>(bytes);
  ItemCounter counter{*measurement};
  for (std::uint64_t tag = 0;; ++tag) {
    auto item = co_await stream.next();
    if (!item) break;
    if (!is_item(*item, bytes, tag)) [[unlikely]] {
      measurement->meter().fail();
    } else if (!counter.count()) {
      co_return;
    }
  }
  measurement->fail(stream.status());
}

Task<void> write_up(Measurement* measurement, Client* client, std::uint64_t first_tag) {
  auto stream = client->open<remote<"perf/take_items", TakeItems>>();
  TaggedPattern item{measurement->pattern(), first_tag};
  {
    ItemCounter counter{*measurement};
    for (;; ++item.tag) {
      if (const bool taken = co_await stream.write(item); !taken) break;
      if (counter.count()) continue;
      ++item.tag;
      stream.end_writing();
      break;
    }
  }
  const Result<std::uint64_t> whole = co_await stream.finish();
  if (!whole.ok()) {
    measurement->fail(whole.status());
  } else if (*whole != item.tag - first_tag) {
    measurement->meter().fail(item.tag - first_tag - *whole);
  }
}

Task<void> read_attachments_down(Measurement* measurement, Client* client) {
  const std::uint64_t bytes = measurement->options().size_bytes;
  auto stream = client->open<remote<"perf/send_attachments", SendAttachments>>(bytes);
  ItemCounter counter{*measurement};
  for (std::uint64_t tag = 0;; ++tag) {
    auto item = co_await stream.next();
    if (!item) break;
    const SeenPayload seen = look_at_pattern(stream.attachment());
    if (*item != tag || seen.bytes != bytes || !seen.pattern_intact) [[unlikely]] {
      measurement->meter().fail();
    } else if (!counter.count()) {
      co_return;
    }
  }
  measurement->fail(stream.status());
}

Task<void> write_attachments_up(Measurement* measurement, Client* client) {
  auto stream = client->open<remote<"perf/take_attachments", TakeAttachments>>();
  const Bytes pattern = measurement->pattern();
  std::uint64_t sent = 0;
  {
    ItemCounter counter{*measurement};
    do {
      // The measurement's, which outlives what is on its way.
      Buffer attachment = Buffer::adopt(MutableBytes{const_cast<std::byte*>(pattern.data()), pattern.size()},
                                        nullptr, [](void*) noexcept {});
      if (const bool taken = co_await stream.write(sent, std::move(attachment)); !taken) break;
      ++sent;
    } while (counter.count());
  }
  const Result<std::uint64_t> whole = co_await stream.finish();
  if (!whole.ok()) {
    measurement->fail(whole.status());
  } else if (*whole != sent) {
    measurement->meter().fail(sent - *whole);
  }
}

Task<void> play_ping_pong(Measurement* measurement, Client* client, std::uint64_t first_tag) {
  auto stream = client->open<remote<"perf/echo_items", EchoItems>>();
  load::Meter& meter = measurement->meter();
  TaggedPattern item{measurement->pattern(), first_tag};
  for (std::int64_t started_ns = measurement->now_ns(); meter.tick(started_ns); ++item.tag) {
    if (const bool taken = co_await stream.write(item); !taken) co_return measurement->fail(stream.status());
    auto back = co_await stream.next();
    if (!back) co_return measurement->fail(stream.status());
    const std::int64_t now_ns = measurement->now_ns();
    if (is_item(*back, item.pattern.size(), item.tag)) {
      meter.complete(started_ns, now_ns);
    } else {
      meter.fail();
    }
    started_ns = now_ns;
  }
  stream.end_writing();
  const Result<void> ended = co_await stream.finish();
  if (!ended.ok()) measurement->fail(ended.status());
}

}  // namespace

Task<void> measure_stream(Measurement* measurement, Client* client, std::uint64_t first_tag) {
  const bool attached = measurement->options().attachment;
  switch (measurement->options().streams) {
    case load::Streams::kDown:
      return attached ? read_attachments_down(measurement, client) : read_down(measurement, client);
    case load::Streams::kUp:
      return attached ? write_attachments_up(measurement, client) : write_up(measurement, client, first_tag);
    default:
      return play_ping_pong(measurement, client, first_tag);
  }
}

}  // namespace weft::perf
