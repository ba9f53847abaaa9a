// SPDX-License-Identifier: Apache-2.0
#include "calls/grpc/http2_session.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace weft::detail::grpc {

namespace {

/// Frames that ask for work and bring nothing (pings, settings, priorities, empty data, window updates), and
/// streams that are reset because of errors of the peer.
constexpr Rate kIdleFrames{.per_second = 200, .burst = 4096};
/// Such frames for each frame with data that was sent, which the peer may answer with two credits.
constexpr std::uint32_t kIdleFramesForData = 2;
constexpr std::uint32_t kIdleFramesForDataMax = 1024;
/// Streams that the peer may reset: the burst, and the number for each second.
constexpr std::uint64_t kResetsBurst = 1000;
constexpr std::uint64_t kResetsPerSecond = 100;
/// Acknowledgements that wait because the peer does not read.
constexpr std::size_t kAcksMax = 256;
constexpr std::size_t kSettingsMax = 32;
constexpr std::size_t kContinuationsMax = 8;
/// Window of all streams together. Bytes of the body are returned to it when they arrive, so that a stream
/// whose handler does not read holds back no other.
constexpr std::int32_t kConnectionWindow = 16 << 20;
constexpr std::int32_t kFirstWindow = 65535;
/// Largest number of fields in a block of headers: 64 pairs of metadata and this protocol's own.
constexpr std::size_t kFieldsMax = 72;

/// Limit of the library's memory: for frames that wait, and for each stream that the peer may open.
constexpr std::size_t kHeapBytes = std::size_t{8} << 20;
constexpr std::size_t kHeapBytesForStream = 2048;

constexpr FixedFailure kNoSessionMemory{StatusCode::kResourceExhausted, Layer::kTransport, Retry::kReconnect,
                                        "out of memory for a connection of HTTP/2"};

std::uint8_t* bytes_of(std::string_view text) noexcept {
  return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
}

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(bytes), size};
}

Status failure_of(int result) noexcept {
  if (result == NGHTTP2_ERR_NOMEM || result == NGHTTP2_ERR_CALLBACK_FAILURE)
    return Status::of<kNoSessionMemory>();
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          [result] { return std::string{"the peer broke HTTP/2: "} + nghttp2_strerror(result); }};
}

/// Fields in the form of the library.
class FieldList {
 public:
  explicit FieldList(std::span<const Field> fields) noexcept {
    for (const Field& field : fields.first(std::min(fields.size(), kFieldsMax))) {
      const int flags = field.is_constant ? NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE
                                          : NGHTTP2_NV_FLAG_NONE;
      list_[size_++] = {bytes_of(field.name), bytes_of(field.value), field.name.size(), field.value.size(),
                        static_cast<std::uint8_t>(flags)};
    }
  }
  const nghttp2_nv* data() const noexcept { return list_.data(); }
  std::size_t size() const noexcept { return size_; }

 private:
  std::array<nghttp2_nv, kFieldsMax> list_;
  std::size_t size_ = 0;
};

/// Marks a session as active.
class Active {
 public:
  explicit Active(bool& flag) noexcept : flag_(flag) { flag_ = true; }
  ~Active() { flag_ = false; }
  Active(const Active&) = delete;
  Active& operator=(const Active&) = delete;

 private:
  bool& flag_;
};

}  // namespace

/// Functions that the library calls.
struct Http2Session::Callbacks {
  static Http2Session& of(void* session) noexcept { return *static_cast<Http2Session*>(session); }

