// SPDX-License-Identifier: Apache-2.0
// Requests and answers; grpc_items.cpp has the streams of messages.
#include "calls/grpc/grpc_calls.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "calls/gate/method_table.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/calls/terms/message_json.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail::grpc {

namespace {

constexpr FixedFailure kNoMemory{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
                                 "the server's memory (process_memory_max), or this connection's share of "
                                 "it, has no room for the call"};
constexpr FixedFailure kIsFunction{
    StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
    "this is a function with arguments of C++; gRPC calls methods of services of Protocol Buffers"};
constexpr FixedFailure kNoMessage{StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
                                  "the method takes one message, and the request has none"};
constexpr FixedFailure kTwoMessages{StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
                                    "the method takes one message, and the request has more"};
constexpr FixedFailure kCutMessage{StatusCode::kInternal, Layer::kRpc, Retry::kNever,
                                   "the request ends within a message"};
constexpr FixedFailure kBadFlag{StatusCode::kInternal, Layer::kRpc, Retry::kNever,
                                "the first byte of a message is neither 0 nor 1"};
constexpr FixedFailure kCameTooLate{StatusCode::kDeadlineExceeded, Layer::kRpc, Retry::kNever,
                                    "the request had not arrived as a whole when its time was over"};
constexpr FixedFailure kCameTooSlowly{
    StatusCode::kDeadlineExceeded, Layer::kRpc, Retry::kBackoff,
    "the request did not arrive in time: 64 KiB of it, or its rest, within RpcLimits::frame_timeout"};
constexpr FixedFailure kNoCompression{StatusCode::kInternal, Layer::kRpc, Retry::kNever,
                                      "a message is compressed, and grpc-encoding does not say how"};
constexpr FixedFailure kHasAttachment{
    StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
    "the answer has an attachment, which gRPC does not carry: call the method with a client of Weft"};
constexpr FixedFailure kHeadHasLeft{StatusCode::kFailedPrecondition, Layer::kRpc, Retry::kNever,
                                    "initial metadata were sent already, and gRPC sends them once"};
constexpr std::string_view kPlainText =
    "This port speaks gRPC: POST /package.Service/Method with the content type application/grpc.\n";
constexpr std::string_view kRaiseMessage = "raise ServerOptions::limits.body_bytes_max";
/// Bytes of a request that count as progress.
constexpr std::size_t kProgressBytes = 64 * 1024;
/// Memory for short use that is kept.
constexpr std::size_t kScratchKept = 64 * 1024;

void empty_out(std::vector<std::byte>& scratch) noexcept {
  if (scratch.capacity() > kScratchKept) {
    std::vector<std::byte>{}.swap(scratch);
  } else {
    scratch.clear();
  }
}

/// Writes `pairs` and their padding.
void put_padded(Bytes pairs, std::byte* to) noexcept {
  std::copy(pairs.begin(), pairs.end(), to);
  std::fill(to + pairs.size(), to + wire::padded(pairs.size()), std::byte{0});
}

bool has_part(const MethodEntry& method, CallPart part) {
  return method.key.streams && method.json != nullptr && method.json->has(part);
}

RefusalReason reason_of(const Status& fault) noexcept {
  return fault.code() == StatusCode::kUnimplemented ? RefusalReason::kBadArguments
                                                    : RefusalReason::kBadMetadata;
}

}  // namespace

GrpcCalls::GrpcCalls(const ServedConnectionSetup& setup, const GrpcOptions& options, GrpcLink& link)
    : AnswerSink(setup.connection_id),
      ItemSink(setup.loop, setup.limits, *setup.host.memory),
      loop_(setup.loop),
      limits_(setup.limits),
      host_(setup.host),
      link_(link),
      served_(*this, setup.host, setup.loop, setup.limits),
      kept_(served_.admission(), *setup.host.memory),
      head_(options.header_bytes_max) {}

GrpcCalls::~GrpcCalls() {
  end();
  take_back();
  while (!streams_.empty()) {
    drop_request(streams_.front());
    delete_stream(streams_.pop_front());
  }
}

