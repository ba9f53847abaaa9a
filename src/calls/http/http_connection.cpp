// SPDX-License-Identifier: Apache-2.0
#include "calls/http/http_connection.hpp"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <new>
#include <utility>

#include "calls/gate/method_table.hpp"
#include "calls/http/error_json.hpp"
#include "weft/detail/base/saturated.hpp"
#include "weft/detail/calls/gate/authenticator.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/describe/json.hpp"
#include "weft/detail/http/status.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail::http {

namespace {

constexpr std::string_view kFunctions = "/functions/";
constexpr std::string_view kMetadataPrefix = "weft-meta-";
constexpr std::string_view kTimeout = "weft-timeout-ms";
constexpr std::string_view kTraceParent = "traceparent";
constexpr std::string_view kAllow = "POST, OPTIONS";
/// Buffers of a request that are larger are given back behind it.
constexpr std::size_t kKeptBytes = 16 * 1024;
/// Bytes of a body that give its sender one more second.
constexpr std::uint64_t kBytesPerSecond = 1024;

constexpr FixedFailure kNoSuchPath{
    StatusCode::kNotFound, Layer::kRpc, Retry::kNever,
    "there is nothing at this path; POST /functions/<name> calls a function, with "
    "a JSON array of its arguments as the body"};
constexpr FixedFailure kWrongMethod{StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
                                    "a function is called with POST"};
constexpr FixedFailure kOtherOrigin{StatusCode::kPermissionDenied, Layer::kRpc, Retry::kNever,
                                    "pages of this origin may not call the server "
                                    "(HttpOptions::allowed_origins)"};
constexpr FixedFailure kBadTimeout{StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
                                   "Weft-Timeout-Ms is a number of milliseconds from 1 to 2147483647"};
constexpr FixedFailure kTooSlow{StatusCode::kDeadlineExceeded, Layer::kRpc, Retry::kBackoff,
                                "the request did not arrive in time (HttpOptions::request_timeout)"};
constexpr FixedFailure kHasAttachment{
    StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
    "the answer has an attachment, which HTTP does not carry: call the method "
    "with a client of Weft"};
constexpr FixedFailure kNoMemoryForCall{StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
                                        "the server is out of memory for the call"};
constexpr FixedFailure kBodyTakesMemory{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "the server's memory (process_memory_max) has no room for the body of the request"};
constexpr FixedFailure kAnswerTakesMemory{
    StatusCode::kResourceExhausted, Layer::kRpc, Retry::kBackoff,
    "the server's memory (process_memory_max) has no room for the answer, which waits to be sent"};

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter | 0x20) : letter;
}

std::string lowered(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

/// Returns true if `origin` is the server itself, as the client names it.
bool is_own_origin(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return equal_ignoring_case(origin.substr(scheme.size()), host);
  }
  return false;
}

/// A buffer is kept for the next request unless it is large.
template <typename Container>
void empty_out(Container& buffer) noexcept {
  if (buffer.capacity() > kKeptBytes) {
    Container{}.swap(buffer);
  } else {
    buffer.clear();
  }
}

}  // namespace

HttpConnection::HttpConnection(const ServedConnectionSetup& setup, std::shared_ptr<HttpShared> shared,
                               std::unique_ptr<BaseCarrier> carrier)
    : AnswerSink(setup.connection_id),
      loop_(setup.loop),
      owner_(setup.owner),
      host_(setup.host),
      shared_(std::move(shared)),
      connection_(setup.loop, std::move(carrier), setup.limits.stall_timeout),
      served_(*this, setup.host, setup.loop, setup.limits),
      parser_({.body_bytes_max = shared_->options.body_bytes_max}) {}

HttpConnection::~HttpConnection() {
  connection_.abandon();
  end_calls();
  release_body();
  release_answers();
}

void HttpConnection::start(Bytes received) {
  set_peer_identity(connection_.peer_identity());
  request_began_ = loop_.now();
  loop_.arm(*this, Deadline::after(loop_.now(), shared_->options.request_timeout).at());
  connection_.start(*this, received);
}

