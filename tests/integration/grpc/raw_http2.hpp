// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/loopback.hpp"

namespace weft::testing {

/// A frame of HTTP/2.
struct Frame2 {
  std::uint8_t type = 0xFF;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  std::string payload;
};

/// An answer as it was received. `status` is the one of gRPC, -1 without one; `reset` an error code, -1 for
/// none.
struct Answer2 {
  std::map<std::string, std::string> fields;
  std::string body;
  long reset = -1;
  bool is_whole = false;

  int status() const {
    return fields.contains("grpc-status") ? std::atoi(fields.at("grpc-status").c_str()) : -1;
  }
  std::string field(const std::string& name) const { return fields.contains(name) ? fields.at(name) : ""; }
};

/// A client of HTTP/2 that sends any frames, on a socket that blocks. A read ends after ten seconds without
/// bytes.
class RawHttp2 {
 public:
  enum Type : std::uint8_t {
    kData,
    kHeaders,
    kPriority,
    kReset,
    kSettings,
    kPromise,
    kPing,
    kGoaway,
    kWindow,
    kContinuation
  };
  static constexpr std::uint8_t kEnd = 1;
  static constexpr std::uint8_t kAck = 1;
  static constexpr std::uint8_t kEndHeaders = 4;

  /// Connects to the port of `url`, and begins HTTP/2 with these settings.
  explicit RawHttp2(std::string_view url,
                    const std::vector<std::pair<std::uint16_t, std::uint32_t>>& settings = {},
                    int receive_buffer = 0)
      : fd_(connect_to_loopback(url, receive_buffer)) {
    nghttp2_hd_inflate_new(&inflater_);
    std::string payload;
    for (const auto& [id, value] : settings) {
      put(payload, id, 2);
      put(payload, value, 4);
    }
    send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(kSettings, 0, 0, payload));
  }
  ~RawHttp2() {
    ::close(fd_);
    nghttp2_hd_inflate_del(inflater_);
  }
  RawHttp2(const RawHttp2&) = delete;
  RawHttp2& operator=(const RawHttp2&) = delete;

