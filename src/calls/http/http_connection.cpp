// SPDX-License-Identifier: Apache-2.0
#include "calls/http/http_connection.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <new>
#include <utility>

#include "calls/gate/method_table.hpp"
#include "calls/http/buffers.hpp"
#include "calls/http/metadata_headers.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/describe/error_json.hpp"
#include "weft/detail/http/status.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail::http {

namespace {

constexpr std::string_view kFunctions = "/functions/";
constexpr std::string_view kTimeout = "weft-timeout-ms";
constexpr std::string_view kAllow = "POST, OPTIONS";
/// Part of a body that must arrive within HttpOptions::request_timeout.
constexpr std::size_t kPartBytes = 16 * 1024;
/// Time that the last answers have to leave after the server has closed the connection.
constexpr Duration kClosing = std::chrono::seconds{1};

constexpr FixedFailure kNoSuchPath{
    StatusCode::kNotFound, Layer::kRpc, Retry::kNever,
    "there is nothing at this path; POST /functions/<name> calls a function, with a JSON array of its "
    "arguments as the body, and POST /<package.Service>/<Method> a method of a service"};
constexpr FixedFailure kPageIsRead{StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
                                   "a page is read with GET or HEAD"};
constexpr FixedFailure kChangeNeedsRules{
    StatusCode::kPermissionDenied, Layer::kRpc, Retry::kNever,
    "without an Authorizer only requests from the server's own host may change something "
    "(ServerOptions::authorizer)"};
constexpr FixedFailure kWrongMethod{StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
                                    "functions and methods are called with POST"};
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
constexpr FixedFailure kClosedWithAnswers{
    StatusCode::kUnavailable, Layer::kRpc, Retry::kReconnect,
    "the server closed the connection, and the peer did not take the last answers in time"};
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

/// Returns true if `host`, with or without a port, is an address or localhost, which no stranger can give
/// another meaning.
bool is_certain_host(std::string_view host) {
  if (host.starts_with('[')) return true;
  const std::string name{host.substr(0, host.find(':'))};
  in_addr address{};
  return equal_ignoring_case(name, "localhost") || ::inet_pton(AF_INET, name.c_str(), &address) == 1;
}

/// Returns true if `origin` is the server itself, as the client names it.
bool is_own_origin(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) {
      return equal_ignoring_case(origin.substr(scheme.size()), host) && is_certain_host(host);
    }
  }
  return false;
}

/// Returns the name of the method that `path` calls: "/functions/<name>", or "/<package.Service>/<Method>".
/// Empty if it calls none.
std::string_view called_name(std::string_view path) {
  if (path.starts_with(kFunctions)) return path.substr(kFunctions.size());
  const std::string_view name = path.substr(path.starts_with('/') ? 1 : 0);
  const std::size_t slash = name.find('/');
  const bool is_method =
      slash != 0 && slash != name.npos && slash + 1 < name.size() && name.find('/', slash + 1) == name.npos;
  return is_method ? name : std::string_view{};
}

}  // namespace

HttpConnection::HttpConnection(const ServedConnectionSetup& setup, const HttpOptions& options,
                               HttpLoop& shared, std::unique_ptr<BaseCarrier> carrier)
    : AnswerSink(setup.connection_id),
      loop_(setup.loop),
      owner_(setup.owner),
      server_(setup.server),
      host_(setup.host),
      options_(options),
      shared_(shared),
      connection_(setup.loop, std::move(carrier), setup.limits.stall_timeout),
      served_(*this, setup.host, setup.loop, setup.limits),
      limits_(setup.limits),
      parser_({.body_bytes_max = options.body_bytes_max}) {}

HttpConnection::~HttpConnection() {
  connection_.abandon();
  end_calls();
  release_body();
  settle_answers();
}

void HttpConnection::start(Bytes received) {
  set_peer_identity(connection_.peer_identity());
  part_began_ = loop_.now();
  loop_.arm(*this, Deadline::after(loop_.now(), options_.request_timeout).at());
  connection_.start(*this, received);
}