std::size_t HttpConnection::on_bytes(Bytes bytes) {
  std::size_t taken = 0;
  try {
    for (;;) {
      if (phase_ == Phase::kOver) return bytes.size();
      if (phase_ == Phase::kServing) {
        if (taken < bytes.size()) connection_.pause_receiving();
        return taken;
      }
      if (connection_.is_paused()) return taken;
      const bool was_idle = parser_.idle();
      const RequestParser::Step step = parser_.next(bytes.subspan(taken));
      taken += step.taken;
      if (was_idle && !parser_.idle()) request_began_ = loop_.now();
      switch (step.event) {
        case RequestParser::Event::kMore:
          if (parser_.awaits_continue() && phase_ == Phase::kReading) {
            connection_.send(as_bytes(kContinueAnswer));
          }
          watch();
          return taken;
        case RequestParser::Event::kHead:
          begin_request();
          break;
        case RequestParser::Event::kBody:
          take_body(step.body);
          break;
        case RequestParser::Event::kEnd:
          end_request();
          break;
        case RequestParser::Event::kRefused:
          keeps_alive_ = false;
          if (phase_ != Phase::kAnswered) {
            phase_ = Phase::kReading;
            answer_error({status_code_of(parser_.refusal().status), Layer::kRpc, parser_.refusal().text},
                         parser_.refusal().status);
          }
          next_request();
          break;
        case RequestParser::Event::kClosed:
          return bytes.size();
      }
    }
  } catch (const std::bad_alloc&) {
    connection_.close(Status::of<kNoMemoryForCall>());
    return bytes.size();
  }
}

void HttpConnection::begin_request() {
  phase_ = Phase::kReading;
  ++id_;
  method_ = nullptr;
  keeps_alive_ = parser_.request().keeps_alive() && !draining_;
  const Request& request = parser_.request();
  allowed_origin_.clear();
  if (const auto origin = request.find("origin")) {
    const auto& allowed = shared_->options.allowed_origins;
    if (std::find(allowed.begin(), allowed.end(), *origin) != allowed.end()) {
      allowed_origin_ = *origin;
    } else if (!is_own_origin(*origin, request.host())) {
      return answer_error(Status::of<kOtherOrigin>());
    }
  }
  const bool is_call = request.path().starts_with(kFunctions) && request.path().size() > kFunctions.size();
  if (request.method() == Method::kOptions) return answer(204, {}, {.allow = kAllow});
  if (!is_call) return answer_error(Status::of<kNoSuchPath>());
  if (request.method() != Method::kPost) {
    const std::string json = error_json(Status::of<kWrongMethod>());
    return answer(405, json, {.allow = kAllow});
  }
  if (Status wrong = take_headers(); !wrong.ok()) return answer_error(wrong);
  const std::string_view name = request.path().substr(kFunctions.size());
  const MethodEntry* const method = host_.methods->find_any(hash_name(name));
  method_ = method != nullptr && method->key.name == name ? method : nullptr;
  served_.begin_whole(id_, method_, metadata_.view());
}

Status HttpConnection::take_headers() {
  const Request& request = parser_.request();
  metadata_ = {};
  deadline_ = {};
  for (std::size_t i = 0; i < request.header_count(); ++i) {
    const HeaderField field = request.header(i);
    const std::string name = lowered(field.name);
    if (name == kTimeout) {
      std::int32_t milliseconds = 0;
      const char* const end = field.value.data() + field.value.size();
      const auto parsed = std::from_chars(field.value.data(), end, milliseconds);
      if (parsed.ec != std::errc{} || parsed.ptr != end || milliseconds <= 0 || request.count(kTimeout) > 1) {
        return Status::of<kBadTimeout>();
      }
      deadline_ = Deadline::after(loop_.now(), std::chrono::milliseconds{milliseconds});
      continue;
    }
    std::string_view key;
    if (name == kAuthorizationKey || name == kTraceParent) key = name;
    if (name.starts_with(kMetadataPrefix)) key = std::string_view{name}.substr(kMetadataPrefix.size());
    if (key.data() == nullptr) continue;
    if (metadata_.view().find(key)) {
      return {StatusCode::kInvalidArgument, Layer::kRpc, "the header '" + name + "' comes more than once"};
    }
    if (Result<void> set = metadata_.set(key, field.value); !set.ok()) {
      return set.status().with_context("the header '" + name + "'");
    }
  }
  return {};
}

// Bytes are reserved as they arrive, never as they are announced.
void HttpConnection::take_body(Bytes piece) {
  if (phase_ != Phase::kReading) return;
  if (!host_.memory->try_reserve(piece.size())) {
    return served_.refuse(id_, {RefusalReason::kOverProcessMemory, Status::of<kBodyTakesMemory>()});
  }
  reserved_ += piece.size();
  body_.append(as_text(piece));
}

void HttpConnection::release_body() noexcept {
  host_.memory->release(std::exchange(reserved_, 0));
  empty_out(body_);
}

