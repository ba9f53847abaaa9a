// SPDX-License-Identifier: Apache-2.0
// The streams of an HTTP connection: lines of items in requests, and items in answers.
#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "calls/http/buffers.hpp"
#include "calls/http/http_connection.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::http {

namespace {

constexpr std::string_view kRaiseLine = "raise HttpOptions::body_bytes_max";

constexpr FixedFailure kItemTakesMemory{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "the server's memory (process_memory_max) has no room for the item, which waits to be sent"};

}  // namespace

bool HttpConnection::prepare_streams() {
  const Result<const MessageJson*> json = shared_.json.of(*method_);
  if (!json.ok()) {
    served_.refuse(id_, {RefusalReason::kBadArguments, json.status()});
    return false;
  }
  json_ = *json;
  answers_stream_ = json_->has(CallPart::kItemOut);
  if (answers_stream_) {
    stream_answer_.prepare(parser_.request());
    keeps_alive_ = keeps_alive_ && stream_answer_.is_chunked();
  }
  receives_items_ = json_->has(CallPart::kItemIn);
  // The stream has no end; each of its lines is limited.
  if (receives_items_) parser_.limit_body(UINT64_MAX);
  return true;
}

void HttpConnection::serve_first_line() {
  const std::size_t end = body_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = body_.size();
    if (body_.size() <= options_.body_bytes_max) return;
    return served_.refuse(
        id_, {RefusalReason::kBadArguments, over_limit("the line of the arguments", body_.size(),
                                                       options_.body_bytes_max, "the server's", kRaiseLine)});
  }
  std::string rest = body_.substr(end + 1);
  body_.resize(end);
  const std::uint64_t id = id_;
  serve(body_);
  if (id != id_ || phase_ != Phase::kServing) return;
  if (!host_.memory->try_reserve(rest.size())) return fail_items(Status::of<kBodyTakesMemory>());
  reserved_ += rest.size();
  body_ = std::move(rest);
  pass_items();
}

ConnectionStats HttpConnection::traffic() const noexcept {
  ConnectionStats stats = connection_.stats();
  stats.items_received = items_received_;
  stats.items_sent = items_sent_;
  return stats;
}

StreamSide* HttpConnection::stream_of_call() const {
  ServedCall* const call = served_.find(id_);
  return call != nullptr && !call->answered() ? call->stream().get() : nullptr;
}

void HttpConnection::take_items(Bytes piece) {
  if (drops_items_) return;
  if (!host_.memory->try_reserve(piece.size())) return fail_items(Status::of<kBodyTakesMemory>());
  reserved_ += piece.size();
  body_.append(as_text(piece));
  pass_items();
}

// A line that waits for credit stays in the body, and the connection pauses.
void HttpConnection::pass_items() {
  StreamSide* const side = stream_of_call();
  if (side == nullptr || !side->incoming().are_wanted()) {
    drops_items_ = true;
    release_body();
  }
  std::size_t begin = 0;
  bool waits = false;
  while (!drops_items_ && begin < body_.size()) {
    std::size_t end = body_.find('\n', std::max(begin, searched_));
    searched_ = std::min(end, body_.size());
    if (end == std::string::npos && !has_last_item_) break;
    end = searched_;
    std::string_view line = std::string_view{body_}.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) {
      waits = !side->incoming().has_credit();
      if (waits) break;
      pass_item(*side, line);
    }
    begin = std::min(end + 1, body_.size());
  }
  if (drops_items_) {
    release_body();
  } else {
    body_.erase(0, begin);
    searched_ -= std::min(begin, searched_);
    host_.memory->release(begin);
    reserved_ -= begin;
    if (body_.size() > options_.body_bytes_max && !waits) {
      fail_items(over_limit("an item", body_.size(), options_.body_bytes_max, "the server's", kRaiseLine));
    }
  }
  if (waits) return connection_.pause_receiving();
  if (has_last_item_ && side != nullptr) {
    has_last_item_ = false;
    static_cast<void>(side->on_last_item());
  }
  if (receives_items_) connection_.resume_receiving();
}

