// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <string>

#include "naming/socket_watches.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

class HttpRequest;

/// HTTP by libcurl on a loop; never blocks it. Outlives its requests. Thread: its loop's.
class HttpClient final : private Timer {
 public:
  explicit HttpClient(Loop& loop);
  ~HttpClient();

  /// Posts and returns the whole body of an answer of at most `bytes_max`. Cancel: total for this side.
  /// Errors: kUnavailable without an answer or for one of a failure, kResourceExhausted for one too large.
  Task<Result<std::string>> post(std::string url, std::string body, std::size_t bytes_max, Duration timeout);

 private:
  friend class HttpRequest;

  static int on_socket(CURL* easy, curl_socket_t fd, int wanted, void* self, void* of_socket);
  static int on_timeout(CURLM* multi, long milliseconds, void* self);
  void on_timer() override;
  void act(curl_socket_t fd, int events);

  Loop& loop_;
  CURLM* const multi_;
  SocketWatches sockets_;
};

/// One POST whose answer arrives in pieces. Its destructor ends the exchange in any state.
class HttpRequest {
 public:
  /// More than `bytes_max` that take() has not fetched yet ends it. A `timeout` of kNoTimeout leaves only the
  /// bound on connecting.
  HttpRequest(HttpClient& client, std::string url, std::string body, std::size_t bytes_max, Duration timeout);
  HttpRequest(const HttpRequest&) = delete;
  HttpRequest& operator=(const HttpRequest&) = delete;
  ~HttpRequest();

  bool done() const noexcept { return done_; }
  /// Waits until there is something to take, or it is done. Cancel: total.
  Task<Result<void>> more();
  /// Returns the bytes that arrived since the last call.
  std::string take();
  /// Returns how it ended; meaningful when it is done.
  const Status& outcome() const noexcept { return outcome_; }

 private:
  friend class HttpClient;

  static std::size_t on_bytes(char* bytes, std::size_t size, std::size_t count, void* self);
  void end(CURLcode code);

  HttpClient& client_;
  CURL* const easy_;
  const std::string url_;
  const std::string body_;
  const std::size_t bytes_max_;
  curl_slist* headers_ = nullptr;
  std::string arrived_;
  Status outcome_;
  Event event_;
  bool done_ = false;
  bool too_large_ = false;
};

}  // namespace weft::detail