void HttpConnection::end_request() {
  if (phase_ == Phase::kAnswered) return next_request();
  phase_ = Phase::kServing;
  loop_.disarm(*this);
  if (!deadline_.is_infinite()) loop_.arm(*this, deadline_.at());
  serve();
}

void HttpConnection::serve() {
  const auto description = shared_->descriptions.of(*method_);
  if (!description.ok()) {
    return served_.refuse(id_, {RefusalReason::kBadArguments, description.status()});
  }
  description_ = *description;
  const Status read = from_json(description_->arguments, body_.empty() ? "[]" : std::string_view{body_},
                                message_, shared_->options.body_bytes_max);
  if (!read.ok()) return served_.refuse(id_, {RefusalReason::kBadArguments, read});
  release_body();
  const Bytes metadata = metadata_.view().bytes();
  if (!metadata.empty()) message_.insert(message_.begin(), wire::padded(metadata.size()), std::byte{0});
  std::copy(metadata.begin(), metadata.end(), message_.begin());
  served_.serve_whole(*method_, {id_, message_, metadata.size()}, deadline_);
}

std::byte* HttpConnection::begin_answer(std::uint64_t id, std::size_t body_bytes,
                                        std::uint64_t attachment_bytes) {
  if (!awaits(id)) return nullptr;
  if (attachment_bytes != 0) {
    fail(id, Status::of<kHasAttachment>());
    return nullptr;
  }
  try {
    result_.resize(std::max<std::size_t>(body_bytes, 1));  // an empty body has a place too
    result_.resize(body_bytes);
    return result_.data();
  } catch (const std::bad_alloc&) {
    refuse_without_memory(id);
    return nullptr;
  }
}

void HttpConnection::end_answer() {
  try {
    std::string json = "null";
    Status status;
    if (description_->result) {
      status = to_json(*description_->result, result_, json, shared_->options.answer_bytes_max);
    }
    empty_out(result_);
    if (!status.ok()) return answer_error(status.with_context("the answer"));
    if (json.size() > ByteConnection::kHighWater) {
      if (!host_.memory->try_reserve(json.size())) return answer_error(Status::of<kAnswerTakesMemory>());
      answers_reserved_ += json.size();
    }
    answer(200, json);
  } catch (const std::bad_alloc&) {
    refuse_without_memory(id_);
  }
}

// "Sent" means queued here: the bytes of an answer cannot be told apart when they leave.
void HttpConnection::end_answer_with(std::uint64_t, Attachment&, std::unique_ptr<AnswerWishes> wishes) {
  end_answer();
  if (wishes != nullptr) wishes->end(true);
}

void HttpConnection::fail(std::uint64_t id, const Status& failure) {
  served_.counting().failed(id, failure.code());
  if (awaits(id)) answer_error(failure);
}

void HttpConnection::refuse(std::uint64_t id, RefusalReason reason, const Status& why) {
  host_.refusals.count(reason);
  served_.counting().refused(id);
  if (awaits(id)) answer_error(why);
}

void HttpConnection::refuse_without_memory(std::uint64_t id) {
  host_.refusals.count(RefusalReason::kOverProcessMemory);
  served_.counting().refused(id);
  if (awaits(id)) answer_error(Status::of<kNoMemoryForCall>());
}

void HttpConnection::answer_error(const Status& failure, int status) {
  try {
    answer(status != 0 ? status : http_status_of(failure.code()), error_json(failure),
           {.retry_after = failure.retry_after()});
  } catch (const std::bad_alloc&) {
    connection_.close(Status::of<kNoMemoryForCall>());
  }
}