void HttpConnection::pass_item(StreamSide& side, std::string_view json) {
  std::vector<std::byte> message = std::move(shared_.message);
  const Status read = json_->from_json(CallPart::kItemIn, json, message, options_.body_bytes_max);
  if (read.ok()) {
    ++items_passed_;
    ++items_received_;
    loop_.turn_time().did(1);
    if (side.on_item(message, {}) == IncomingItems::Arrival::kNoMemory) drops_items_ = true;
  } else {
    fail_items(read.with_context("item " + std::to_string(items_passed_)));
  }
  empty_out(message);
  shared_.message = std::move(message);
}

void HttpConnection::fail_items(Status why) {
  drops_items_ = true;
  release_body();
  if (StreamSide* const side = stream_of_call()) side->fail_reading(std::move(why));
}

bool HttpConnection::send_part(StreamAnswer::Part part, std::string_view json) {
  if (is_gone() || phase_ == Phase::kOver) return false;
  ResponseWriter writer{shared_.answer};
  if (!std::exchange(has_begun_answer_, true)) {
    write_head(writer, 200, stream_answer_.content_type(), {});
    writer.add("Cache-Control", "no-store");
    stream_answer_.is_chunked() ? writer.end_chunked() : writer.end();
  }
  stream_answer_.put(writer, part, json, answer_fields_);
  return send_written(writer);
}

HttpConnection::ItemsTurn::ItemsTurn(HttpConnection& its) noexcept
    : Ready([](Ready* node) noexcept {
        HttpConnection& connection = static_cast<ItemsTurn*>(node)->connection;
        try {
          const bool has_more = connection.receives_items_ || connection.has_last_item_;
          if (connection.phase_ == Phase::kServing && has_more) connection.pass_items();
        } catch (const std::bad_alloc&) {
          connection.give_up();
        }
      }),
      connection(its) {}

HttpConnection::Items::Items(HttpConnection& connection)
    : ItemSink(connection.loop_, connection.limits_, *connection.host_.memory), connection_(connection) {}

std::uint32_t HttpConnection::Items::item_bytes_max() const noexcept {
  return connection_.limits_.body_bytes_max;
}

// While little memory is free, items wait until those before them have left.
bool HttpConnection::Items::has_room_for_items() noexcept {
  connection_.settle_answers();
  const ByteConnection& bytes = connection_.connection_;
  return bytes.queued_bytes() == 0 || (bytes.has_room() && memory().free() >= ByteConnection::kHighWater);
}

bool HttpConnection::Items::reserve_item(std::size_t bytes) noexcept {
  return memory().free() >= bytes;
}

std::byte* HttpConnection::Items::begin_item(const StreamPlace& place, std::uint32_t bytes) noexcept {
  if (!connection_.awaits(place.id)) return nullptr;
  std::vector<std::byte>& item = connection_.result_;
  try {
    item = std::move(connection_.shared_.result);
    item.resize(std::max<std::size_t>(bytes, 1));  // an empty item has a place too
    item.resize(bytes);
    return item.data();
  } catch (const std::bad_alloc&) {
    connection_.give_up();
    return nullptr;
  }
}

Status HttpConnection::Items::end_item(const StreamPlace&) noexcept {
  HttpConnection& its = connection_;
  std::vector<std::byte> item = std::move(its.result_);
  try {
    std::string json;
    Status status = its.json_->to_json(CallPart::kItemOut, item, json, its.options_.answer_bytes_max);
    empty_out(item);
    its.shared_.result = std::move(item);
    if (!status.ok()) return std::move(status).with_context("an item of the answer");
    its.settle_answers();
    const std::size_t bytes = StreamAnswer::bytes(json.size());
    if (!memory().try_reserve(bytes)) return Status::of<kItemTakesMemory>();
    its.answers_reserved_ += bytes;
    if (!its.send_part(StreamAnswer::Part::kItem, json)) return Status::of<kNoMemoryForCall>();
    ++its.items_sent_;
    return {};
  } catch (const std::bad_alloc&) {
    return Status::of<kNoMemoryForCall>();
  }
}

void HttpConnection::Items::take_back_item(const std::byte*) noexcept {
  connection_.shared_.result = std::move(connection_.result_);
}

// The reader is in the middle of its work: lines that wait are passed later.
void HttpConnection::Items::send_credit(const StreamPlace& place, std::uint64_t) noexcept {
  ItemsTurn& turn = connection_.items_turn_;
  if (place.id == connection_.id_ && !turn.is_scheduled()) connection_.loop_.schedule(turn);
}

}  // namespace weft::detail::http