std::size_t HttpConnection::on_bytes(Bytes bytes) {
  std::size_t taken = 0;
  try {
    for (;;) {
      if (phase_ == Phase::kOver) return bytes.size();
      if (phase_ == Phase::kServing && !receives_items_) {
        if (taken < bytes.size()) connection_.pause_receiving();
        return taken;
      }
      if (connection_.is_held()) return taken;
      const bool was_idle = parser_.idle();
      const RequestParser::Step step = parser_.next(bytes.subspan(taken));
      taken += step.taken;
      if (was_idle && !parser_.idle()) part_began_ = loop_.now();
      switch (step.event) {
        case RequestParser::Event::kMore:
          // Behind the beginning of the answer, the client would read "100 Continue" as a part of it.
          if (parser_.awaits_continue() && !has_begun_answer_ &&
              (phase_ == Phase::kReading || takes_items()) && !connection_.send(as_bytes(kContinueAnswer))) {
            give_up();
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
          loop_.turn_time().did(1);
          if (loop_.turn_time().is_old()) connection_.give_way();
          break;
        case RequestParser::Event::kRefused:
          keeps_alive_ = false;
          if (phase_ != Phase::kAnswered) {
            const StatusCode code = status_code_of(parser_.refusal().status);
            note_unserved(code);
            phase_ = Phase::kReading;
            answer_error({code, Layer::kRpc, parser_.refusal().text}, parser_.refusal().status);
          }
          next_request();
          break;
        case RequestParser::Event::kClosed:
          return bytes.size();
      }
    }
  } catch (const std::bad_alloc&) {
    give_up();
    return bytes.size();
  }
}

void HttpConnection::begin_request() {
  phase_ = Phase::kReading;
  part_began_ = loop_.now();
  part_bytes_ = 0;
  ++id_;
  method_ = nullptr;
  answers_stream_ = has_begun_answer_ = receives_items_ = has_last_item_ = drops_items_ = false;
  items_passed_ = 0;
  answer_fields_.clear();
  keeps_alive_ = parser_.request().keeps_alive() && !draining_;
  const Request& request = parser_.request();
  allowed_origin_.clear();
  if (const auto origin = request.find("origin")) {
    const auto& allowed = options_.allowed_origins;
    if (std::find(allowed.begin(), allowed.end(), *origin) != allowed.end()) {
      allowed_origin_ = *origin;
    } else if (!is_own_origin(*origin, request.host())) {
      return answer_error(Status::of<kOtherOrigin>());
    }
  }
  const std::string_view name = called_name(request.path());
  if (request.method() == Method::kOptions) {
    answer(204, {}, {.allow = kAllow});
    return;
  }
  if (const Page* const page = find_page(request.path())) return serve_page(*page);
  if (name.empty()) return answer_error(Status::of<kNoSuchPath>());
  if (request.method() != Method::kPost) {
    const std::string json = error_json(Status::of<kWrongMethod>());
    answer(405, json, {.allow = kAllow});
    return;
  }
  if (Status wrong = take_headers(); !wrong.ok()) return answer_error(wrong);
  const MethodEntry* const method = host_.methods->find_any(hash_name(name));
  method_ = method != nullptr && method->key.name == name ? method : nullptr;
  if (!served_.begin_whole(id_, method_, metadata_.view()) || !method_->key.streams) return;
  if (prepare_streams() && receives_items_ && !json_->has(CallPart::kArguments)) serve({});
}

// A page that is not for this connection looks like no page.
void HttpConnection::serve_page(const Page& page) {
  const Request& request = parser_.request();
  const bool is_near = is_local(local_endpoint(), request.host());
  if (options_.pages == HttpPages::kOff || (options_.pages == HttpPages::kLocal && !is_near)) {
    return answer_error(Status::of<kNoSuchPath>());
  }
  const bool reads = request.method() == Method::kGet || request.method() == Method::kHead;
  const bool changes = request.method() == Method::kPut || request.method() == Method::kPost;
  if (!reads && (!changes || page.change == nullptr)) {
    const std::string json = error_json(Status::of<kPageIsRead>());
    answer(405, json, {.allow = page.change == nullptr ? "GET, HEAD" : "GET, HEAD, PUT, POST"});
    return;
  }
  if (Status wrong = take_headers(); !wrong.ok()) return answer_error(wrong);
  if (!reads && !is_near && !served_.gate().has_rules()) return answer_error(Status::of<kChangeNeedsRules>());
  const std::string_view right = reads ? page.path : page.right_to_change;
  const auto refusal = page.is_empty ? std::nullopt : served_.gate().check_page(right, metadata_.view());
  if (refusal) {
    host_.refusals.count(refusal->reason);
    Status why = refusal->status;
    why.set_retry_after(refusal->retry_after);
    return answer_error(why);
  }
  const PageContent content = (reads ? page.write : page.change)(server_, request);
  settle_answers();
  if (!host_.memory->try_reserve(content.text.size())) return answer_error(Status::of<kAnswerTakesMemory>());
  answers_reserved_ += content.text.size();
  answer(content.status, content.text, {.type = content.type, .policy = content.policy});
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
    if (Result<void> added = add_metadata_header(metadata_, name, field.value); !added.ok()) {
      return added.status();
    }
  }
  return {};
}