void GrpcCalls::add_pairs(std::vector<std::byte>& to, Bytes pairs) {
  const std::size_t before = to.capacity();
  to.insert(to.end(), pairs.begin(), pairs.end());
  metadata_bytes_ += to.capacity() - before;
}

void GrpcCalls::delete_stream(GrpcStream& stream) noexcept {
  --stream_count_;
  metadata_bytes_ -= stream.metadata.capacity() + stream.initial.capacity() + stream.trailing.capacity();
  delete &stream;
}

GrpcStream* GrpcCalls::unanswered(std::uint64_t id) noexcept {
  if (is_gone()) return nullptr;
  Http2Stream* const stream = link_.session().find(static_cast<std::int32_t>(id));
  return stream != nullptr && !as_grpc(*stream).answered ? &as_grpc(*stream) : nullptr;
}

Http2Stream* GrpcCalls::on_request_begin(std::int32_t id) noexcept {
  head_.clear();
  try {
    GrpcStream& stream = *new GrpcStream(id, *this, limits_.body_bytes_max, kept_, loop_.chunks());
    streams_.push_back(stream);
    ++stream_count_;
    return &stream;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void GrpcCalls::on_field(Http2Stream&, std::string_view name, std::string_view value) noexcept {
  try {
    head_.add(name, value);
  } catch (const std::bad_alloc&) {
    link_.give_up();
  }
}

void GrpcCalls::on_head(Http2Stream& stream) noexcept {
  try {
    begin_request(as_grpc(stream));
  } catch (const std::bad_alloc&) {
    link_.give_up();
  }
}

void GrpcCalls::begin_request(GrpcStream& stream) {
  const auto id = static_cast<std::uint64_t>(stream.id);
  if (const int refusal = head_.http_refusal(); refusal != 0 && head_.fault().ok()) {
    return answer_plain(stream, refusal);
  }
  const std::string_view name = head_.method_name();
  const MethodEntry* method = host_.methods->find_any(hash_name(name));
  if (method != nullptr && method->key.name != name) method = nullptr;
  const bool is_good = head_.fault().ok();
  if (!served_.begin_whole(id, method, is_good ? head_.metadata() : MetadataView{})) return;
  stream.method = method;
  if (!is_good) return refuse_request(stream, reason_of(head_.fault()), head_.fault());
  if (method->key.takes.empty()) {
    return refuse_request(stream, RefusalReason::kWrongSchema, Status::of<kIsFunction>());
  }
  if (starved_) return refuse_request(stream, RefusalReason::kOverProcessMemory, Status::of<kNoMemory>());
  if (head_.timeout()) stream.deadline = Deadline::after(loop_.now(), *head_.timeout());
  stream.compression = head_.compression();
  stream.answers_items = has_part(*method, CallPart::kItemOut);
  stream.credited = kOutputWindow;
  has_part(*method, CallPart::kItemIn) ? serve_items(stream) : await_message(stream);
}

void GrpcCalls::refuse_request(GrpcStream& stream, RefusalReason reason, const Status& why) {
  served_.counting().go_on_with(*std::exchange(stream.method, nullptr));
  served_.refuse(static_cast<std::uint64_t>(stream.id), {reason, why});
}

void GrpcCalls::await_message(GrpcStream& stream) {
  stream.request = GrpcStream::Request::kMessage;
  new_requests_.push_back(stream);
  const Bytes pairs = head_.metadata().bytes();
  if (pairs.empty()) return;
  add_pairs(stream.metadata, pairs);
  stream.reader.set_headroom(wire::padded(pairs.size()));
}

// The method takes items: it begins before the first one.
void GrpcCalls::serve_items(GrpcStream& stream) {
  stream.request = GrpcStream::Request::kItems;
  const Bytes pairs = head_.metadata().bytes();
  request_.resize(wire::padded(pairs.size()));
  put_padded(pairs, request_.data());
  serve(stream, request_, pairs.size());
}

void GrpcCalls::serve(GrpcStream& stream, Bytes request, std::size_t metadata_bytes) {
  const GrpcStream* const before = std::exchange(serving_, &stream);
  served_.serve_whole(*std::exchange(stream.method, nullptr),
                      {static_cast<std::uint64_t>(stream.id), request, metadata_bytes}, stream.deadline);
  serving_ = before;
  loop_.turn_time().did(1);
}

void GrpcCalls::consume(GrpcStream& stream, std::size_t bytes) noexcept {
  if (!link_.session().consume(stream, bytes)) link_.give_up();
}

void GrpcCalls::on_data(Http2Stream& of, Bytes bytes) noexcept {
  GrpcStream& stream = as_grpc(of);
  try {
    switch (stream.request) {
      case GrpcStream::Request::kMessage:
        consume(stream, bytes.size());
        stream.bytes_since += bytes.size();
        return take_message(stream, bytes);
      case GrpcStream::Request::kItems:
        return stream.stalled ? stall(stream, bytes) : pass_items(stream, bytes);
      default:
        return consume(stream, bytes.size());
    }
  } catch (const std::bad_alloc&) {
    link_.give_up();
  }
}

void GrpcCalls::take_message(GrpcStream& stream, Bytes data) {
  while (!data.empty() && stream.request == GrpcStream::Request::kMessage) {
    if (stream.has_message) {
      return refuse_request(stream, RefusalReason::kBadArguments, Status::of<kTwoMessages>());
    }
    switch (stream.reader.next(data)) {
      case MessageReader::Step::kMore:
        return;
      case MessageReader::Step::kMessage:
        stream.has_message = true;
        borrowing_ = &stream;
        break;
      case MessageReader::Step::kBadFlag:
        return refuse_request(stream, RefusalReason::kBadArguments, Status::of<kBadFlag>());
      case MessageReader::Step::kTooLarge:
        return refuse_request(stream, RefusalReason::kOverMethodsBody,
                              over_limit("a message", stream.reader.length(), limits_.body_bytes_max,
                                         "the server's", kRaiseMessage));
      case MessageReader::Step::kNoMemory:
        return refuse_request(stream, RefusalReason::kOverProcessMemory, Status::of<kNoMemory>());
    }
  }
}

void GrpcCalls::on_data_end(Http2Stream& of, bool is_last) noexcept {
  GrpcStream& stream = as_grpc(of);
  stream.peer_ended = is_last;
  try {
    if (!is_last) return keep_message();
    if (stream.request == GrpcStream::Request::kMessage) {
      serve_message(stream);
    } else if (stream.request == GrpcStream::Request::kItems && !stream.stalled) {
      end_items_of(stream);
    }
  } catch (const std::bad_alloc&) {
    link_.give_up();
  }
}

void GrpcCalls::on_received() {
  keep_message();
  while (!new_requests_.empty()) {
    GrpcStream& stream = new_requests_.pop_front();
    stream.progress_at = loop_.now();
    stream.bytes_since = 0;
    arm_request(stream);
  }
}

void GrpcCalls::arm_request(GrpcStream& stream) noexcept {
  loop_.arm(stream,
            std::min(stream.deadline.at(), Deadline::after(stream.progress_at, limits_.frame_timeout).at()));
}

void GrpcCalls::disarm_request(GrpcStream& stream) noexcept {
  stream.forget_new_request();
  if (stream.armed()) loop_.disarm(stream);
}

// Bytes that came while the loop was away may be here already: then the request is judged a little later.
void GrpcCalls::on_request_timer(GrpcStream& stream) {
  const TimePoint now = loop_.now();
  if (stream.deadline.at() <= now) {
    return refuse_request(stream, RefusalReason::kBehind, Status::of<kCameTooLate>());
  }
  if (stream.bytes_since >= kProgressBytes) {
    stream.bytes_since = 0;
    stream.progress_at = now;
    return arm_request(stream);
  }
  const TimePoint due = std::max(Deadline::after(stream.progress_at, limits_.frame_timeout).at(),
                                 loop_.turn_time().absence().judge_from(limits_.frame_timeout));
  if (due > now) return loop_.arm(stream, std::min(stream.deadline.at(), due));
  refuse_request(stream, RefusalReason::kBehind, Status::of<kCameTooSlowly>());
}

void GrpcCalls::keep_message() {
  GrpcStream* const stream = std::exchange(borrowing_, nullptr);
  if (stream == nullptr || stream->reader.keep_message()) return;
  refuse_request(*stream, RefusalReason::kOverProcessMemory, Status::of<kNoMemory>());
}

void GrpcCalls::serve_message(GrpcStream& stream) {
  if (!stream.has_message) {
    const bool is_cut = stream.reader.is_within_message();
    return refuse_request(stream, RefusalReason::kBadArguments,
                          is_cut ? Status::of<kCutMessage>() : Status::of<kNoMessage>());
  }
  borrowing_ = nullptr;
  Bytes message = stream.reader.message();
  if (const auto refusal = uncompress(stream, message)) {
    return refuse_request(stream, refusal->reason, refusal->status);
  }
  stream.request = GrpcStream::Request::kDone;
  disarm_request(stream);
  const Bytes pairs = stream.metadata;
  const std::size_t headroom = wire::padded(pairs.size());
  if (headroom == 0) {
    serve(stream, message, 0);
  } else if (std::byte* const front = stream.reader.headroom();
             front != nullptr && !stream.reader.is_compressed()) {
    put_padded(pairs, front);
    serve(stream, {front, headroom + message.size()}, pairs.size());
  } else {
    std::vector<std::byte> request = std::move(request_);
    request.resize(headroom + message.size());
    put_padded(pairs, request.data());
    std::copy(message.begin(), message.end(), request.begin() + static_cast<std::ptrdiff_t>(headroom));
    serve(stream, request, pairs.size());
    empty_out(request);
    request_ = std::move(request);
  }
  stream.reader.drop();
  uncompressed_.drop();
}

std::optional<Refusal> GrpcCalls::uncompress(const GrpcStream& stream, Bytes& message) {
  if (!stream.reader.is_compressed()) return std::nullopt;
  if (stream.compression == Compression::kIdentity) {
    return Refusal{RefusalReason::kBadArguments, Status::of<kNoCompression>()};
  }
  std::optional<Refusal> refusal = uncompressed_.inflate(message, limits_.body_bytes_max);
  message = uncompressed_.bytes();
  return refusal;
}

void GrpcCalls::drop_request(GrpcStream& stream) noexcept {
  stream.request = GrpcStream::Request::kDone;
  disarm_request(stream);
  if (borrowing_ == &stream) borrowing_ = nullptr;
  if (serving_ != &stream) stream.reader.drop();
  if (stream.stalled) {
    stream.stalled = false;
    kept_.release(stream.backlog.capacity());
    consume(stream, stream.backlog.size());
  }
  std::vector<std::byte>{}.swap(stream.backlog);
}

void GrpcCalls::count_unserved(GrpcStream& stream) noexcept {
  if (stream.method == nullptr) return;
  served_.counting().go_on_with(*std::exchange(stream.method, nullptr));
  served_.counting().dropped();
}

void GrpcCalls::on_stream_closed(Http2Stream& of) noexcept {
  GrpcStream& stream = as_grpc(of);
  if (stream.method != nullptr) {
    count_unserved(stream);
  } else if (!stream.answered) {
    ServedCall* const call = served_.find(static_cast<std::uint64_t>(stream.id));
    stream.answered = true;
    if (call != nullptr) call->cancel_by_peer();
  }
  drop_request(stream);
  delete_stream(stream);
  link_.on_ended();
}

std::byte* GrpcCalls::begin_answer(std::uint64_t id, std::size_t body_bytes, std::uint64_t attachment_bytes) {
  if (unanswered(id) == nullptr) return nullptr;
  if (attachment_bytes != 0) {
    fail(id, Status::of<kHasAttachment>());
    return nullptr;
  }
  if (body_bytes > limits_.body_bytes_max) {
    fail(id, over_limit("the answer", body_bytes, limits_.body_bytes_max, "the server's", kRaiseMessage));
    return nullptr;
  }
  begun_ = OutgoingMessages::make(body_bytes);
  if (begun_ == nullptr) {
    refuse_without_memory(id);
    return nullptr;
  }
  begun_id_ = id;
  return OutgoingMessages::body_of(*begun_);
}

// The result of a call with items in its answer is nothing, and no message.
void GrpcCalls::end_answer() {
  note_end(false);
  OutgoingMessages::Block* const message = std::exchange(begun_, nullptr);
  GrpcStream* const stream = unanswered(begun_id_);
  if (stream == nullptr || stream->answers_items) {
    OutgoingMessages::free(message);
  } else if (!stream->out.push(message, 0)) {
    note_end(true);
    return fail(begun_id_, Status::of<kNoMemory>());
  }
  if (stream != nullptr) end_stream(*stream, {});
}

void GrpcCalls::take_back() noexcept {
  OutgoingMessages::free(std::exchange(begun_, nullptr));
}

void GrpcCalls::take_back_answer(const std::byte*) {
  take_back();
}

// "Sent" means queued here: the bytes of an answer cannot be told apart when they leave.
void GrpcCalls::end_answer_with(std::uint64_t, Attachment&, std::unique_ptr<AnswerWishes> wishes) {
  end_answer();
  if (wishes != nullptr) wishes->end(true);
}

// Pairs that a handler adds in one turn leave together.
Status GrpcCalls::send_metadata(std::uint64_t id, bool initial, Bytes pairs) {
  GrpcStream* const stream = unanswered(id);
  if (stream == nullptr) return {};
  if (initial && stream->head_submitted) return Status::of<kHeadHasLeft>();
  if (Status fault = check_answer_pairs(MetadataView{pairs}); !fault.ok()) return fault;
  std::vector<std::byte>& given = initial ? stream->initial : stream->trailing;
  try {
    add_pairs(given, pairs);
  } catch (const std::bad_alloc&) {
    return Status::of<kNoMemory>();
  }
  if (!initial) return {};
  if (!stream->head_is_due()) due_heads_.push_back(*stream);
  link_.flush_soon();
  return {};
}

void GrpcCalls::fail(std::uint64_t id, const Status& failure) {
  served_.counting().failed(id, failure.code(), failure.message());
  if (GrpcStream* const stream = unanswered(id)) end_stream(*stream, failure);
}

void GrpcCalls::refuse(std::uint64_t id, RefusalReason reason, const Status& why) {
  host_.refusals.count(reason);
  served_.counting().refused(id, why.code(), why.message());
  if (GrpcStream* const stream = unanswered(id)) {
    stream->method = nullptr;
    end_stream(*stream, why);
  }
}

void GrpcCalls::refuse_without_memory(std::uint64_t id) {
  refuse(id, RefusalReason::kOverProcessMemory, Status::of<kNoMemory>());
}

void GrpcCalls::end_stream(GrpcStream& stream, Status outcome) {
  stream.answered = true;
  stream.outcome = std::move(outcome);
  drop_request(stream);
  go_on(stream);
}

void GrpcCalls::answer_plain(GrpcStream& stream, int status) {
  stream.is_plain = true;
  stream.plain_status = static_cast<std::uint16_t>(status);
  if (!stream.out.push_text(kPlainText)) return link_.give_up();
  end_stream(stream, {});
}

void GrpcCalls::go_on(GrpcStream& stream) {
  link_.flush_soon();
  if (!stream.head_submitted) {
    if (!link_.session().is_heap_high()) return submit_head(stream);
    if (!stream.head_is_due()) due_heads_.push_back(stream);
    return;
  }
  if (std::exchange(stream.deferred, false) && !link_.session().resume(stream)) link_.give_up();
}

void GrpcCalls::submit_head(GrpcStream& stream) {
  stream.head_submitted = true;
  stream.forget_due_head();
  const bool has_body = stream.is_plain || !stream.initial.empty() || !stream.ends_with(0);
  try {
    fields_.clear();
    if (stream.is_plain) {
      fields_.add_constant(":status", stream.plain_status == 405 ? "405" : "415");
      fields_.add_constant("content-type", "text/plain");
    } else {
      fields_.add_answer_head();
      fields_.add_pairs(MetadataView{stream.initial});
      if (!has_body) fields_.add_outcome(stream.outcome);
      if (!has_body) fields_.add_pairs(MetadataView{stream.trailing});
    }
    if (link_.session().submit_head(stream, fields_.fields(), has_body)) return;
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the connection ends
  }
  link_.give_up();
}

BodyPart GrpcCalls::body_of(Http2Stream& of, std::size_t bytes_max) noexcept {
  GrpcStream& stream = as_grpc(of);
  BodyPart part{std::min(stream.out.bytes(), bytes_max)};
  if (stream.ends_with(part.bytes)) {
    part.end = stream.is_plain ? BodyPart::End::kLast : BodyPart::End::kTrailers;
  }
  stream.deferred = part.bytes == 0 && part.end == BodyPart::End::kMore;
  return part;
}

bool GrpcCalls::send_body(Http2Stream& of, Bytes head, std::size_t bytes) noexcept {
  GrpcStream& stream = as_grpc(of);
  ByteConnection& connection = link_.bytes();
  if (!connection.send(head)) return false;
  while (bytes != 0) {
    const Bytes part = stream.out.front(bytes);
    if (!connection.send(part)) return false;
    bytes -= part.size();
    stream.out.pop(part.size());
  }
  if (stream.answers_items && !stream.answered) give_credit(stream);
  if (stream.is_plain && stream.ends_with(0)) on_headers_sent(stream, true);
  return true;
}

void GrpcCalls::on_body_end(Http2Stream& of) noexcept {
  GrpcStream& stream = as_grpc(of);
  try {
    fields_.clear();
    fields_.add_outcome(stream.outcome);
    fields_.add_pairs(MetadataView{stream.trailing});
    if (link_.session().submit_trailers(stream, fields_.fields())) return;
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the connection ends
  }
  link_.give_up();
}

// The answer is whole: the peer need not send the rest of its request.
void GrpcCalls::on_headers_sent(Http2Stream& of, bool is_last) noexcept {
  if (!is_last || as_grpc(of).peer_ended) return;
  if (!link_.session().reset(of, Http2Error::kNone)) link_.give_up();
}

void GrpcCalls::before_send() {
  while (!due_heads_.empty()) {
    submit_head(due_heads_.pop_front());
    if (link_.session().is_heap_high()) break;
  }
}

void GrpcCalls::on_room() {
  wake_room_waiter();
  wake_writers();
}

void GrpcCalls::wake_room_waiter() {
  if (room_waiters_.empty() || !has_room()) return;
  loop_.schedule(room_waiters_.pop_front().node);
}

void GrpcCalls::forget(ServedCall& call) {
  served_.forget(call);
  wake_room_waiter();
  link_.on_ended();
}

void GrpcCalls::fail_all(const Status& why) {
  for (GrpcStream* stream = streams_.empty() ? nullptr : &streams_.front(); stream != nullptr;
       stream = streams_.after(*stream)) {
    if (stream->answered) continue;
    count_unserved(*stream);
    end_stream(*stream, why);
  }
}

void GrpcCalls::end() noexcept {
  set_gone();
  loop_.unschedule(items_turn_);
  while (!room_waiters_.empty()) loop_.schedule(room_waiters_.pop_front().node);
  for (GrpcStream* stream = streams_.empty() ? nullptr : &streams_.front(); stream != nullptr;
       stream = streams_.after(*stream)) {
    disarm_request(*stream);
    count_unserved(*stream);
  }
  std::size_t all = SIZE_MAX;
  served_.orphan_some(all);
}

}  // namespace weft::detail::grpc
