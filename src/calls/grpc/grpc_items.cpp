// SPDX-License-Identifier: Apache-2.0
// Streams of messages in requests and answers.
#include <algorithm>
#include <new>
#include <utility>

#include "calls/grpc/grpc_calls.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail::grpc {

namespace {

constexpr FixedFailure kNoMemoryToSend{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
                                       "the server's memory (process_memory_max), or this connection's share "
                                       "of it, has no room for the message, "
                                       "which waits to be sent"};
constexpr FixedFailure kNoMemoryToReceive{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
                                          "the server's memory (process_memory_max), or this connection's "
                                          "share of it, has no room for a message of "
                                          "the request"};
constexpr FixedFailure kBadItemFlag{StatusCode::kInternal, Layer::kRpc, Retry::kNever,
                                    "the first byte of a message is neither 0 nor 1"};
constexpr FixedFailure kCutItem{StatusCode::kInternal, Layer::kRpc, Retry::kNever,
                                "the request ends within a message"};

}  // namespace

GrpcCalls::ItemsTurn::ItemsTurn(GrpcCalls& its) noexcept
    : detail::Ready([](detail::Ready* node) noexcept {
        GrpcCalls& calls = static_cast<ItemsTurn*>(node)->owner;
        try {
          while (!calls.due_items_.empty()) calls.pass_backlog(calls.due_items_.pop_front());
        } catch (const std::bad_alloc&) {
          calls.link_.give_up();
        }
        calls.link_.flush_soon();
      }),
      owner(its) {}

StreamSide* GrpcCalls::side_of(const GrpcStream& stream) noexcept {
  ServedCall* const call = served_.find(static_cast<std::uint64_t>(stream.id));
  return call != nullptr && !call->answered() ? call->stream().get() : nullptr;
}

// Bytes of messages that the handler has not read stay in the backlog, and are not consumed: then the peer
// can send no more than the window of the stream.
void GrpcCalls::pass_items(GrpcStream& stream, Bytes data) {
  while (stream.request == GrpcStream::Request::kItems && !data.empty()) {
    StreamSide* const side = side_of(stream);
    if (side == nullptr || !side->incoming().are_wanted()) {
      stream.reader.drop();
      break;
    }
    if (!side->incoming().has_credit()) return stall(stream, data);
    const std::size_t before = data.size();
    const MessageReader::Step step = stream.reader.next(data);
    consume(stream, before - data.size());
    switch (step) {
      case MessageReader::Step::kMore:
        return;
      case MessageReader::Step::kMessage:
        pass_item(stream, *side);
        break;
      case MessageReader::Step::kBadFlag:
        fail_items(stream, Status::of<kBadItemFlag>());
        break;
      case MessageReader::Step::kTooLarge:
        fail_items(stream, over_limit("a message", stream.reader.length(), limits_.body_bytes_max,
                                      "the server's", "raise ServerOptions::limits.body_bytes_max"));
        break;
      case MessageReader::Step::kNoMemory:
        fail_items(stream, Status::of<kNoMemoryToReceive>());
        break;
    }
  }
  consume(stream, data.size());
}

void GrpcCalls::pass_item(GrpcStream& stream, StreamSide& side) {
  Bytes message = stream.reader.message();
  if (auto refusal = uncompress(stream, message)) return fail_items(stream, std::move(refusal->status));
  const bool is_alone = !stream.reader.is_compressed();
  static_cast<void>(side.on_item(message, is_alone ? stream.reader.chunk() : ChunkRef{}));
  stream.reader.drop();
  uncompressed_.drop();
  loop_.turn_time().did(1);
}

bool GrpcCalls::reserve_backlog(GrpcStream& stream, std::size_t more) {
  const std::size_t before = stream.backlog.capacity();
  const std::size_t needed = stream.backlog.size() + more;
  if (needed <= before) return true;
  const std::size_t capacity = std::max(needed, 2 * before);
  if (!kept_.reserve(capacity - before)) return false;
  try {
    stream.backlog.reserve(capacity);
  } catch (const std::bad_alloc&) {
    kept_.release(capacity - before);
    return false;
  }
  return true;
}

void GrpcCalls::stall(GrpcStream& stream, Bytes data) {
  if (!reserve_backlog(stream, data.size())) {
    fail_items(stream, Status::of<kNoMemoryToReceive>());
    return consume(stream, data.size());
  }
  stream.stalled = true;
  stream.backlog.insert(stream.backlog.end(), data.begin(), data.end());
}

void GrpcCalls::pass_backlog(GrpcStream& stream) {
  if (!stream.stalled) return;
  stream.stalled = false;
  const std::vector<std::byte> waiting = std::exchange(stream.backlog, {});
  kept_.release(waiting.capacity());
  pass_items(stream, waiting);
  const bool is_over = stream.request == GrpcStream::Request::kItems && stream.peer_ended && !stream.stalled;
  if (is_over) end_items_of(stream);
}

void GrpcCalls::fail_items(GrpcStream& stream, Status why) {
  drop_request(stream);
  if (StreamSide* const side = side_of(stream)) side->fail_reading(std::move(why));
}

void GrpcCalls::end_items_of(GrpcStream& stream) {
  if (stream.reader.is_within_message()) return fail_items(stream, Status::of<kCutItem>());
  drop_request(stream);
  if (StreamSide* const side = side_of(stream)) static_cast<void>(side->on_last_item());
}

// The reader is in the middle of its work: messages that wait are passed later.
void GrpcCalls::send_credit(const StreamPlace& place, std::uint64_t) noexcept {
  GrpcStream* const stream = unanswered(place.id);
  if (stream == nullptr || !stream->stalled) return;
  if (!stream->items_are_due()) due_items_.push_back(*stream);
  if (!items_turn_.is_scheduled()) loop_.schedule(items_turn_);
}

std::byte* GrpcCalls::begin_item(const StreamPlace& place, std::uint32_t bytes) noexcept {
  if (unanswered(place.id) == nullptr) return nullptr;
  begun_ = OutgoingMessages::make(bytes);
  begun_bytes_ = bytes;
  if (begun_ != nullptr) return OutgoingMessages::body_of(*begun_);
  link_.give_up();
  return nullptr;
}

Status GrpcCalls::end_item(const StreamPlace& place) noexcept {
  GrpcStream* const stream = unanswered(place.id);
  if (stream == nullptr) {
    take_back();
    return {};
  }
  if (!stream->out.push(std::exchange(begun_, nullptr), wire::item_cost(begun_bytes_))) {
    return Status::of<kNoMemoryToSend>();
  }
  go_on(*stream);
  return {};
}

// Credit is given in large steps, and when nothing is left to send.
void GrpcCalls::give_credit(GrpcStream& stream) {
  const std::uint64_t granted = stream.out.left() + kOutputWindow;
  if (granted - stream.credited < kOutputWindow / 2 && !stream.out.empty()) return;
  StreamSide* const side = side_of(stream);
  if (side == nullptr || granted <= stream.credited) return;
  stream.credited = granted;
  static_cast<void>(side->on_credit(granted));
}

}  // namespace weft::detail::grpc