// Bytes are reserved as they arrive, never as they are announced.
void HttpConnection::take_body(Bytes piece) {
  part_bytes_ += piece.size();
  if (part_bytes_ >= kPartBytes) {
    part_bytes_ = 0;
    part_began_ = loop_.now();
  }
  if (takes_items()) return take_items(piece);
  if (phase_ != Phase::kReading) return;
  if (!host_.memory->try_reserve(piece.size())) {
    return served_.refuse(id_, {RefusalReason::kOverProcessMemory, Status::of<kBodyTakesMemory>()});
  }
  reserved_ += piece.size();
  body_.append(as_text(piece));
  if (receives_items_) serve_first_line();
}

void HttpConnection::release_body() noexcept {
  host_.memory->release(std::exchange(reserved_, 0));
  empty_out(body_);
  searched_ = 0;
}

void HttpConnection::end_request() {
  if (receives_items_) {
    receives_items_ = false;
    has_last_item_ = true;
    if (phase_ == Phase::kServing) return pass_items();
  }
  if (phase_ == Phase::kReading) {
    serve(body_);
    if (phase_ == Phase::kServing && has_last_item_) pass_items();
  }
  if (phase_ == Phase::kAnswered) next_request();
}

// A handler may run in serve_whole() and, by way of another connection of the loop, come back here: the
// message is this call's own meanwhile.
void HttpConnection::serve(std::string_view arguments) {
  const Result<const MessageJson*> method_json = shared_.json.of(*method_);
  if (!method_json.ok()) {
    return served_.refuse(id_, {RefusalReason::kBadArguments, method_json.status()});
  }
  json_ = *method_json;
  std::vector<std::byte> message = std::move(shared_.message);
  const std::string_view json = arguments.empty() ? json_->no_arguments() : arguments;
  const Status read = json_->from_json(CallPart::kArguments, json, message, options_.body_bytes_max);
  if (!read.ok()) return served_.refuse(id_, {RefusalReason::kBadArguments, read});
  release_body();
  const Bytes metadata = metadata_.view().bytes();
  if (!metadata.empty()) message.insert(message.begin(), wire::padded(metadata.size()), std::byte{0});
  std::copy(metadata.begin(), metadata.end(), message.begin());
  phase_ = Phase::kServing;
  loop_.disarm(*this);
  if (!deadline_.is_infinite()) loop_.arm(*this, deadline_.at());
  served_.serve_whole(*std::exchange(method_, nullptr), {id_, message, metadata.size()}, deadline_);
  empty_out(message);
  shared_.message = std::move(message);
}

std::byte* HttpConnection::begin_answer(std::uint64_t id, std::size_t body_bytes,
                                        std::uint64_t attachment_bytes) {
  if (!awaits(id)) {
    // The caller was told that the deadline has passed. The calls of a lost connection are counted elsewhere.
    if (!is_gone()) served_.counting().failed(id, StatusCode::kDeadlineExceeded);
    return nullptr;
  }
  if (attachment_bytes != 0) {
    fail(id, Status::of<kHasAttachment>());
    return nullptr;
  }
  if (body_bytes > limits_.body_bytes_max) {
    fail(id, over_limit("the answer", body_bytes, limits_.body_bytes_max, "the server's", kRaiseBody));
    return nullptr;
  }
  try {
    result_ = std::move(shared_.result);
    result_.resize(std::max<std::size_t>(body_bytes, 1));  // an empty body has a place too
    result_.resize(body_bytes);
    return result_.data();
  } catch (const std::bad_alloc&) {
    refuse_without_memory(id);
    return nullptr;
  }
}

void HttpConnection::end_answer() {
  note_end(false);
  std::vector<std::byte> result = std::move(result_);
  try {
    std::string json;
    const Status status = json_->to_json(CallPart::kResult, result, json, options_.answer_bytes_max);
    empty_out(result);
    shared_.result = std::move(result);
    if (!status.ok()) return answer_failed_end(status.with_context("the answer"));
    settle_answers();
    const std::size_t bytes = json.size() + answer_fields_.size();
    if (!host_.memory->try_reserve(bytes)) return answer_failed_end(Status::of<kAnswerTakesMemory>());
    answers_reserved_ += bytes;
    if (answers_stream_) {
      if (send_part(StreamAnswer::Part::kResult, json)) return answered();
    } else if (answer(200, json)) {
      return;
    }
    answer_failed_end(Status::of<kNoMemoryForCall>());
  } catch (const std::bad_alloc&) {
    answer_failed_end(Status::of<kNoMemoryForCall>());
  }
}