  static int on_begin_frame(nghttp2_session* session, const nghttp2_frame_hd* head, void* user) noexcept {
    const bool brings = head->type == NGHTTP2_HEADERS || head->type == NGHTTP2_CONTINUATION ||
                        head->type == NGHTTP2_RST_STREAM ||
                        (head->type == NGHTTP2_DATA && (head->length != 0 || ends_request(session, *head)));
    if (!brings) of(user).note_idle_frame();
    return 0;
  }
  /// An empty frame ends a request that is still open, which happens once for each.
  static bool ends_request(nghttp2_session* session, const nghttp2_frame_hd& data) noexcept {
    return (data.flags & NGHTTP2_FLAG_END_STREAM) != 0 && find(session, data.stream_id) != nullptr;
  }
  static int on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) noexcept {
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    const std::int32_t id = frame->hd.stream_id;
    // Without an Http2Stream no event of the request is reported.
    if (id > of(user).last_taken_) {
      const int result = nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
      return of(user).is_done(result) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    Http2Stream* const stream = of(user).events_.on_request_begin(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    nghttp2_session_set_stream_user_data(session, id, stream);
    return 0;
  }
  static int on_header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                       void* user) noexcept {
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    if (Http2Stream* const stream = find(session, frame->hd.stream_id)) {
      of(user).events_.on_field(*stream, text_of(name, name_size), text_of(value, value_size));
    }
    return 0;
  }
  static int on_data_chunk(nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                           std::size_t size, void* user) noexcept {
    if (nghttp2_session_consume_connection(session, size) == NGHTTP2_ERR_NOMEM) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    Http2Stream* const stream = find(session, id);
    if (stream != nullptr)
      of(user).events_.on_data(*stream, {reinterpret_cast<const std::byte*>(data), size});
    return 0;
  }
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) noexcept {
    Http2Session& its = of(user);
    const bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
        if (Http2Stream* const stream = find(session, frame->hd.stream_id)) {
          const bool is_head =
              frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
          if (is_head) its.events_.on_head(*stream);
          if (!is_head || is_last) its.events_.on_data_end(*stream, is_last);
        }
        break;
      case NGHTTP2_SETTINGS:
        its.has_begun_ = true;
        break;
      case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) its.events_.on_pong(frame->ping.opaque_data[0]);
        break;
      default:
        break;
    }
    return 0;
  }
  static int on_stream_close(nghttp2_session* session, std::int32_t id, std::uint32_t, void* user) noexcept {
    if (Http2Stream* const stream = find(session, id)) of(user).events_.on_stream_closed(*stream);
    return 0;
  }
  static int on_frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) noexcept {
    Http2Session& its = of(user);
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR) {
      its.note_idle_frame();
    }
    if (frame->hd.type == NGHTTP2_GOAWAY) its.note_goaway(frame->goaway.error_code);
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (Http2Stream* const stream = find(session, frame->hd.stream_id)) {
      its.events_.on_headers_sent(*stream, (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
    }
    return 0;
  }
  static ssize_t read_body(nghttp2_session* session, std::int32_t, std::uint8_t*, std::size_t size,
                           std::uint32_t* flags, nghttp2_data_source* source, void* user) noexcept {
    Http2Events& events = of(user).events_;
    Http2Stream& stream = *static_cast<Http2Stream*>(source->ptr);
    const BodyPart part = events.body_of(stream, size);
    if (part.bytes == 0 && part.end == BodyPart::End::kMore) return NGHTTP2_ERR_DEFERRED;
    *flags = NGHTTP2_DATA_FLAG_NO_COPY;
    if (part.end != BodyPart::End::kMore) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (part.end == BodyPart::End::kTrailers) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      events.on_body_end(stream);
    }
    static_cast<void>(session);
    return static_cast<ssize_t>(part.bytes);
  }
  static int send_body(nghttp2_session*, nghttp2_frame*, const std::uint8_t* head, std::size_t size,
                       nghttp2_data_source* source, void* user) noexcept {
    constexpr std::size_t kHeadBytes = 9;
    Http2Session& its = of(user);
    const Bytes frame_head{reinterpret_cast<const std::byte*>(head), kHeadBytes};
    if (!its.events_.send_body(*static_cast<Http2Stream*>(source->ptr), frame_head, size)) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    its.idle_for_data_ = std::min(its.idle_for_data_ + kIdleFramesForData, kIdleFramesForDataMax);
    return its.events_.has_room_to_send() ? 0 : NGHTTP2_ERR_PAUSE;
  }
  static int on_error(nghttp2_session*, int, const char* text, std::size_t size, void* user) noexcept {
    of(user).note_fault({text, size});
    return 0;
  }

  static Http2Stream* find(nghttp2_session* session, std::int32_t id) noexcept {
    return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session, id));
  }
  static void* allocate(std::size_t size, void* heap) noexcept {
    return static_cast<CountedHeap*>(heap)->allocate(size);
  }
  static void release(void* block, void* heap) noexcept { static_cast<CountedHeap*>(heap)->release(block); }
  static void* allocate_zeroed(std::size_t count, std::size_t size, void* heap) noexcept {
    std::size_t whole = 0;
    if (__builtin_mul_overflow(count, size, &whole)) return nullptr;
    void* const block = allocate(whole, heap);
    if (block != nullptr) std::memset(block, 0, whole);
    return block;
  }
  static void* reallocate(void* block, std::size_t size, void* heap) noexcept {
    return static_cast<CountedHeap*>(heap)->reallocate(block, size);
  }

  /// Creates the session; returns an error of the library.
  static int create(Http2Session& its, const Http2Options& options) noexcept {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_option* option = nullptr;
    int result = nghttp2_session_callbacks_new(&callbacks);
    if (result == 0) result = nghttp2_option_new(&option);
    if (result == 0) {
      nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, &on_begin_frame);
      nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &on_begin_headers);
      nghttp2_session_callbacks_set_on_header_callback(callbacks, &on_header);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &on_data_chunk);
      nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &on_frame);
      nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &on_stream_close);
      nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, &on_frame_sent);
      nghttp2_session_callbacks_set_send_data_callback(callbacks, &send_body);
      nghttp2_session_callbacks_set_error_callback2(callbacks, &on_error);
      nghttp2_option_set_no_auto_window_update(option, 1);
      nghttp2_option_set_stream_reset_rate_limit(option, kResetsBurst, kResetsPerSecond);
      nghttp2_option_set_max_outbound_ack(option, kAcksMax);
      nghttp2_option_set_max_settings(option, kSettingsMax);
      nghttp2_option_set_max_continuations(option, kContinuationsMax);
      nghttp2_mem memory{&its.heap_, &allocate, &release, &allocate_zeroed, &reallocate};
      result = nghttp2_session_server_new3(&its.session_, callbacks, &its, option, &memory);
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    if (result != 0) return result;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.streams_max},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, options.stream_window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, options.header_bytes_max}};
    result = nghttp2_submit_settings(its.session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
    if (result != 0) return result;
    return nghttp2_submit_window_update(its.session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow - kFirstWindow);
  }
};