void HttpConnection::answer(int status, std::string_view json, const AnswerExtras& extras) {
  if (is_gone() || phase_ == Phase::kOver) return;
  const Request& request = parser_.request();
  {
    ResponseWriter writer{out_};
    writer.begin({.status = status,
                  .date = date_.at(std::time(nullptr)),
                  .version = request.version(),
                  .keeps_alive = keeps_alive_});
    if (!extras.allow.empty()) writer.add("Allow", extras.allow);
    if (status == 401) writer.add("WWW-Authenticate", "Bearer");
    if (extras.retry_after > Duration::zero()) {
      const auto seconds = std::chrono::ceil<std::chrono::seconds>(extras.retry_after).count();
      writer.add("Retry-After", std::to_string(seconds));
    }
    if (!allowed_origin_.empty()) {
      writer.add("Access-Control-Allow-Origin", allowed_origin_);
      writer.add("Vary", "Origin");
      if (status == 204) {
        writer.add("Access-Control-Allow-Methods", "POST");
        writer.add("Access-Control-Allow-Headers", "content-type, authorization, weft-timeout-ms");
      }
    }
    if (status == 204) {
      writer.end();
    } else {
      writer.add("Content-Type", "application/json");
      writer.add("X-Content-Type-Options", "nosniff");
      writer.end_with_length(json.size());
      if (may_have_body(request.method(), status)) writer.put(json);
    }
    if (!writer.finish()) return connection_.close(Status::of<kNoMemoryForCall>());
  }
  const bool queued = connection_.send(as_bytes(std::string_view{out_}));
  empty_out(out_);
  if (!queued) return connection_.close(Status::of<kNoMemoryForCall>());
  if (phase_ == Phase::kServing) return next_request();
  phase_ = Phase::kAnswered;
}

void HttpConnection::next_request() {
  release_body();
  empty_out(message_);
  if (!keeps_alive_ || peer_ended_) {
    phase_ = Phase::kOver;
    loop_.disarm(*this);
    connection_.finish();
    return;
  }
  phase_ = Phase::kIdle;
  loop_.arm(*this, Deadline::after(loop_.now(), shared_->options.idle_timeout).at());
  // A client that reads no answers gets no further ones.
  connection_.has_room() ? connection_.resume_receiving() : connection_.pause_receiving();
}

// Arms the timer for the request that is being received, or for the time between two requests.
void HttpConnection::watch() noexcept {
  if (phase_ == Phase::kServing || phase_ == Phase::kOver) return;
  if (parser_.idle()) return;
  const HttpOptions& options = shared_->options;
  Duration allowed = options.request_timeout;
  if (phase_ != Phase::kIdle) {
    allowed = saturated_sum(allowed, saturated_sum(options.request_timeout,
                                                   std::chrono::seconds{body_.size() / kBytesPerSecond}));
  }
  loop_.arm(*this, Deadline::after(request_began_, allowed).at());
}

void HttpConnection::on_timer() {
  // The handler is cancelled by its own timer, and may answer late or never.
  if (phase_ == Phase::kServing) return answer_error(to_status(CancelReason::kDeadline));
  keeps_alive_ = false;
  if (parser_.idle()) {
    phase_ = Phase::kOver;
    return connection_.finish();
  }
  if (phase_ != Phase::kAnswered) {
    phase_ = Phase::kReading;
    answer_error(Status::of<kTooSlow>(), 408);
  }
  next_request();
}

// A client that ends its side gives up the call that it waits for, as one does that closes the connection:
// the server cannot tell the two apart.
void HttpConnection::on_peer_end() {
  peer_ended_ = true;
  if (phase_ != Phase::kServing) {
    phase_ = Phase::kOver;
    loop_.disarm(*this);
    return connection_.finish();
  }
  if (ServedCall* const call = served_.find(id_)) call->cancel_by_peer();
  connection_.close({StatusCode::kUnavailable, Layer::kTransport, "the peer left before its answer"});
}

void HttpConnection::on_drained() {
  release_answers();
  if (phase_ != Phase::kServing) connection_.resume_receiving();
  wake_room_waiter();
}

void HttpConnection::wake_room_waiter() {
  if (room_waiters_.empty() || !has_room()) return;
  loop_.schedule(room_waiters_.pop_front().node);
}

void HttpConnection::forget(ServedCall& call) {
  served_.forget(call);
  wake_room_waiter();
}

void HttpConnection::end_calls() noexcept {
  set_gone();
  while (!room_waiters_.empty()) loop_.schedule(room_waiters_.pop_front().node);
  std::size_t all = SIZE_MAX;
  served_.orphan_some(all);
}

void HttpConnection::on_closed(const Status& why) {
  phase_ = Phase::kOver;
  loop_.disarm(*this);
  end_calls();
  release_body();
  release_answers();
  owner_.on_connection_closed(*this, why);
}

void HttpConnection::drain() {
  draining_ = true;
  keeps_alive_ = false;
  if (phase_ != Phase::kIdle || !parser_.idle()) return;
  phase_ = Phase::kOver;
  loop_.disarm(*this);
  connection_.finish();
}

void HttpConnection::close(const Status& why) {
  keeps_alive_ = false;
  const bool waits = phase_ == Phase::kServing;
  if (waits) answer_error(why);
  end_calls();
  if (!waits) connection_.close(why);
}

}  // namespace weft::detail::http