void HttpConnection::answer_failed_end(const Status& failure) {
  note_end(true);
  fail(id_, failure);
}

// "Sent" means queued here: the bytes of an answer cannot be told apart when they leave.
void HttpConnection::end_answer_with(std::uint64_t, Attachment&, std::unique_ptr<AnswerWishes> wishes) {
  end_answer();
  if (wishes != nullptr) wishes->end(true);
}

// Initial pairs and trailing ones look alike: they are fields of the head, or of the trailer if the head has
// left.
Status HttpConnection::send_metadata(std::uint64_t id, bool, Bytes pairs) {
  if (!awaits(id)) return {};
  try {
    return append_metadata_headers(answer_fields_, MetadataView{pairs});
  } catch (const std::bad_alloc&) {
    return Status::of<kNoMemoryForCall>();
  }
}

void HttpConnection::fail(std::uint64_t id, const Status& failure) {
  served_.counting().failed(id, failure.code(), failure.message());
  if (awaits(id)) answer_error(failure);
}

void HttpConnection::refuse(std::uint64_t id, RefusalReason reason, const Status& why) {
  host_.refusals.count(reason);
  served_.counting().refused(id, why.code(), why.message());
  if (id == id_) method_ = nullptr;  // a call that missed its deadline may be refused during the next request
  if (awaits(id)) answer_error(why);
}

void HttpConnection::refuse_without_memory(std::uint64_t id) {
  host_.refusals.count(RefusalReason::kOverProcessMemory);
  served_.counting().refused(id, StatusCode::kResourceExhausted);
  if (id == id_) method_ = nullptr;
  if (awaits(id)) answer_error(Status::of<kNoMemoryForCall>());
}

void HttpConnection::answer_error(const Status& failure, int status) {
  try {
    const std::string json = error_json(failure);
    if (has_begun_answer_) {
      if (send_part(StreamAnswer::Part::kError, json)) answered();
      return;
    }
    answer(status != 0 ? status : http_status_of(failure.code()), json,
           {.retry_after = failure.retry_after()});
  } catch (const std::bad_alloc&) {
    give_up();
  }
}

void HttpConnection::write_head(ResponseWriter& writer, int status, std::string_view content_type,
                                const AnswerExtras& extras) {
  if (receives_items_ && rest_is_too_long()) keeps_alive_ = false;
  writer.begin({.status = status,
                .date = shared_.date.at(std::time(nullptr)),
                .version = parser_.request().version(),
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
      writer.add("Access-Control-Allow-Headers", "*, Authorization");
    }
    if (!answer_fields_.empty()) writer.add("Access-Control-Expose-Headers", "*");
  }
  writer.put(answer_fields_);
  answer_fields_.clear();
  if (content_type.empty()) return;
  writer.add("Content-Type", content_type);
  writer.add("X-Content-Type-Options", "nosniff");
  if (extras.policy.empty()) return;
  writer.add("Content-Security-Policy", extras.policy);
  writer.add("Referrer-Policy", "no-referrer");
}

bool HttpConnection::answer(int status, std::string_view json, const AnswerExtras& extras) {
  if (is_gone() || phase_ == Phase::kOver) return false;
  ResponseWriter writer{shared_.answer};
  write_head(writer, status, status == 204 ? "" : extras.type, extras);
  if (status == 204) {
    writer.end();
  } else {
    writer.end_with_length(json.size());
    if (may_have_body(parser_.request().method(), status)) writer.put(json);
  }
  if (!send_written(writer)) return false;
  answered();
  return true;
}

bool HttpConnection::send_written(ResponseWriter& writer) {
  const bool queued = writer.finish() && connection_.send(as_bytes(std::string_view{shared_.answer}));
  empty_out(shared_.answer);
  if (!queued) give_up();
  return queued;
}

// The rest of a body whose items are not needed any more is dropped, up to the limit for a body.
void HttpConnection::answered() {
  has_begun_answer_ = answers_stream_ = has_last_item_ = drops_items_ = false;
  if (!std::exchange(receives_items_, false)) {
    if (phase_ == Phase::kServing) return next_request();
    phase_ = Phase::kAnswered;
    return;
  }
  phase_ = Phase::kAnswered;
  release_body();
  parser_.limit_rest_of_body(options_.body_bytes_max);
  if (rest_is_too_long()) {
    keeps_alive_ = false;
    return next_request();
  }
  part_began_ = loop_.now();
  part_bytes_ = 0;
  watch();
  connection_.resume_receiving();
}