Http2Session::Http2Session(Http2Events& events, const Http2Options& options, TimePoint now)
    : heap_(kHeapBytes + kHeapBytesForStream * options.streams_max),
      events_(events),
      idle_frames_(kIdleFrames, now),
      now_(now) {
  if (Callbacks::create(*this, options) == 0) return;
  nghttp2_session_del(session_);
  throw std::bad_alloc{};
}

Http2Session::~Http2Session() {
  nghttp2_session_del(session_);
}

void Http2Session::note_fault(std::string_view text) noexcept {
  const std::size_t size = std::min(text.size(), fault_text_.size());
  std::copy_n(text.data(), size, fault_text_.data());
  fault_ = {fault_text_.data(), size};
}

// The library ends a session with another error only because of its peer.
void Http2Session::note_goaway(std::uint32_t error) noexcept {
  if (error == NGHTTP2_NO_ERROR || error == NGHTTP2_INTERNAL_ERROR) return;
  breach_ = fault_.empty() ? std::string_view{nghttp2_http2_strerror(error)} : fault_;
}

void Http2Session::note_idle_frame() noexcept {
  if (idle_for_data_ != 0) {
    --idle_for_data_;
    return;
  }
  if (idle_frames_.try_take(now_)) return;
  note_fault("too many frames that bring nothing, or too many streams with errors");
  static_cast<void>(terminate(Http2Error::kEnhanceYourCalm));
}

Status Http2Session::receive(Bytes bytes, TimePoint now) {
  const Active active{active_};
  now_ = now;
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const ssize_t taken = nghttp2_session_mem_recv(session_, data, bytes.size());
  return taken < 0 ? failure_of(static_cast<int>(taken)) : Status{};
}

Status Http2Session::send(TimePoint now) {
  const Active active{active_};
  now_ = now;
  while (events_.has_room_to_send()) {
    const std::uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &data);
    if (size < 0) return failure_of(static_cast<int>(size));
    if (size == 0) break;
    const Bytes bytes{reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
    if (!events_.send_bytes(bytes)) return Status::of<kNoSessionMemory>();
  }
  return {};
}

bool Http2Session::has_output() const noexcept {
  return nghttp2_session_want_write(session_) != 0;
}

bool Http2Session::is_over() const noexcept {
  return nghttp2_session_want_write(session_) == 0 && nghttp2_session_want_read(session_) == 0;
}

Http2Stream* Http2Session::find(std::int32_t id) const noexcept {
  return Callbacks::find(session_, id);
}

// Other errors say that the stream or the session ends anyway.
bool Http2Session::is_done(int result) noexcept {
  return result != NGHTTP2_ERR_NOMEM;
}

bool Http2Session::submit_head(Http2Stream& stream, std::span<const Field> fields, bool has_body) {
  const FieldList list{fields};
  nghttp2_data_provider body{};
  body.source.ptr = &stream;
  body.read_callback = &Callbacks::read_body;
  return is_done(
      nghttp2_submit_response(session_, stream.id, list.data(), list.size(), has_body ? &body : nullptr));
}

bool Http2Session::submit_trailers(Http2Stream& stream, std::span<const Field> fields) {
  const FieldList list{fields};
  return is_done(nghttp2_submit_trailer(session_, stream.id, list.data(), list.size()));
}

bool Http2Session::resume(Http2Stream& stream) {
  return is_done(nghttp2_session_resume_data(session_, stream.id));
}

bool Http2Session::reset(Http2Stream& stream, Http2Error error) {
  return is_done(
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id, static_cast<std::uint32_t>(error)));
}

bool Http2Session::consume(Http2Stream& stream, std::size_t bytes) {
  return bytes == 0 || is_done(nghttp2_session_consume_stream(session_, stream.id, bytes));
}

bool Http2Session::ping(std::uint8_t mark) {
  const std::uint8_t data[8] = {mark};
  return is_done(nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, data));
}

bool Http2Session::announce_end() {
  return is_done(nghttp2_submit_shutdown_notice(session_));
}

bool Http2Session::refuse_more() {
  last_taken_ = nghttp2_session_get_last_proc_stream_id(session_);
  return is_done(
      nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last_taken_, NGHTTP2_NO_ERROR, nullptr, 0));
}

bool Http2Session::terminate(Http2Error error) {
  return is_done(nghttp2_session_terminate_session(session_, static_cast<std::uint32_t>(error)));
}

}  // namespace weft::detail::grpc