  /// Sends nothing more.
  void end_sending() const { ::shutdown(fd_, SHUT_WR); }
  /// Returns false when the server takes no more.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  static std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                           std::string_view payload = {}) {
    std::string bytes;
    put(bytes, payload.size(), 3);
    put(bytes, type, 1);
    put(bytes, flags, 1);
    put(bytes, stream, 4);
    return bytes.append(payload);
  }
  static std::string number(std::uint32_t value) {
    std::string bytes;
    put(bytes, value, 4);
    return bytes;
  }
  /// Returns fields as HPACK has them, without compression.
  static std::string block(const std::vector<std::pair<std::string, std::string>>& fields) {
    std::string bytes;
    for (const auto& [name, value] : fields) {
      bytes += '\0';
      put_text(bytes, name);
      put_text(bytes, value);
    }
    return bytes;
  }
  /// Returns the head of a call of `path` with more fields.
  static std::string call_block(std::string_view path,
                                std::vector<std::pair<std::string, std::string>> more = {}) {
    std::vector<std::pair<std::string, std::string>> fields{{":method", "POST"},
                                                            {":scheme", "http"},
                                                            {":path", std::string{path}},
                                                            {":authority", "localhost"},
                                                            {"content-type", "application/grpc"},
                                                            {"te", "trailers"}};
    fields.insert(fields.end(), more.begin(), more.end());
    return block(fields);
  }
  /// Returns the head of a call of `path` in a form that the server remembers, for a connection's first call.
  static std::string indexed_call_block(std::string_view path) {
    std::string bytes = call_block(path);
    for (std::size_t at = 0; at < bytes.size();) {
      bytes[at] = '\x40';
      at += 2 + static_cast<std::size_t>(bytes[at + 1]);
      at += 1 + static_cast<std::size_t>(bytes[at]);
    }
    return bytes;
  }
  /// Returns the remembered head.
  static std::string indexed_call_block() { return "\xc3\xc2\xc1\xc0\xbf\xbe"; }
  static std::string head(std::uint32_t stream, std::string_view path,
                          std::vector<std::pair<std::string, std::string>> more = {}, bool is_last = false) {
    return frame(kHeaders, static_cast<std::uint8_t>(kEndHeaders | (is_last ? kEnd : 0)), stream,
                 call_block(path, std::move(more)));
  }
  static std::string data(std::uint32_t stream, std::string_view bytes, bool is_last = false) {
    return frame(kData, is_last ? kEnd : 0, stream, bytes);
  }
  /// Returns a message with its prefix.
  static std::string message(std::string_view bytes, bool is_compressed = false) {
    std::string text(1, is_compressed ? '\1' : '\0');
    put(text, bytes.size(), 4);
    return text.append(bytes);
  }
  /// Calls `path` with one message.
  void call(std::uint32_t stream, std::string_view path, std::string_view bytes,
            std::vector<std::pair<std::string, std::string>> more = {}) {
    send(head(stream, path, std::move(more)) + data(stream, message(bytes), true));
  }

  /// Reads a frame; its type is 0xFF when the server has ended the connection, or sent nothing.
  Frame2 read() {
    Frame2 got;
    std::string bytes;
    if (!receive(bytes, 9)) return got;
    const std::size_t length = number_at(bytes, 0, 3);
    got.flags = static_cast<std::uint8_t>(bytes[4]);
    got.stream = number_at(bytes, 5, 4);
    if (receive(got.payload, length)) got.type = static_cast<std::uint8_t>(bytes[3]);
    return got;
  }
  /// Reads up to the end of the answer on `stream`, and answers settings and pings meanwhile.
  Answer2 answer(std::uint32_t stream) {
    while (!answers_[stream].is_whole) {
      if (!take(read())) break;
    }
    return answers_[stream];
  }
  /// Returns true if fields of an answer on `stream` were taken.
  bool has_answer(std::uint32_t stream) { return !answers_[stream].fields.empty(); }
  /// Reads up to a frame of this type, which it returns.
  Frame2 await(Type type) {
    for (;;) {
      Frame2 got = read();
      if (got.type == type || !take(got)) return got;
    }
  }
  /// Reads up to the end of the connection; returns the code of the last GOAWAY, -1 if there was none.
  long end() {
    while (take(read())) continue;
    return goaway_;
  }
  long goaway() const { return goaway_; }
  std::uint32_t last_stream() const { return last_stream_; }
  /// Credit that the server gave for a stream, 0: for the connection.
  std::uint64_t credit(std::uint32_t stream) { return credit_[stream]; }
  static std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t count) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
    return value;
  }
  /// Takes a frame that was read. Returns false for the end of the connection.
  bool take(const Frame2& got) {
    Answer2& of = answers_[got.stream];
    switch (got.type) {
      case 0xFF:
        return false;
      case kSettings:
        if ((got.flags & kAck) == 0) send(frame(kSettings, kAck, 0));
        break;
      case kPing:
        if ((got.flags & kAck) == 0) send(frame(kPing, kAck, 0, got.payload));
        break;
      case kGoaway:
        last_stream_ = number_at(got.payload, 0, 4);
        goaway_ = number_at(got.payload, 4, 4);
        break;
      case kWindow:
        credit_[got.stream] += number_at(got.payload, 0, 4);
        break;
      case kReset:
        of.reset = number_at(got.payload, 0, 4);
        of.is_whole = true;
        break;
      case kHeaders:
        inflate(got.payload, of);
        break;
      case kData:
        of.body += got.payload;
        break;
      default:
        break;
    }
    if ((got.type == kHeaders || got.type == kData) && (got.flags & kEnd) != 0) of.is_whole = true;
    return true;
  }

 private:
  static void put(std::string& bytes, std::size_t value, std::size_t count) {
    for (std::size_t i = count; i-- > 0;) bytes += static_cast<char>(value >> 8 * i);
  }
  static void put_text(std::string& bytes, std::string_view text) {
    if (text.size() < 127) {
      bytes += static_cast<char>(text.size());
    } else {
      bytes += '\x7f';
      std::size_t rest = text.size() - 127;
      for (; rest >= 128; rest /= 128) bytes += static_cast<char>(rest % 128 + 128);
      bytes += static_cast<char>(rest);
    }
    bytes += text;
  }
  bool receive(std::string& to, std::size_t count) {
    to.resize(count);
    for (std::size_t at = 0; at < count;) {
      const ssize_t got = ::recv(fd_, to.data() + at, count - at, 0);
      if (got <= 0) return false;
      at += static_cast<std::size_t>(got);
    }
    return true;
  }
  void inflate(std::string_view bytes, Answer2& answer) {
    auto* in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    std::size_t left = bytes.size();
    for (;;) {
      nghttp2_nv field;
      int flags = 0;
      const ssize_t took = nghttp2_hd_inflate_hd2(inflater_, &field, &flags, in, left, 1);
      if (took < 0) return;
      in += took;
      left -= static_cast<std::size_t>(took);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        answer.fields[std::string(reinterpret_cast<char*>(field.name), field.namelen)] =
            std::string(reinterpret_cast<char*>(field.value), field.valuelen);
      }
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    }
    nghttp2_hd_inflate_end_headers(inflater_);
  }

  const int fd_;
  nghttp2_hd_inflater* inflater_ = nullptr;
  std::map<std::uint32_t, Answer2> answers_;
  std::map<std::uint32_t, std::uint64_t> credit_;
  long goaway_ = -1;
  std::uint32_t last_stream_ = 0;
};

}  // namespace weft::testing