void HttpConnection::note_unserved(std::optional<StatusCode> answered) noexcept {
  if (phase_ != Phase::kReading || std::exchange(method_, nullptr) == nullptr) return;
  if (answered) {
    served_.counting().refused(id_, *answered);
  } else {
    served_.counting().dropped();
  }
}

void HttpConnection::end_reading() noexcept {
  note_unserved(std::nullopt);
  phase_ = Phase::kOver;
  loop_.disarm(*this);
}

void HttpConnection::give_up() noexcept {
  end_reading();
  connection_.close(Status::of<kNoMemoryForCall>());
}

void HttpConnection::next_request() {
  if (phase_ == Phase::kOver) return;
  release_body();
  if (!keeps_alive_ || peer_ended_) {
    end_reading();
    return connection_.finish();
  }
  phase_ = Phase::kIdle;
  loop_.arm(*this, Deadline::after(loop_.now(), options_.idle_timeout).at());
  // A client that reads no answers gets no further ones.
  connection_.has_room() ? connection_.resume_receiving() : connection_.pause_receiving();
}

void HttpConnection::watch() noexcept {
  if (phase_ == Phase::kServing || phase_ == Phase::kOver || parser_.idle()) return;
  loop_.arm(*this, Deadline::after(part_began_, options_.request_timeout).at());
}

void HttpConnection::on_timer() {
  if (phase_ == Phase::kOver) return connection_.close(Status::of<kClosedWithAnswers>());
  // The handler is cancelled by its own timer, and may answer late or never.
  if (phase_ == Phase::kServing) return answer_error(to_status(CancelReason::kDeadline));
  const Duration timeout = parser_.idle() ? options_.idle_timeout : options_.request_timeout;
  // After a time in which the loop was away, the peer's bytes may be here already.
  const TimePoint fair = loop_.turn_time().absence().judge_from(timeout);
  if (fair > loop_.now()) return loop_.arm(*this, fair);
  if (parser_.idle()) {
    // An answer that is still being read, or a request that waits, is no idle time.
    if (connection_.queued_bytes() != 0 || connection_.keeps_bytes()) {
      return loop_.arm(*this, Deadline::after(loop_.now(), options_.idle_timeout).at());
    }
    end_reading();
    return connection_.finish();
  }
  keeps_alive_ = false;
  if (phase_ != Phase::kAnswered) {
    note_unserved(kTooSlow.code);
    phase_ = Phase::kReading;
    answer_error(Status::of<kTooSlow>(), 408);
  }
  next_request();
}

// A client that ends its side gives up the call that it waits for, as one does that closes the connection:
// the server cannot tell the two apart.
void HttpConnection::on_peer_end() {
  peer_ended_ = true;
  if (phase_ == Phase::kOver) return connection_.finish();
  if (phase_ != Phase::kServing) {
    end_reading();
    return connection_.finish();
  }
  if (ServedCall* const call = served_.find(id_)) call->cancel_by_peer();
  connection_.close({StatusCode::kUnavailable, Layer::kTransport, "the peer left before its answer"});
}

void HttpConnection::on_drained() {
  settle_answers();
  if (phase_ != Phase::kServing && connection_.has_room()) connection_.resume_receiving();
  wake_room_waiter();
  items_.wake_writers();
}

void HttpConnection::settle_answers() noexcept {
  const std::size_t queued = connection_.queued_bytes();
  if (answers_reserved_ <= queued) return;
  host_.memory->release(answers_reserved_ - queued);
  answers_reserved_ = queued;
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
  end_reading();
  end_calls();
  release_body();
  connection_.abandon();
  settle_answers();
  owner_.on_connection_closed(*this, why);
}

void HttpConnection::drain() {
  draining_ = true;
  keeps_alive_ = false;
  if (phase_ != Phase::kIdle || !parser_.idle()) return;
  end_reading();
  connection_.finish();
}

void HttpConnection::close(const Status& why) {
  keeps_alive_ = false;
  draining_ = true;
  if (phase_ == Phase::kServing) {
    answer_error(why, 503);
    // A request that goes on with items is not read any more.
    if (phase_ == Phase::kAnswered) {
      end_reading();
      connection_.finish();
    }
    // The peer may read no answers.
    loop_.arm(*this, Deadline::after(loop_.now(), kClosing).at());
    return end_calls();
  }
  end_calls();
  if (phase_ != Phase::kOver || connection_.queued_bytes() == 0) return connection_.close(why);
  loop_.arm(*this, Deadline::after(loop_.now(), kClosing).at());
}

}  // namespace weft::detail::http
